import FoundationForNetworking
import HTTPTypes
import NetworkingCore
import NetworkingHAR

extension Cassette.Interaction {
    /// Creates an interaction from an archive entry.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - isForeign: Whether another tool wrote the entry; such tools store bodies decoded, but keep the fields for
    ///     their encoding.
    init(_ entry: HAR.Entry, isForeign: Bool) {
        request = Request(entry.request)
        response = Response(entry.response, isForeign: isForeign)
        // An entry without a date counts as very old.
        date = HAR.date(of: entry.startedDateTime) ?? Date(timeIntervalSince1970: 0)
        duration = .milliseconds(Int64(max(0, entry.time).rounded()))
        user = entry.tape?.user
        response.isPartial = entry.tape?.isPartial ?? false
    }

    /// Creates the archive entry of the interaction.
    ///
    /// - Parameter redaction: The redaction to apply; nil if everything is already redacted.
    /// - Returns: The entry.
    func entry(redacting redaction: Redaction?) -> HAR.Entry {
        var timings = HAR.Timings()
        timings.wait = duration / .milliseconds(1)
        var entry = HAR.Entry(
            startedDateTime: HAR.timestamp(date),
            time: timings.wait,
            request: request.har(redacting: redaction),
            response: response.har(redacting: redaction),
            timings: timings
        )
        if let redaction {
            entry.redact(redaction)
            entry.tellNewLength(insteadOf: response.body.count)
        }
        if user != nil || response.isPartial {
            entry.tape = HAR.Tape(
                principal: principal.map { Int64($0) },
                principalName: principalName,
                isPartial: response.isPartial
            )
        }
        return entry
    }
}

extension HAR.Entry {
    /// Updates the length fields after part of the body was redacted.
    fileprivate mutating func tellNewLength(insteadOf count: Int) {
        guard let data = response.content.data, data.count != count else { return }
        response.content.size = Int64(data.count)
        response.bodySize = response.bodySize == -1 ? -1 : Int64(data.count)
        for index in response.headers.indices where response.headers[index].name.lowercased() == "content-length" {
            response.headers[index].value = "\(data.count)"
        }
    }
}

extension Cassette.Interaction.Request {
    init(_ har: HAR.Request) {
        // An invalid HTTP method never matches a request.
        method = HTTPRequest.Method(har.method) ?? HTTPRequest.Method("UNKNOWN")!
        url = har.url
        headerFields = HTTPFields(har.headers)
        headerFields.describe(text: har.postData?.text, encoding: har.postData?.encoding)
        body = har.postData?.data ?? Data()
        if let postData = har.postData, postData.data == nil, postData.params != nil || postData.comment != nil {
            missingBody = postData.comment ?? "the archive has only its parts"
        }
    }

    /// The request as recorded, with its secrets redacted.
    func redacted(by redaction: Redaction) -> Cassette.Interaction.Request {
        var har = har(redacting: redaction)
        har.redact(redaction)
        return Cassette.Interaction.Request(har)
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

extension Cassette.Interaction.Response {
    init(_ har: HAR.Response, isForeign: Bool) {
        status = HTTPResponse.Status(
            code: (0...999).contains(har.status) ? Int(har.status) : 0,
            reasonPhrase: har.reason
        )
        headerFields = HTTPFields(har.headers)
        headerFields.describe(text: har.content.text, encoding: har.content.encoding)
        body = har.content.data ?? Data()
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
