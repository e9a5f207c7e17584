// swift-format-ignore-file: NoLeadingUnderscores

public import HTTPTypes
public import NetworkingCore

// A property with another type than that of its requirement would be ignored, because the requirement has a default:
// the request would have no body, query or header fields. This protocol makes it a compile-time error.

/// The declarations of an endpoint that would have no effect, which are compile-time errors.
public protocol _EndpointDeclarations {
    /// The type of `method`.
    associatedtype _Method = HTTPRequest.Method
    /// The property with any type.
    var method: _Method { get }
    /// Available if the property has the right type.
    static var _method: Void { get }

    /// The type of `query`.
    associatedtype _Query = RequestQuery
    /// The property with any type.
    var query: _Query { get }
    /// Available if the property has the right type.
    static var _query: Void { get }

    /// The type of `headers`.
    associatedtype _Headers = HeaderFields
    /// The property with any type.
    var headers: _Headers { get }
    /// Available if the property has the right type.
    static var _headers: Void { get }

    /// The type of `body`.
    associatedtype _Body = RequestBody?
    /// The property with any type.
    var body: _Body { get }
    /// Available if the property has the right type.
    static var _body: Void { get }

    /// The type of `decoder`.
    associatedtype _Decoder = (any BodyDecoder)?
    /// The property with any type.
    var decoder: _Decoder { get }
    /// Available if the property has the right type.
    static var _decoder: Void { get }

    /// The type of `options`.
    associatedtype _Options = [EndpointOption]
    /// The property with any type.
    var options: _Options { get }
    /// Available if the property has the right type.
    static var _options: Void { get }
}

extension _EndpointDeclarations {
    /// Not available, because the method has another type.
    @available(*, unavailable, message: "Declare 'var method: HTTPRequest.Method', for example { .post }.")
    public static var _method: Void { () }

    /// Not available, because the query has another type.
    @available(
        *,
        unavailable,
        message: "Declare 'var query: RequestQuery', for example { [\"page\": 1] } or { RequestQuery(dictionary) }."
    )
    public static var _query: Void { () }

    /// Not available, because the header fields have another type.
    @available(
        *,
        unavailable,
        message:
            "Declare 'var headers: HeaderFields', for example { [.accept(.json)] } or { HeaderFields(dictionary) }."
    )
    public static var _headers: Void { () }

    /// Not available, because the body has another type.
    @available(*, unavailable, message: "Declare 'var body: RequestBody?', for example { .json(value) }.")
    public static var _body: Void { () }

    /// Not available, because the decoder has another type.
    @available(*, unavailable, message: "Declare 'var decoder: (any BodyDecoder)?'.")
    public static var _decoder: Void { () }

    /// Not available, because the options have another type.
    @available(*, unavailable, message: "Declare 'var options: [EndpointOption]'.")
    public static var _options: Void { () }
}

extension _EndpointDeclarations where _Method == HTTPRequest.Method {
    /// Available, because the method has the right type.
    public static var _method: Void { () }
}

extension _EndpointDeclarations where _Query == RequestQuery {
    /// Available, because the query has the right type.
    public static var _query: Void { () }
}

extension _EndpointDeclarations where _Headers == HeaderFields {
    /// Available, because the header fields have the right type.
    public static var _headers: Void { () }
}

extension _EndpointDeclarations where _Body == RequestBody? {
    /// Available, because the body has the right type.
    public static var _body: Void { () }
}

extension _EndpointDeclarations where _Decoder == (any BodyDecoder)? {
    /// Available, because the decoder has the right type.
    public static var _decoder: Void { () }
}

extension _EndpointDeclarations where _Options == [EndpointOption] {
    /// Available, because the options have the right type.
    public static var _options: Void { () }
}
