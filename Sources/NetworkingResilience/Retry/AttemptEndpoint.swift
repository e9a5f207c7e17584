public import NetworkingCore

extension HTTPResponseData {
    /// The authority of the endpoint that responded; `nil` if the request was not sent through `server(endpoints:)`, or
    /// if a redirect has led to another server.
    ///
    /// ``url`` and ``sentRequest`` have the name of the server instead.
    public package(set) var endpoint: String? {
        get { self[metadata: EndpointKey.self] }
        set { self[metadata: EndpointKey.self] = newValue }
    }

    /// The endpoints that the attempts of a `hedged` have used; `nil` without an extra attempt.
    package var endpointVisits: EndpointVisits? {
        get { self[metadata: EndpointVisitsKey.self] }
        set { self[metadata: EndpointVisitsKey.self] = newValue }
    }
}

extension NetworkingError {
    /// The authority of the endpoint of the failed attempt; `nil` if it was not sent through `server(endpoints:)`.
    public package(set) var endpoint: String? {
        get { self[metadata: EndpointKey.self] }
        set { self[metadata: EndpointKey.self] = newValue }
    }

    /// The endpoints that the attempts of a `hedged` have used; `nil` without an extra attempt.
    package var endpointVisits: EndpointVisits? {
        get { self[metadata: EndpointVisitsKey.self] }
        set { self[metadata: EndpointVisitsKey.self] = newValue }
    }
}

private enum EndpointKey: ResponseMetadata {
    static let defaultValue: String? = nil
}

private enum EndpointVisitsKey: ResponseMetadata {
    static let defaultValue: EndpointVisits? = nil
}
