package import NetworkingCore

extension HTTPRequestData {
    /// Returns a changed copy, so that a test can use a constant.
    package func with(_ change: (inout HTTPRequestData) -> Void) -> HTTPRequestData {
        var request = self
        change(&request)
        return request
    }
}
