/// A header field of a request, with factories for common fields.
///
/// ```swift
/// HTTPRequestData.get("news", headers: [.acceptLanguage(["de", "en"]), .authorization(bearer: token)])
/// request.headerFields.set(.contentType(.json))
/// let network = URLSession.shared.server(headerFields: [.userAgent("Shop/2.1"), .accept(.json)])
/// ```
///
/// A value that HTTP forbids, such as one with a line break, makes each send fail with an error that names the field.
public struct RequestHeader: Sendable, Hashable {
    /// The name.
    public let name: HeaderFields.Name
    /// The value.
    public let value: String

    /// Creates a field.
    ///
    /// - Parameters:
    ///   - name: The name: `.accept`, or any text.
    ///   - value: The value.
    public init(_ name: HeaderFields.Name, _ value: String) {
        self.name = name
        self.value = value
    }

    /// Creates any field.
    ///
    /// - Parameters:
    ///   - name: The name: `.accept`, or any text.
    ///   - value: The value.
    /// - Returns: The field.
    public static func field(_ name: HeaderFields.Name, _ value: String) -> RequestHeader {
        RequestHeader(name, value)
    }

    /// Creates an `Accept` field.
    ///
    /// - Parameter types: The media types that the caller can read, best first. From the second on they have falling
    ///   quality values.
    /// - Returns: The field.
    public static func accept(_ types: MediaType...) -> RequestHeader {
        RequestHeader(.accept, qualities(of: types.map(\.rawValue)))
    }

    /// Creates an `Accept-Language` field (RFC 9110 section 12.5.4).
    ///
    /// - Parameter languages: The languages that the user reads, best first: `["de-CH", "de", "en"]`. From the second
    ///   on they have falling quality values.
    /// - Returns: The field.
    public static func acceptLanguage(_ languages: [String]) -> RequestHeader {
        RequestHeader(.acceptLanguage, qualities(of: languages))
    }

    /// Creates an `Authorization` field with a bearer token (RFC 6750).
    ///
    /// - Parameter token: The token.
    /// - Returns: The field.
    public static func authorization(bearer token: String) -> RequestHeader {
        RequestHeader(.authorization, "Bearer \(token)")
    }

    /// Creates a `Content-Type` field, in place of the type of the request's body.
    ///
    /// - Parameter type: The media type.
    /// - Returns: The field.
    public static func contentType(_ type: MediaType) -> RequestHeader {
        RequestHeader(.contentType, type.rawValue)
    }

    /// Creates a `User-Agent` field.
    ///
    /// - Parameter userAgent: The product and its version, for example `Shop/2.1`.
    /// - Returns: The field.
    public static func userAgent(_ userAgent: String) -> RequestHeader {
        RequestHeader(.userAgent, userAgent)
    }

    /// Joins values with the quality values 1, 0.9, 0.8 and so on, no lower than 0.1.
    private static func qualities(of values: [String]) -> String {
        values.enumerated()
            .map { index, value in index == 0 ? value : "\(value);q=0.\(max(1, 10 - index))" }
            .joined(separator: ", ")
    }
}

extension RequestHeader: CustomStringConvertible, CustomReflectable {
    /// The field, with the value of a sensitive one redacted.
    public var description: String {
        HeaderFields(arrayLiteral: self).description
    }

    /// The contents of a dump, without secrets.
    public var customMirror: Mirror {
        Mirror(self, unlabeledChildren: [description])
    }
}

/// A media type: `application/json`.
public struct MediaType: RawRepresentable, Sendable, Hashable, ExpressibleByStringLiteral {
    /// The media type as it is sent, with parameters if there are any.
    public let rawValue: String

    /// Creates a media type.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Creates a media type from a literal.
    public init(stringLiteral value: String) {
        rawValue = value
    }

    /// `application/json`.
    public static let json: MediaType = "application/json"
    /// `application/xml`.
    public static let xml: MediaType = "application/xml"
    /// `application/x-www-form-urlencoded`.
    public static let form: MediaType = "application/x-www-form-urlencoded"
    /// `text/html`.
    public static let html: MediaType = "text/html"
    /// `text/plain; charset=utf-8`.
    public static let text: MediaType = "text/plain; charset=utf-8"
    /// `application/octet-stream`.
    public static let bytes: MediaType = "application/octet-stream"
    /// `*/*`.
    public static let any: MediaType = "*/*"
}
