package import FoundationForNetworking
package import HTTPTypes
package import NetworkingCore

// Cassettes are archives with other types for the messages. They conform to these protocols, so that an archive is read
// and written without knowing cassettes.

/// A request that an archive stores with its whole body.
package protocol ArchivedRequest {
    var method: HTTPRequest.Method { get }
    var url: String { get }
    var headerFields: HTTPFields { get set }
    var body: Data { get set }
    /// The reason why there is no body; `nil` if there is one, or none was sent.
    var missingBody: String? { get set }

    init(method: HTTPRequest.Method, url: String, headerFields: HTTPFields, body: Data)
}

/// A response that an archive stores with its whole body.
package protocol ArchivedResponse {
    var status: HTTPResponse.Status { get }
    var headerFields: HTTPFields { get set }
    var body: Data { get set }
    /// The reason why there is no body; `nil` if there is one, or none was received.
    var missingBody: String? { get set }
    /// Whether the body is incomplete because its reader stopped early.
    var isPartial: Bool { get set }

    init(status: HTTPResponse.Status, headerFields: HTTPFields, body: Data)
}

extension HAR {
    /// Creates the archive of a cassette.
    package init(entries: [Entry], format: Int64) {
        log = Log(creator: .library, pages: [], entries: entries, cassette: CassetteFormat(format: format))
    }

    package var entries: [Entry] {
        log.entries
    }

    /// The number of entries that could not be read.
    package var skippedEntries: Int {
        log.skippedEntries
    }

    /// The name of the program that wrote the archive.
    package var creator: String {
        log.creator.name
    }

    /// The version of a cassette's format; 0 if it is not a number, `nil` for an archive that is no cassette.
    package var format: Int64? {
        log.cassette?.format
    }

    /// The user that a request of a cassette was sent for, identified without an id.
    package enum User: Sendable, Hashable, CustomStringConvertible {
        /// By order of first appearance, counted from 1.
        case number(Int)
        /// By a name that the test provides.
        case name(String)

        package var description: String {
            switch self {
            case .number(let number): "user \(number) of the recording"
            case .name(let name): "\"\(PrintableText.singleLine(name))\""
            }
        }
    }
}

extension HAR.Entry {
    /// Creates the entry of a recorded exchange.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - response: The response.
    ///   - date: The time of the request.
    ///   - duration: The time from the request to the end of the response.
    ///   - user: The user of the request; `nil` for none.
    ///   - redaction: The redaction to apply; `nil` if everything is already redacted.
    package init(
        _ request: some ArchivedRequest,
        _ response: some ArchivedResponse,
        date: Date,
        duration: Duration,
        user: HAR.User?,
        redacting redaction: Redaction?
    ) {
        var timings = HAR.Timings()
        timings.wait = duration / .milliseconds(1)
        self.init(
            startedDateTime: HAR.timestamp(date),
            time: timings.wait,
            request: request.har(redacting: redaction),
            response: response.har(redacting: redaction),
            timings: timings
        )
        if let redaction {
            redact(redaction)
            tellNewLength(insteadOf: response.body.count)
        }
        if user != nil || response.isPartial { tape = HAR.Tape(user, isPartial: response.isPartial) }
    }

    /// The time of the request; that of 1970 if the archive has none.
    package var date: Date {
        HAR.date(of: startedDateTime) ?? Date(timeIntervalSince1970: 0)
    }

    package var duration: Duration {
        .milliseconds(Int64(max(0, time).rounded()))
    }

    package var user: HAR.User? {
        tape?.user
    }

    /// Whether the request has a URL, which a browser's archive may lack.
    package var hasURL: Bool {
        !request.url.isEmpty
    }

    /// Whether the archive shows the body of the response.
    package var hasResponseBody: Bool {
        response.content.text != nil
    }

    /// Updates the length fields after part of the body was redacted.
    private mutating func tellNewLength(insteadOf count: Int) {
        guard let data = response.content.data, data.count != count else { return }
        response.content.size = Int64(data.count)
        response.bodySize = response.bodySize == -1 ? -1 : Int64(data.count)
        for index in response.headers.indices where response.headers[index].name.lowercased() == "content-length" {
            response.headers[index].value = "\(data.count)"
        }
    }
}

extension ArchivedRequest {
    package init(_ entry: HAR.Entry) {
        self.init(entry.request)
    }

    /// The request as recorded, with its secrets redacted.
    package func redacted(by redaction: Redaction) -> Self {
        var har = har(redacting: redaction)
        har.redact(redaction)
        return Self(har)
    }

