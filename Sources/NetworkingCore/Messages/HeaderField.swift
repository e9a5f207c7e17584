public import FoundationForNetworking

/// A header field of a request, with factories for common fields.
///
/// ```swift
/// HTTPRequestData.get("news", headers: [.acceptLanguage(["de", "en"]), .authorization(bearer: token)])
/// request.headerFields.set(.contentType(.json))
/// let network = URLSession.shared.server(headerFields: [.userAgent("Shop/2.1"), .accept(.json)])
/// ```
///
/// A value that HTTP forbids, such as one with a line break, makes each send fail with an error that names the field.
public struct HeaderField: Sendable, Hashable {
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
    public static func field(_ name: HeaderFields.Name, _ value: String) -> HeaderField {
        HeaderField(name, value)
    }

    /// Creates an `Accept` field.
    ///
    /// - Parameter types: The media types that the caller can read, best first. The second and later ones get
    ///   decreasing quality values.
    /// - Returns: The field.
    public static func accept(_ types: MediaType...) -> HeaderField {
        HeaderField(.accept, qualities(of: types.map(\.rawValue)))
    }

    /// Creates an `Accept` field with a quality for each media type (RFC 9110 section 12.5.1).
    ///
    /// ```swift
    /// HTTPRequestData.get("report", headers: [.accept([.json: 1, .xml: 0.5])])
    /// ```
    ///
    /// - Parameter qualities: The media types and their qualities, from 0, which refuses the type, to 1. A quality
    ///   outside of that range is clamped to it; one that is not a number is 0. Qualities are sent with up to three
    ///   decimals.
    /// - Returns: The field.
    public static func accept(_ qualities: KeyValuePairs<MediaType, Double>) -> HeaderField {
        HeaderField(.accept, qualities.map { $0.rawValue + quality($1) }.joined(separator: ", "))
    }

    /// Creates an `Accept-Charset` field, which most servers ignore (RFC 9110 section 12.5.2).
    ///
    /// - Parameter charsets: The charsets, best first. The second and later ones get decreasing quality values.
    /// - Returns: The field.
    public static func acceptCharset(_ charsets: String...) -> HeaderField {
        HeaderField("Accept-Charset", qualities(of: charsets))
    }

    /// Creates an `Accept-Encoding` field (RFC 9110 section 12.5.3).
    ///
    /// A transport asks for the codings that it decodes. With this field, it asks for these codings instead.
    ///
    /// - Parameter codings: The codings, best first. The second and later ones get decreasing quality values.
    /// - Returns: The field.
    public static func acceptEncoding(_ codings: String...) -> HeaderField {
        HeaderField(.acceptEncoding, qualities(of: codings))
    }

    /// Creates an `Accept-Language` field (RFC 9110 section 12.5.4).
    ///
    /// - Parameter languages: The languages that the user reads, best first: `["de-CH", "de", "en"]`. The second and
    ///   later ones get decreasing quality values.
    /// - Returns: The field.
    public static func acceptLanguage(_ languages: [String]) -> HeaderField {
        HeaderField(.acceptLanguage, qualities(of: languages))
    }

    /// Creates an `Authorization` field with a bearer token (RFC 6750).
    ///
    /// - Parameter token: The token.
    /// - Returns: The field.
    public static func authorization(bearer token: String) -> HeaderField {
        HeaderField(.authorization, "Bearer \(token)")
    }

    /// Creates an `Authorization` field with a user and a password in UTF-8 (RFC 7617).
    ///
    /// `BasicCredentials` sends them with every request of a stack, and refuses a user name with a colon.
    ///
    /// - Parameters:
    ///   - user: The user name. If it contains a colon, a server reads the text after the colon as the password.
    ///   - password: The password.
    /// - Returns: The field.
    public static func authorization(basic user: String, password: String) -> HeaderField {
        HeaderField(.authorization, "Basic \(Data("\(user):\(password)".utf8).base64EncodedString())")
    }

    /// Creates an `Authorization` field with credentials of any scheme.
    ///
    /// - Parameter credentials: The value of the field: `ApiKey abc`.
    /// - Returns: The field.
    public static func authorization(_ credentials: String) -> HeaderField {
        HeaderField(.authorization, credentials)
    }

    /// Creates a `Cache-Control` field (RFC 9111 section 5.2.1).
    ///
    /// ```swift
    /// HTTPRequestData.get("news", headers: [.cacheControl("no-cache", "max-stale=60")])
    /// ```
    ///
    /// The server, the caches on the way and the stack's `cached` follow the directives. `cacheMode` controls only the
    /// cache of the stack.
    ///
    /// - Parameter directives: The directives.
    /// - Returns: The field.
    public static func cacheControl(_ directives: String...) -> HeaderField {
        HeaderField(.cacheControl, directives.joined(separator: ", "))
    }

    /// Creates a `Content-Disposition` field (RFC 6266).
    ///
    /// - Parameter disposition: The value of the field: `attachment; filename="report.pdf"`.
    /// - Returns: The field.
    public static func contentDisposition(_ disposition: String) -> HeaderField {
        HeaderField(.contentDisposition, disposition)
    }

