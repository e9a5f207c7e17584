public import HTTPTypes
public import NetworkingCore

/// A key that lets an app in, in a header field or in the query.
///
/// ```swift
/// let network = URLSession.shared
///     .authenticated(with: APIKeyCredentials(key, in: .query("api_key")))
///     .server(authority: "api.example.com")
/// ```
///
/// A header field is the better place: URLs end up in the logs of servers and proxies.
public struct APIKeyCredentials: AuthenticatingCredentials, Hashable {
    /// Where a key goes.
    public enum Place: Sendable, Hashable {
        /// Into a header field, `X-API-Key` for one.
        case header(HTTPField.Name)
        /// Into a query item.
        case query(String)
    }

    /// The key.
    public let key: String
    /// Where it goes.
    public let place: Place

    /// Creates credentials.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - place: Where it goes.
    public init(_ key: String, in place: Place) {
        self.key = key
        self.place = place
    }

    /// ``AuthenticationMethod/apiKey``.
    public static var method: AuthenticationMethod {
        .apiKey
    }

    /// Sets the field or the query item.
    public func apply(to request: inout HTTPRequestData) throws {
        switch place {
        case .header(let name):
            // The caller's own counts.
            guard !request.headerFields.contains(name) else { return }
            request.setCredential(key, for: name)
        case .query(let name):
            guard !request.exposesCredentials else {
                throw NetworkingError(
                    .invalidRequest,
                    request: request,
                    reason: HTTPRequestData.plaintextRefusal(of: "Its key")
                )
            }
            request.setCredential(request.query[name] ?? key, forQueryItem: name)
        }
    }
}
