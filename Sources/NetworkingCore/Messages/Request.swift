public import FoundationForNetworking

/// A request together with the decoding of its response into a value.
///
/// ```swift
/// extension Request where Response == User {
///     static func user(id: Int) -> Self {
///         .get("users/\(id)")
///     }
/// }
///
/// let (user, response) = try await network.value(.user(id: 42))
/// ```
public struct Request<Response>: Sendable {
    /// The request to send.
    public var http: HTTPRequestData

    /// Decodes the response into the value.
    public let decode: @Sendable (HTTPResponseData) throws -> Response

    /// Creates a request with a custom decoding.
    ///
    /// - Parameters:
    ///   - http: The request to send.
    ///   - decode: Decodes the response into the value. It may run on any thread.
    public init(_ http: HTTPRequestData, decode: @escaping @Sendable (HTTPResponseData) throws -> Response) {
        self.http = http
        self.decode = decode
    }

    /// Creates a request that decodes its response into a transport object and then converts that into a domain value.
    ///
    /// ```swift
    /// Request(HTTPRequestData(path: "users/42"), as: UserDTO.self) { try User($0) }
    /// ```
    ///
    /// - Parameters:
    ///   - http: The request to send.
    ///   - type: The type to decode the body into.
    ///   - decoder: The decoder; `nil` uses that of the request or the stack, and then a plain `JSONDecoder`.
    ///   - transform: Converts the transport object into the value.
    public init<Body: Decodable & SendableMetatype>(
        _ http: HTTPRequestData,
        as type: Body.Type,
        decoder: (any BodyDecoder)? = nil,
        transform: @escaping @Sendable (Body) throws -> Response
    ) {
        self.init(http) { response in
            try transform(response.decodeBody(by: decoder))
        }
    }
}

extension Request where Response: Decodable & SendableMetatype {
    /// Creates a request that decodes its response into the value.
    ///
    /// Some types need no decoder:
    /// - `Data` is the body as it is.
    /// - `String` is the body as text, in the charset of its `Content-Type`, UTF-8 by default.
    /// - An optional is `nil` for a response with status 204 or 205, an empty body, or JSON's `null`.
    ///
    /// ```swift
    /// let logo: Data = try await network.request(Request(HTTPRequestData(path: "logo.png")))
    /// let draft = try await network.request(HTTPRequestData(path: "draft"), as: Draft?.self)
    /// ```
    ///
    /// - Parameters:
    ///   - http: The request to send.
    ///   - decoder: The decoder; `nil` uses that of the request or the stack, and then a plain `JSONDecoder`.
    public init(_ http: HTTPRequestData, decoder: (any BodyDecoder)? = nil) {
        self.init(http) { response in
            try response.decodeBody(by: decoder)
        }
    }
}

extension Request {
    /// Creates a `Request<Void>`, which only checks the status of its response.
    ///
    /// - Parameter http: The request to send.
    public init<each Element: NoElement>(_ http: HTTPRequestData) where Response == (repeat each Element) {
        self.init(http) { _ in (repeat (each Element).impossible) }
    }
}

extension Request {
    /// Returns a copy with another value of one property of its request.
    ///
    /// ```swift
    /// let user = try await network.request(.user(id: 42).with(\.cacheMode, .reload))
    /// ```
    ///
    /// - Parameters:
    ///   - property: The property of ``http`` to change.
    ///   - value: Its new value.
    /// - Returns: The changed copy.
    public func with<Value>(_ property: WritableKeyPath<HTTPRequestData, Value>, _ value: Value) -> Request {
        var request = self
        request.http[keyPath: property] = value
        return request
    }
}

/// A decoder of a body into a value: `JSONDecoder`, `PropertyListDecoder`, or your own.
public protocol BodyDecoder: Sendable {
    /// Decodes a value.
    ///
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - data: The bytes.
    /// - Returns: The value.
    /// - Throws: An error if the bytes cannot be decoded.
    func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value
}

extension JSONDecoder: BodyDecoder {}

extension PropertyListDecoder: BodyDecoder {}
