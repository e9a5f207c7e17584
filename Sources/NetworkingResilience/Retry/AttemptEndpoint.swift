public import NetworkingCore

extension HTTPResponseData {
    /// The authority of the endpoint that responded; `nil` if the request was not sent through `server(endpoints:)`, or
    /// if a redirect has led to another server.
    ///
    /// ``url`` and ``sentRequest`` have the name of the server instead.
    public internal(set) var endpoint: String? {
        get { self[metadata: EndpointKey.self] }
        set { self[metadata: EndpointKey.self] = newValue }
    }
}

extension NetworkingError {
    /// The authority of the endpoint of the failed attempt; `nil` if it was not sent through `server(endpoints:)`.
    public internal(set) var endpoint: String? {
        get { self[metadata: EndpointKey.self] }
        set { self[metadata: EndpointKey.self] = newValue }
    }
}

private enum EndpointKey: ResponseMetadata {
    static let defaultValue: String? = nil
}
