import FoundationForNetworking
import HTTPTypes
import NetworkingCore

extension HAR.Request {
    /// Creates a redacted request for an archive.
    ///
    /// - Parameters:
    ///   - request: The complete request.
    ///   - redaction: The redaction, including the secrets that the request itself knows.
    init(_ request: HTTPRequestData, redaction: Redaction) {
        // A request without a server is an error, and its URL is incomplete.
        self.init(method: request.method.rawValue, url: request.absoluteString ?? "https:\(request.closedTarget)")
        headers = request.headerFields.httpFields.map { HAR.Field(name: $0.name.rawName, value: $0.value) }
        cookies = request.headerFields.httpFields[values: .cookie].flatMap { HAR.Cookie.cookies(of: $0) }
        // A field may be marked as secret, which its name and value alone do not show.
        for (index, field) in request.headerFields.httpFields.enumerated() where redaction.redacts(field) {
            headers[index].value = Redaction.placeholder
        }
        bodySize = request.body.map { $0.length ?? -1 } ?? 0
        let type = request.headerFields[.contentType] ?? request.body?.contentType
        // A body without data has parts or a reason, which the capture knows.
        postData = request.body?.data.map { HAR.PostData($0, mimeType: type, redaction) }
        redactHead(redaction)
    }
}

extension HAR.Response {
    /// Creates a redacted response for an archive.
    ///
    /// - Parameters:
    ///   - head: The head of the response.
    ///   - content: The body of the response.
    ///   - redaction: The redaction, including the secrets that the request knows.
    init(_ head: HTTPResponse, content: HAR.Content, redaction: Redaction) {
        self.init()
        status = Int64(head.status.code)
        statusText = head.status.reasonPhrase
        headers = head.headerFields.map { HAR.Field(name: $0.name.rawName, value: $0.value) }
        for (index, field) in head.headerFields.enumerated() where redaction.redacts(field) {
            headers[index].value = Redaction.placeholder
        }
        cookies = head.headerFields[values: .setCookie].compactMap { HAR.Cookie(setCookie: $0) }
        redirectURL = head.status.kind == .redirection ? head.headerFields[.location] ?? "" : ""
        self.content = content
        // The transferred size is known only for a body without content encoding.
        bodySize = head.headerFields.contains(.contentEncoding) ? -1 : content.size
        redactHead(redaction)
    }
}

extension HAR.Content {
    /// Creates a redacted body.
    init(_ data: Data, mimeType: String?, _ redaction: Redaction) {
        self.init()
        size = Int64(data.count)
        self.mimeType = mimeType ?? ""
        guard !data.isEmpty else { return }
        guard let shown = redaction.body(data, contentType: mimeType) else {
            comment = HAR.redactedBody
            return
        }
        (text, encoding) = HAR.encoded(shown, mimeType: shown == data ? mimeType : nil)
    }

    /// Creates a body that is not stored.
    init(size: Int64, mimeType: String?, because reason: String) {
        self.init()
        self.size = size
        self.mimeType = mimeType ?? ""
        comment = reason
    }

    /// The bytes; `nil` if they are not stored.
    var data: Data? {
        HAR.decoded(text, encoding)
    }
}

extension HAR.PostData {
    /// Creates a body that is not stored.
    init(mimeType: String, because reason: String) {
        self.init()
        self.mimeType = mimeType
        comment = reason
    }

    /// Creates a redacted body with parts.
    init(_ parts: [HAR.Part], mimeType: String, _ redaction: Redaction) {
        self.init()
        self.mimeType = mimeType
        params = parts.map(redaction.part)
    }

    /// Creates a redacted body.
    init(_ data: Data, mimeType: String?, _ redaction: Redaction) {
        self.init()
        self.mimeType = mimeType ?? ""
        set(data, redaction)
    }

    mutating func set(_ data: Data, _ redaction: Redaction) {
        guard !data.isEmpty else { return }
        guard let shown = redaction.body(data, contentType: mimeType) else {
            (text, encoding, comment) = (nil, nil, HAR.redactedBody)
            return
        }
        (text, encoding) = HAR.encoded(shown, mimeType: shown == data ? mimeType : nil)
    }

    /// The bytes; `nil` if they are not stored.
    var data: Data? {
        HAR.decoded(text, encoding)
    }
}

