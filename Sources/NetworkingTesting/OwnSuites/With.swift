package import Networking

extension HTTPRequestData {
    /// A copy with changes, so that a test has a constant.
    package func with(_ change: (inout HTTPRequestData) -> Void) -> HTTPRequestData {
        var request = self
        change(&request)
        return request
    }
}
