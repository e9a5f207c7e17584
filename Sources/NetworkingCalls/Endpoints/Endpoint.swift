public import HTTPTypes
public import NetworkingCore

/// A type that describes a request of an API and the type of its response.
///
/// ```swift
/// struct GetUser: Endpoint {
///     typealias Response = User
///     let id: Int
///
///     var path: RequestPath { "users/\(id)" }
/// }
///
/// let user = try await network.request(GetUser(id: 42))
/// ```
///
/// Only the path and the response type are required. `Response` is a `Decodable` type, `Void` if the body is not read,
/// or ``HTTPResponseData``. Any other type needs its own `decode(_:)`.
///
/// An enumeration of endpoints with bodies of different types has the response type ``HTTPResponseData``. Each call
/// then names the type to decode:
///
/// ```swift
/// enum GitHub: Endpoint {
///     typealias Response = HTTPResponseData
///     case user(String)
///     case repositories(String)
///
///     var path: RequestPath {
///         switch self {
///         case .user(let name): "users/\(name)"
///         case .repositories(let name): "users/\(name)/repos"
///         }
///     }
/// }
///
/// let user = try await network.request(GitHub.user("octocat"), as: User.self)
/// ```
public protocol Endpoint<Response>: _EndpointDeclarations, Sendable {
    /// The type of the decoded response.
    associatedtype Response: Sendable

    /// The method, GET by default.
    var method: HTTPRequest.Method { get }

    /// The path, in which interpolated values are escaped.
    var path: RequestPath { get }

    /// The query items; none by default.
    var query: RequestQuery { get }

    /// The header fields; none by default.
    var headers: HeaderFields { get }

    /// The body; `nil` by default.
    var body: RequestBody? { get }

    /// The decoder of the body; `nil`, the default, uses that of the stack, and then a plain `JSONDecoder`.
    var decoder: (any BodyDecoder)? { get }

    /// The options of the request, such as its cache mode, its retry policy and its timeout; none by default.
    ///
    /// They take precedence over the modifiers of the stack, as options of any request do.
    var options: [EndpointOption] { get }

    /// Changes the request after it was created from the other properties.
    ///
    /// ```swift
    /// func configure(_ request: inout HTTPRequestData) {
    ///     request.priority = .high
    /// }
    /// ```
    ///
    /// The default changes nothing.
    ///
    /// - Parameter request: The request.
    func configure(_ request: inout HTTPRequestData)

    /// Returns the value of a response with a status that the request accepts.
    ///
    /// The default decodes the body. An endpoint with the response type ``HTTPResponseData`` returns the response, and
    /// one without a response value ignores the body.
    ///
    /// - Parameter response: The response.
    /// - Returns: The value.
    /// - Throws: The decoder's error, which the call wraps in a ``NetworkingError``, or an error of the app.
    func decode(_ response: HTTPResponseData) throws -> Response
}

extension Endpoint {
    /// GET.
    public var method: HTTPRequest.Method {
        .get
    }

    /// No items.
    public var query: RequestQuery {
        [:]
    }

    /// No fields.
    public var headers: HeaderFields {
        HeaderFields()
    }

    /// No body.
    public var body: RequestBody? {
        nil
    }

    /// The decoder of the stack.
    public var decoder: (any BodyDecoder)? {
        nil
    }

    /// No options.
    public var options: [EndpointOption] {
        []
    }

    /// Changes nothing.
    public func configure(_ request: inout HTTPRequestData) {}
}

extension Endpoint where Response: Decodable {
    /// Decodes the body.
    public func decode(_ response: HTTPResponseData) throws -> Response {
        try response.decodeBody(by: decoder)
    }
}

extension Endpoint where Response == HTTPResponseData {
    /// Returns the response.
    public func decode(_ response: HTTPResponseData) throws -> HTTPResponseData {
        response
    }
}

extension Endpoint where Response == Void {
    /// Ignores the body.
    public func decode(_ response: HTTPResponseData) throws {}
}
