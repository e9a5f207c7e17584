import FoundationForNetworking
import HTTPTypes
import NetworkingCore

extension HAR {
    /// Returns the archive redacted, for archives written by other tools.
    ///
    /// Applying the same redaction again changes nothing.
    func redacted(by redaction: Redaction) -> HAR {
        var har = self
        har.log.version = redaction.text(har.log.version)
        har.log.creator.name = redaction.text(har.log.creator.name)
        har.log.creator.version = redaction.text(har.log.creator.version)
        // Browsers use a page's URL as its title.
        for index in har.log.pages.indices {
            har.log.pages[index].title = redaction.text(har.log.pages[index].title)
            har.log.pages[index].id = redaction.text(har.log.pages[index].id)
            har.log.pages[index].startedDateTime = redaction.text(har.log.pages[index].startedDateTime)
        }
        for index in har.log.entries.indices {
            har.log.entries[index].redact(redaction)
            if let name = har.log.entries[index].tape?.principalName {
                har.log.entries[index].tape?.principalName = redaction.text(name)
            }
        }
        return har
    }
}

extension HAR.Entry {
    mutating func redact(_ redaction: Redaction) {
        request.redact(redaction)
        response.redact(redaction)
        startedDateTime = redaction.text(startedDateTime)
        serverIPAddress = serverIPAddress.map(redaction.text)
        connection = connection.map(redaction.text)
        comment = comment.map(redaction.text)
        pageref = pageref.map(redaction.text)
        error?.redact(redaction)
        guard var summary = call?.summary else { return }
        summary.method = redaction.text(summary.method)
        summary.startedDateTime = redaction.text(summary.startedDateTime)
        summary.cache = summary.cache.map(redaction.text)
        summary.url = redaction.url(summary.url)
        summary.title = summary.title.map(redaction.text)
        summary.label = redaction.text(summary.label)
        summary.cacheReason = summary.cacheReason.map(redaction.text)
        for index in summary.spans.indices {
            summary.spans[index].kind = redaction.text(summary.spans[index].kind)
            summary.spans[index].name = redaction.text(summary.spans[index].name)
        }
        for index in summary.marks.indices {
            summary.marks[index].name = redaction.text(summary.marks[index].name)
        }
        summary.error?.redact(redaction)
        summary.response?.redact(redaction)
        call?.summary = summary
    }
}

extension HAR.Failure {
    mutating func redact(_ redaction: Redaction) {
        kind = redaction.text(kind)
        reason = redaction.text(reason)
    }
}

extension HAR.Request {
    mutating func redact(_ redaction: Redaction) {
        postData?.redact(redaction)
        redactHead(redaction)
    }

    mutating func redactHead(_ redaction: Redaction) {
        method = redaction.text(method)
        httpVersion = redaction.text(httpVersion)
        url = redaction.url(url)
        headers = headers.map(redaction.field)
        // Derived from the redacted URL, because the listed items contain no more than that.
        queryString = HAR.queryItems(of: url)
        cookies = cookies.map { redaction.cookie($0, of: "cookie") }
        headers.describe(text: postData?.text, encoding: postData?.encoding)
    }
}

extension [HAR.Field] {
    /// Updates the charset of Content-Type for a body that has become text, whose bytes are UTF-8.
    fileprivate mutating func describe(text: String?, encoding: String?) {
        for index in indices where self[index].name.lowercased() == "content-type" {
            self[index].value = HAR.contentType(self[index].value, ofText: text, encoding: encoding)
        }
    }
}

extension HAR.Response {
    mutating func redact(_ redaction: Redaction) {
        content.redact(redaction.forBody(ofStatus: Int(clamping: status)))
        redactHead(redaction)
    }

    mutating func redactHead(_ redaction: Redaction) {
        httpVersion = redaction.text(httpVersion)
        statusText = PrintableText.singleLine(redaction.redactingValues(in: statusText))
        headers = headers.map(redaction.field)
        redirectURL = redaction.url(redirectURL)
        cookies = cookies.map { redaction.cookie($0, of: "set-cookie") }
        headers.describe(text: content.text, encoding: content.encoding)
    }
}