    private init(_ har: HAR.Request) {
        self.init(
            // An invalid HTTP method never matches a request.
            method: HTTPRequest.Method(har.method) ?? HTTPRequest.Method("UNKNOWN")!,
            url: har.url,
            headerFields: HTTPFields(har.headers),
            body: har.postData?.data ?? Data()
        )
        headerFields.describe(text: har.postData?.text, encoding: har.postData?.encoding)
        if let postData = har.postData, postData.data == nil, postData.params != nil || postData.comment != nil {
            missingBody = postData.comment ?? "the archive has only its parts"
        }
    }

    fileprivate func har(redacting redaction: Redaction?) -> HAR.Request {
        var har = HAR.Request(method: method.rawValue, url: url)
        har.headers = headerFields.har(redacting: redaction)
        har.cookies = headerFields[values: .cookie].flatMap { HAR.Cookie.cookies(of: $0) }
        har.queryString = HAR.queryItems(of: url)
        har.bodySize = Int64(body.count)
        guard !body.isEmpty || missingBody != nil else { return har }
        var postData = HAR.PostData()
        postData.mimeType = headerFields[.contentType] ?? ""
        if let missingBody {
            postData.comment = missingBody
            har.bodySize = -1
        } else {
            (postData.text, postData.encoding) = HAR.encoded(body, mimeType: headerFields[.contentType])
        }
        har.postData = postData
        return har
    }
}

extension ArchivedResponse {
    /// Creates the response of an entry.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - isForeign: Whether another tool wrote the entry; such tools store bodies decoded, but keep the fields for
    ///     their encoding.
    package init(_ entry: HAR.Entry, isForeign: Bool) {
        let har = entry.response
        let status = HTTPResponse.Status(
            code: (0...999).contains(har.status) ? Int(har.status) : 0,
            reasonPhrase: har.reason
        )
        self.init(status: status, headerFields: HTTPFields(har.headers), body: har.content.data ?? Data())
        isPartial = entry.tape?.isPartial ?? false
        headerFields.describe(text: har.content.text, encoding: har.content.encoding)
        if har.status < 100 || har.status > 999 {
            missingBody = "there was no response"
        } else if let text = har.content.text {
            if har.content.data == nil { missingBody = "its base64, of \(text.utf8.count) characters, is damaged" }
        } else if let comment = har.content.comment {
            missingBody = comment
        } else if har.content.size > 0 {
            missingBody = "the archive has only its length, \(har.content.size) bytes"
        }
        guard isForeign, !body.isEmpty else { return }
        // Browsers store bodies decoded, but keep the original header fields.
        headerFields[.contentEncoding] = nil
        headerFields[.transferEncoding] = nil
        if headerFields.contains(.contentLength) { headerFields[.contentLength] = "\(body.count)" }
    }

    fileprivate func har(redacting redaction: Redaction?) -> HAR.Response {
        var har = HAR.Response()
        har.status = Int64(status.code)
        har.statusText = status.reasonPhrase
        har.headers = headerFields.har(redacting: redaction)
        har.cookies = headerFields[values: .setCookie].compactMap { HAR.Cookie(setCookie: $0) }
        har.redirectURL = status.kind == .redirection ? headerFields[.location] ?? "" : ""
        har.content.size = Int64(body.count)
        har.content.mimeType = headerFields[.contentType] ?? ""
        if let missingBody {
            har.content.comment = missingBody
        } else if !body.isEmpty {
            (har.content.text, har.content.encoding) = HAR.encoded(body, mimeType: headerFields[.contentType])
        }
        har.bodySize = har.content.size
        return har
    }
}

extension HAR.Response {
    /// The reason phrase; empty if it is invalid, which a status line permits.
    fileprivate var reason: String {
        HTTPField.isValidValue(statusText) ? statusText : ""
    }
}

extension HTTPFields {
    /// Creates header fields from an archive without invalid ones, such as the HTTP/2 pseudo-header fields.
    fileprivate init(_ fields: [HAR.Field]) {
        self.init()
        for field in fields {
            guard let name = HTTPField.Name(field.name), HTTPField.isValidValue(field.value) else { continue }
            append(HTTPField(name: name, value: field.value))
        }
    }

    /// Updates the charset of Content-Type, because the bytes of a text in an archive are UTF-8.
    fileprivate mutating func describe(text: String?, encoding: String?) {
        guard let contentType = self[.contentType] else { return }
        let described = HAR.contentType(contentType, ofText: text, encoding: encoding)
        if described != contentType { self[.contentType] = described }
    }

    fileprivate func har(redacting redaction: Redaction?) -> [HAR.Field] {
        map { field in
            // A field marked as sensitive is always redacted, but its name and value alone do not contain that mark.
            let isRedacted = redaction?.redacts(field) ?? false
            return HAR.Field(name: field.name.rawName, value: isRedacted ? Redaction.placeholder : field.value)
        }
    }
}