extension HAR.Cookie {
    /// Parses a `Set-Cookie` field (RFC 6265 section 5.2); `nil` if it is not a cookie.
    init?(setCookie text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
        guard let first = parts.first, let (name, value) = Self.pair(first), !name.isEmpty else { return nil }
        self.init(name: name, value: value)
        for part in parts.dropFirst() {
            let (name, value) = Self.pair(part) ?? (String(Substring(part.trimmed)), "")
            switch name.lowercased() {
            case "path": path = value
            case "domain": domain = value
            case "expires": expires = Date(httpDate: value).map(HAR.timestamp)
            case "httponly": httpOnly = true
            case "secure": secure = true
            default: break
            }
        }
    }

    /// The cookies of a `Cookie` field.
    static func cookies(of field: String) -> [HAR.Cookie] {
        field.utf8.split(separator: UInt8(ascii: ";"))
            .compactMap { part in
                pair(part).map { HAR.Cookie(name: $0, value: $1) }
            }
    }

    private static func pair(_ part: Substring.UTF8View.SubSequence) -> (String, String)? {
        guard let equals = part.firstIndex(of: UInt8(ascii: "=")) else { return nil }
        return (
            String(Substring(part[..<equals].trimmed)), String(Substring(part[equals...].dropFirst().trimmed))
        )
    }
}

extension HAR {
    package static let redactedBody =
        "not shown: it may contain secrets, which cannot be removed from this format"

    /// Returns a body as text, or in base64 if it is not text in UTF-8.
    ///
    /// - Parameters:
    ///   - data: The body.
    ///   - mimeType: The media type of the body, whose charset applies to the bytes; `nil` for text in UTF-8.
    /// - Returns: The text, and its encoding if there is one.
    static func encoded(_ data: Data, mimeType: String?) -> (text: String, encoding: String?) {
        if !data.contains(0), data.allSatisfy({ $0 < 128 }) || isUTF8(BodyType(mimeType).charset),
            let text = String(validating: data, as: UTF8.self)
        {
            return (text, nil)
        }
        return (data.base64EncodedString(), "base64")
    }

    private static func isUTF8(_ charset: String?) -> Bool {
        ["utf-8", "utf8", ""].contains(charset?.lowercased() ?? "")
    }

    /// Returns the Content-Type for the bytes of a text in an archive, which are UTF-8 whatever the charset was.
    ///
    /// - Parameters:
    ///   - contentType: The recorded Content-Type.
    ///   - text: The recorded text.
    ///   - encoding: The encoding of the text; a body in base64 still has its charset.
    /// - Returns: The Content-Type.
    static func contentType(_ contentType: String, ofText text: String?, encoding: String?) -> String {
        guard let text, encoding?.lowercased() != "base64", let charset = BodyType(contentType).charset,
            !isUTF8(charset)
        else { return contentType }
        // All supported charsets but the wide ones have the same bytes for ASCII.
        let isWide = charset.lowercased().hasPrefix("utf-") || charset.lowercased().hasPrefix("ucs")
        guard isWide || !text.utf8.allSatisfy({ $0 < 128 }) else { return contentType }
        return withoutCharset(contentType) + "; charset=utf-8"
    }

    /// Removes the charset from a media type, because text in an archive is Unicode whatever its original encoding.
    static func withoutCharset(_ mimeType: String) -> String {
        mimeType.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
            .filter { !$0.lowercased().contains("charset=") }
            .joined(separator: ";")
    }

    static func decoded(_ text: String?, _ encoding: String?) -> Data? {
        guard let text else { return nil }
        guard encoding?.lowercased() == "base64" else { return Data(text.utf8) }
        return Data(base64Encoded: text, options: .ignoreUnknownCharacters)
    }

    /// Formats a date as HAR does: in UTC, to the millisecond.
    static func timestamp(_ date: Date) -> String {
        // The style truncates, and a millisecond that a Double cannot represent would become the previous one.
        let milliseconds = (date.timeIntervalSince1970 * 1_000).rounded()
        return Date(timeIntervalSince1970: milliseconds / 1_000 + 0.000_1)
            .formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    /// Parses a timestamp, with or without fractions and in any time zone; `nil` if it is invalid.
    static func date(of timestamp: String) -> Date? {
        (try? Date(timestamp, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
            ?? (try? Date(timestamp, strategy: .iso8601))
    }
}
