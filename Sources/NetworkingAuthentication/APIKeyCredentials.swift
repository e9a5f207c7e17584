public import HTTPTypes
public import NetworkingCore

/// An API key, in a header field or in the query.
///
/// ```swift
/// let network = URLSession.shared
///     .authenticated(with: APIKeyCredentials(apiKey, in: .query("api_key")))
///     .server(authority: "api.example.com")
/// ```
///
/// Prefer a header field: URLs end up in the logs of servers and proxies.
public struct APIKeyCredentials: AuthenticatingCredentials, Hashable {
    /// The part of the request that carries the key.
    public enum Place: Sendable, Hashable {
        /// A header field, such as `X-API-Key`.
        case header(HTTPField.Name)
        /// A query item.
        case query(String)
    }

    /// The key.
    public let key: String
    /// The part of the request that carries the key.
    public let place: Place

    /// Creates credentials.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - place: The part of the request that carries the key.
    public init(_ key: String, in place: Place) {
        self.key = key
        self.place = place
    }

    /// ``AuthenticationMethod/apiKey``.
    public static var method: AuthenticationMethod {
        .apiKey
    }

    /// Sets the field or the query item, unless the request already has it.
    ///
    /// - Throws: ``NetworkingError`` of kind ``NetworkingError/Kind/invalidRequest`` if a key in the query would be
    ///   sent over plain http to another machine (``HTTPRequestData/allowsPlaintextCredentials``).
    public func apply(to request: inout HTTPRequestData) throws {
        switch place {
        case .header(let name):
            // A field that the caller has set takes precedence.
            guard !request.headerFields.contains(name) else { return }
            request.setCredential(key, for: name)
        case .query(let name):
            try request.refusePlaintext(of: "Its key")
            request.setCredential(request.query[name] ?? key, forQueryItem: name)
        }
    }
}
