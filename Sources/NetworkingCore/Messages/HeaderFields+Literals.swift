public import HTTPTypes

extension HeaderFields: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral {
    /// The name of a header field in a literal: a standard one, or any text.
    ///
    /// ```swift
    /// let headers: HeaderFields = [.accept: "application/json", "X-Request-ID": requestID]
    /// ```
    ///
    /// Text that is not a valid name is remembered, and sending the request fails with an error that shows it.
    public struct Name: Sendable, Hashable, ExpressibleByStringInterpolation {
        let fieldName: HTTPField.Name?
        let text: String

        /// Creates a name from a name of swift-http-types.
        ///
        /// - Parameter name: The name.
        public init(_ name: HTTPField.Name) {
            fieldName = name
            text = name.rawName
        }

        /// Creates a name from text, which is checked when the request is sent.
        ///
        /// - Parameter text: The name.
        public init(_ text: String) {
            fieldName = HTTPField.Name(text)
            self.text = text
        }

        /// Creates a name from a literal.
        public init(stringLiteral text: String) {
            self.init(text)
        }
    }

    /// Creates fields from names and values; a name may occur more than once.
    public init(dictionaryLiteral elements: (Name, String)...) {
        self.init()
        for (name, value) in elements {
            append(name, value)
        }
    }

    /// Creates fields from headers such as `.authorization(bearer:)`; a name may occur more than once.
    public init(arrayLiteral headers: HeaderField...) {
        self.init()
        for header in headers {
            append(header)
        }
    }

    /// Creates fields from a dictionary of names and values, sorted by name.
    ///
    /// - Parameter fields: The names and values. A name that is not valid makes each send fail with an error that
    ///   shows it.
    @_disfavoredOverload
    public init(_ fields: [String: String]) {
        self.init()
        for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
            append(Name(name), value)
        }
    }

    /// The fields as a dictionary; several values of one name are joined with a comma.
    ///
    /// Names are written as they were first set. It contains the values of credentials, so do not print it.
    public var dictionary: [String: String] {
        httpFields.dictionary
    }

    /// The value of a field by its name as text; several values are joined with a comma, and `nil` removes the field.
    ///
    /// - Parameter name: The name of the field, in any case.
    public subscript(name: String) -> String? {
        get { HTTPField.Name(name).flatMap { self[$0] } }
        set {
            if let fieldName = HTTPField.Name(name) {
                self[fieldName] = newValue
            } else if newValue != nil {
                refuse(customName: name)
            }
        }
    }

    /// Adds a field after the existing ones.
    ///
    /// - Parameter header: The field.
    public mutating func append(_ header: HeaderField) {
        append(header.name, header.value)
    }

    /// Sets a field, in place of all existing ones with its name.
    ///
    /// - Parameter header: The field.
    public mutating func set(_ header: HeaderField) {
        if let name = header.name.fieldName {
            self[name] = header.value
        } else {
            refuse(customName: header.name.text)
        }
    }

    private mutating func append(_ name: Name, _ value: String) {
        if let fieldName = name.fieldName {
            append(name: fieldName, value: value)
        } else {
            refuse(customName: name.text)
        }
    }
}

extension HeaderFields.Name {
    /// `Accept`.
    public static let accept = Self(HTTPField.Name.accept)
    /// `Accept-Encoding`.
    public static let acceptEncoding = Self(HTTPField.Name.acceptEncoding)
    /// `Accept-Language`.
    public static let acceptLanguage = Self(HTTPField.Name.acceptLanguage)
    /// `Authorization`.
    public static let authorization = Self(HTTPField.Name.authorization)
    /// `Cache-Control`.
    public static let cacheControl = Self(HTTPField.Name.cacheControl)
    /// `Connection`.
    public static let connection = Self(HTTPField.Name.connection)
    /// `Content-Disposition`.
    public static let contentDisposition = Self(HTTPField.Name.contentDisposition)
    /// `Content-Encoding`.
    public static let contentEncoding = Self(HTTPField.Name.contentEncoding)
    /// `Content-Language`.
    public static let contentLanguage = Self(HTTPField.Name.contentLanguage)
    /// `Content-Length`.
    public static let contentLength = Self(HTTPField.Name.contentLength)
    /// `Content-Type`.
    public static let contentType = Self(HTTPField.Name.contentType)
    /// `Cookie`.
    public static let cookie = Self(HTTPField.Name.cookie)
    /// `Date`.
    public static let date = Self(HTTPField.Name.date)
    /// `Expect`.
    public static let expect = Self(HTTPField.Name.expect)
    /// `From`.
    public static let from = Self(HTTPField.Name.from)
    /// `If-Match`.
    public static let ifMatch = Self(HTTPField.Name.ifMatch)
    /// `If-Modified-Since`.
    public static let ifModifiedSince = Self(HTTPField.Name.ifModifiedSince)
    /// `If-None-Match`.
    public static let ifNoneMatch = Self(HTTPField.Name.ifNoneMatch)
    /// `If-Range`.
    public static let ifRange = Self(HTTPField.Name.ifRange)
    /// `Origin`.
    public static let origin = Self(HTTPField.Name.origin)
    /// `Priority`.
    public static let priority = Self(HTTPField.Name.priority)
    /// `Range`.
    public static let range = Self(HTTPField.Name.range)
    /// `Referer`.
    public static let referer = Self(HTTPField.Name.referer)
    /// `TE`.
    public static let te = Self(HTTPField.Name.te)
    /// `traceparent`.
    public static let traceparent = Self(HTTPField.Name.traceparent)
    /// `tracestate`.
    public static let tracestate = Self(HTTPField.Name.tracestate)
    /// `Transfer-Encoding`.
    public static let transferEncoding = Self(HTTPField.Name.transferEncoding)
    /// `User-Agent`.
    public static let userAgent = Self(HTTPField.Name.userAgent)
    /// `Via`.
    public static let via = Self(HTTPField.Name.via)
    /// `Idempotency-Key`.
    public static let idempotencyKey = Self(HTTPField.Name.idempotencyKey)
}