extension HAR.Content {
    fileprivate mutating func redact(_ redaction: Redaction) {
        comment = comment.map(redaction.text)
        // The original type decides how the body is read.
        let (original, mimeType) = (mimeType, redaction.text(mimeType))
        defer { self.mimeType = mimeType }
        guard text != nil else {
            encoding = nil
            return
        }
        let (size, comment) = (size, comment)
        guard let data else {
            // A body that cannot be decoded may contain secrets.
            (text, encoding, self.comment) = (nil, nil, HAR.redactedBody)
            return
        }
        self = HAR.Content(data, mimeType: encoding == nil ? HAR.withoutCharset(original) : original, redaction)
        self.size = size
        self.comment = self.comment ?? comment
    }
}

extension HAR.PostData {
    fileprivate mutating func redact(_ redaction: Redaction) {
        params = params?.map(redaction.part)
        comment = comment.map(redaction.text)
        let mimeType = redaction.text(mimeType)
        defer { self.mimeType = mimeType }
        guard text != nil else {
            encoding = nil
            return
        }
        guard let data else {
            (text, encoding, comment) = (nil, nil, HAR.redactedBody)
            return
        }
        guard !data.isEmpty else {
            (text, encoding) = (nil, nil)
            return
        }
        if encoding == nil { self.mimeType = HAR.withoutCharset(self.mimeType) }
        set(data, redaction)
    }
}

extension HAR {
    /// The values of each item of a URL's query, decoded.
    package static func query(of url: String) -> [String: [String]] {
        Dictionary(grouping: queryItems(of: url), by: \.name).mapValues { $0.map(\.value) }
    }

    /// The items of a URL's query, decoded.
    static func queryItems(of url: String) -> [Field] {
        guard let mark = url.utf8.firstIndex(of: UInt8(ascii: "?")) else { return [] }
        let query = url.utf8[mark...].dropFirst().prefix { $0 != UInt8(ascii: "#") }
        return query.split(separator: UInt8(ascii: "&"))
            .map { part in
                let equals = part.firstIndex(of: UInt8(ascii: "=")) ?? part.endIndex
                return Field(
                    name: PercentEncoding.decode(Substring(part[..<equals])),
                    value: PercentEncoding.decode(Substring(part[equals...].dropFirst()))
                )
            }
    }
}

extension Redaction {
    /// Redacts a text, which may be a URL or contain one.
    func text(_ text: String) -> String {
        text.utf8.contains(UInt8(ascii: "=")) ? reference(text) : redactingValues(in: text)
    }

    /// Redacts a part of a form.
    func part(_ part: HAR.Part) -> HAR.Part {
        var shown = part
        shown.name = redactingValues(in: part.name)
        shown.fileName = part.fileName.map(redactingValues)
        shown.contentType = part.contentType.map(text)
        shown.value = part.value.map { value in
            if redactsBodyField(part.name) || value == Self.placeholder { return Self.placeholder }
            let shown = body(Data(value.utf8), contentType: part.contentType ?? "text/plain")
            return shown.flatMap { String(validating: $0, as: UTF8.self) } ?? Self.placeholder
        }
        return shown
    }

    /// Redacts a URL so that it stays valid: the placeholder is encoded.
    func url(_ url: String) -> String {
        reference(url).replacing("<", with: "%3C").replacing(">", with: "%3E")
    }

    /// Redacts a header field.
    func field(_ field: HAR.Field) -> HAR.Field {
        guard field.value != Redaction.placeholder else { return field }
        var shown = HAR.Field(name: redactingValues(in: field.name), value: field.value)
        guard let name = HTTPField.Name(field.name) else {
            // HTTP/2 sends the request line and the status as pseudo-header fields, which browsers list too.
            shown.value =
                switch field.name {
                case ":path": target(field.value)
                case ":authority": authority(field.value)
                case ":method", ":scheme", ":status": redactingValues(in: field.value)
                default: Redaction.placeholder
                }
            return shown
        }
        let field = HTTPField(name: name, value: field.value)
        shown.value = redacts(field) ? Redaction.placeholder : PrintableText.singleLine(value(of: field))
        return shown
    }

    /// Redacts a cookie, according to the redaction of its field.
    func cookie(_ cookie: HAR.Cookie, of field: String) -> HAR.Cookie {
        let isRedacted = HTTPField.Name(field).map { redacts(HTTPField(name: $0, value: "")) } ?? true
        var shown = cookie
        shown.name = redactingValues(in: cookie.name)
        shown.value = isRedacted ? Redaction.placeholder : redactingValues(in: cookie.value)
        shown.path = cookie.path.map(text)
        shown.domain = cookie.domain.map(text)
        shown.expires = cookie.expires.map(text)
        return shown
    }
}