    /// Creates a `Content-Encoding` field, for a body that the app has encoded (RFC 9110 section 8.4).
    ///
    /// - Parameter codings: The codings, in the order in which they were applied.
    /// - Returns: The field.
    public static func contentEncoding(_ codings: String...) -> HeaderField {
        HeaderField(.contentEncoding, codings.joined(separator: ", "))
    }

    /// Creates a `Content-Type` field, in place of the type of the request's body.
    ///
    /// - Parameter type: The media type.
    /// - Returns: The field.
    public static func contentType(_ type: MediaType) -> HeaderField {
        HeaderField(.contentType, type.rawValue)
    }

    /// Creates an `If-Match` field, so that the server changes only this version of a resource (RFC 9110 section
    /// 13.1.1).
    ///
    /// The server responds with 412 if it has another version.
    ///
    /// - Parameter entityTag: The value of an `ETag` field with its quotes, or `*` for any version.
    /// - Returns: The field.
    public static func ifMatch(_ entityTag: String) -> HeaderField {
        HeaderField(.ifMatch, entityTag)
    }

    /// Creates an `If-None-Match` field, so that the server sends only another version of a resource (RFC 9110 section
    /// 13.1.2).
    ///
    /// The server responds with 304 if it has the same version. A stack with `cached` sends the field itself.
    ///
    /// - Parameter entityTag: The value of an `ETag` field with its quotes, or `*` for any version.
    /// - Returns: The field.
    public static func ifNoneMatch(_ entityTag: String) -> HeaderField {
        HeaderField(.ifNoneMatch, entityTag)
    }

    /// Creates an `If-Modified-Since` field, so that the server sends only a newer version of a resource (RFC 9110
    /// section 13.1.3).
    ///
    /// - Parameter date: The date, which is sent to the second.
    /// - Returns: The field.
    public static func ifModifiedSince(_ date: Date) -> HeaderField {
        HeaderField(.ifModifiedSince, date.httpDate)
    }

    /// Creates an `Origin` field (RFC 6454), for a server that checks it.
    ///
    /// - Parameter origin: The scheme and the authority: `https://shop.example`.
    /// - Returns: The field.
    public static func origin(_ origin: String) -> HeaderField {
        HeaderField(.origin, origin)
    }

    /// Creates a `Range` field for a part of a body (RFC 9110 section 14.2).
    ///
    /// ```swift
    /// let start = try await network.data(.get("film.mp4", headers: [.range(bytes: 0...1023)]))   // 206
    /// ```
    ///
    /// - Parameter bytes: The positions of the first and the last byte.
    /// - Returns: The field.
    public static func range(bytes: ClosedRange<Int64>) -> HeaderField {
        HeaderField(.range, "bytes=\(bytes.lowerBound)-\(bytes.upperBound)")
    }

    /// Creates a `Range` field for the rest of a body (RFC 9110 section 14.2).
    ///
    /// - Parameter bytes: The position of the first byte.
    /// - Returns: The field.
    public static func range(bytes: PartialRangeFrom<Int64>) -> HeaderField {
        HeaderField(.range, "bytes=\(bytes.lowerBound)-")
    }

    /// Creates a `Range` field for the end of a body (RFC 9110 section 14.2).
    ///
    /// - Parameter count: The number of bytes.
    /// - Returns: The field.
    public static func range(lastBytes count: Int64) -> HeaderField {
        HeaderField(.range, "bytes=-\(count)")
    }

    /// Creates a `Referer` field (RFC 9110 section 10.1.3).
    ///
    /// - Parameter url: The URL of the page that led to the request. Its user information and its fragment are not
    ///   sent, as the RFC requires.
    /// - Returns: The field.
    public static func referer(_ url: URL) -> HeaderField {
        var parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
        parts?.user = nil
        parts?.password = nil
        parts?.fragment = nil
        return HeaderField(.referer, parts?.string ?? "")
    }

    /// Creates a `User-Agent` field.
    ///
    /// - Parameter userAgent: The product and its version, for example `Shop/2.1`.
    /// - Returns: The field.
    public static func userAgent(_ userAgent: String) -> HeaderField {
        HeaderField(.userAgent, userAgent)
    }

    /// The parameter for a quality; none for 1, which is the default.
    private static func quality(_ quality: Double) -> String {
        let thousandths = quality.isNaN ? 0 : Int((min(max(0, quality), 1) * 1_000).rounded())
        guard thousandths < 1_000 else { return "" }
        var decimals = "\(1_000 + thousandths)".dropFirst()
        while decimals.count > 1, decimals.last == "0" {
            decimals.removeLast()
        }
        return ";q=0.\(decimals)"
    }

    /// Joins values with the quality values 1, 0.9, 0.8 and so on, no lower than 0.1.
    private static func qualities(of values: [String]) -> String {
        values.enumerated()
            .map { index, value in index == 0 ? value : "\(value);q=0.\(max(1, 10 - index))" }
            .joined(separator: ", ")
    }
}

extension HeaderField: CustomStringConvertible, CustomReflectable {
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
