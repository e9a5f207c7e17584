#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A request that knows how its response becomes a value.
///
/// ```swift
/// extension Request where Response == User {
///     static func user(id: Int) -> Self {
///         Request(HTTPRequestData(path: "users/\(id)"))
///     }
/// }
///
/// let (user, response) = try await network.value(.user(id: 42))
/// ```
public struct Request<Response>: Sendable {
    /// What is sent.
    public var http: HTTPRequestData

    /// How the response becomes a value.
    public let decode: @Sendable (HTTPResponseData) throws -> Response

    /// Creates a request with a decoding of one's own.
    ///
    /// - Parameters:
    ///   - http: What is sent.
    ///   - decode: How the response becomes a value. It may run on any thread.
    public init(_ http: HTTPRequestData, decode: @escaping @Sendable (HTTPResponseData) throws -> Response) {
        self.http = http
        self.decode = decode
    }

    /// Creates a request whose response is decoded to a transport object, which is then turned into a domain value.
    ///
    /// ```swift
    /// Request(http, as: UserDTO.self) { try User($0) }
    /// ```
    ///
    /// - Parameters:
    ///   - http: What is sent.
    ///   - type: The type that the body is decoded to.
    ///   - decoder: The decoder; a plain `JSONDecoder` by default. It is not changed.
    ///   - transform: Makes the value of the transport object.
    public init<Body: Decodable & SendableMetatype>(
        _ http: HTTPRequestData,
        as type: Body.Type,
        decoder: any BodyDecoder = JSONDecoder(),
        transform: @escaping @Sendable (Body) throws -> Response
    ) {
        self.init(http) { response in
            try transform(decoder.decodeBody(of: response))
        }
    }
}

extension Request where Response: Decodable & SendableMetatype {
    /// Creates a request whose response is decoded to the value.
    ///
    /// Some types need no decoder:
    /// - `Data` is the body as it is.
    /// - `String` is the body as text, in the charset that its `Content-Type` names, by default UTF-8.
    /// - An optional is `nil` for a response with status 204 or 205, an empty body, or JSON's `null`.
    ///
    /// ```swift
    /// let logo: Data = try await network.request(Request(HTTPRequestData(path: "logo.png")))
    /// let draft = try await network.request(HTTPRequestData(path: "draft"), as: Draft?.self)
    /// ```
    ///
    /// - Parameters:
    ///   - http: What is sent.
    ///   - decoder: The decoder; a plain `JSONDecoder` by default. It is not changed.
    public init(_ http: HTTPRequestData, decoder: any BodyDecoder = JSONDecoder()) {
        self.init(http) { response in
            try decoder.decodeBody(of: response)
        }
    }
}

extension Request where Response == Void {
    /// Creates a request of whose response only the success matters.
    ///
    /// - Parameter http: What is sent.
    public init(_ http: HTTPRequestData) {
        self.init(http) { _ in }
    }
}

/// What turns the bytes of a body into a value: `JSONDecoder`, `PropertyListDecoder`, or one of your own.
public protocol BodyDecoder: Sendable {
    /// Decodes a value.
    ///
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - data: The bytes.
    /// - Returns: The value.
    /// - Throws: What makes the bytes unfit.
    func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value
}

extension JSONDecoder: BodyDecoder {}

extension PropertyListDecoder: BodyDecoder {}
