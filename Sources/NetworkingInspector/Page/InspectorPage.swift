public import FoundationForNetworking
import HTTPTypes
import NetworkingCore

/// The page that shows an archive, as a report or live.
struct InspectorPage {
    enum Mode: String {
        case report, live
    }

    let title: String
    let mode: Mode
    let har: HAR

    /// The complete page.
    func html() throws -> Data {
        let nonce = RandomToken.make()
        let values: [String: [UInt8]] = [
            "title": Self.escaped(title),
            "mode": Array(mode.rawValue.utf8),
            "nonce": Array(nonce.utf8),
            "policy": Array(policy(nonce).utf8),
            "style": PackageResources.inspector_css,
            "script": PackageResources.inspector_js,
            "data": Self.embeddable(try Self.json(har)),
        ]
        return Self.fill(PackageResources.inspector_html, with: values)
    }

    /// Returns the content security policy of the page.
    ///
    /// The page may run this script, show this style and embedded images, and contact its own server. A body that
    /// breaks out of its element is therefore harmless.
    private func policy(_ nonce: String) -> String {
        var rules = [
            "default-src 'none'", "style-src 'nonce-\(nonce)'", "script-src 'nonce-\(nonce)'", "img-src data:",
            "base-uri 'none'", "form-action 'none'",
        ]
        if mode == .live { rules.append("connect-src 'self'") }
        return rules.joined(separator: "; ")
    }

    /// Encodes the data of a page as JSON.
    static func json(_ value: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        return try encoder.encode(value)
    }

    /// Replaces the placeholders of a template, `{{name}}`, with values; the values themselves are not expanded.
    static func fill(_ template: [UInt8], with values: [String: [UInt8]]) -> Data {
        var page = Data()
        var rest = template[...]
        while let opening = rest.firstRange(of: "{{".utf8),
            let closing = rest[opening.upperBound...].firstRange(of: "}}".utf8)
        {
            page.append(contentsOf: rest[..<opening.lowerBound])
            let name = String(decoding: rest[opening.upperBound..<closing.lowerBound], as: UTF8.self)
            page.append(contentsOf: values[name] ?? [])
            rest = rest[closing.upperBound...]
        }
        page.append(contentsOf: rest)
        return page
    }

    /// Escapes text for the content of an element or an attribute.
    ///
    /// It works on bytes: a bracket followed by a combining mark is a different character in Swift, but still a bracket
    /// to a browser.
    static func escaped(_ text: String) -> [UInt8] {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "&"): bytes += "&amp;".utf8
            case UInt8(ascii: "<"): bytes += "&lt;".utf8
            case UInt8(ascii: ">"): bytes += "&gt;".utf8
            case UInt8(ascii: "\""): bytes += "&quot;".utf8
            case UInt8(ascii: "'"): bytes += "&#39;".utf8
            default: bytes.append(byte)
            }
        }
        return bytes
    }

    /// Escapes JSON for a script element, so that nothing in it ends the element.
    static func embeddable(_ json: Data) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(json.count + json.count / 64)
        for part in json.split(separator: UInt8(ascii: "<"), omittingEmptySubsequences: false) {
            if !bytes.isEmpty { bytes.append(contentsOf: "\\u003c".utf8) }
            bytes.append(contentsOf: part)
        }
        return bytes
    }
}

extension HTTPArchive {
    /// Returns the archive as a page for a browser: a single HTML file.
    ///
    /// - Parameter title: The title of the page; `nil` for the title of the archive.
    /// - Returns: The page, in UTF-8.
    /// - Throws: ``HTTPArchiveError`` if the page cannot be created.
    public func report(title: String? = nil) throws(HTTPArchiveError) -> Data {
        let title = title ?? har.log.pages.first.map(\.title).flatMap { $0.isEmpty ? nil : $0 } ?? "Network"
        let page = InspectorPage(title: title, mode: .report, har: har.withCommands)
        do {
            return try page.html()
        } catch {
            throw HTTPArchiveError(reason: "The report could not be created from the archive.")
        }
    }

    /// Writes a page for a browser, into a file that only this user may read.
    ///
    /// The page is a single file and needs no network. It shows all calls with their attempts, waits and bodies, and
    /// offers filters and search.
    ///
    /// - Parameters:
    ///   - url: The file; an existing file is replaced atomically.
    ///   - title: The title of the page; `nil` for the title of the archive.
    /// - Throws: ``HTTPArchiveError`` if the file cannot be written.
    public func writeReport(to url: URL, title: String? = nil) throws(HTTPArchiveError) {
        try Self.write(try report(title: title), to: url)
    }
}

extension HAR {
    /// The archive with a command for each request, as pages show it.
    var withCommands: HAR {
        var har = self
        har.log.entries = har.log.entries.map(\.withCommand)
        return har
    }
}

extension HAR.Entry {
    var withCommand: HAR.Entry {
        var entry = self
        entry.curl = request.command
        return entry
    }
}

extension HAR.Request {
    /// The request as a shell command, built from its redacted fields and never copied from a file.
    var command: String? {
        guard let url = URL(string: url), let method = HTTPRequest.Method(method) else { return nil }
        var request = HTTPRequestData(method: method, url: url)
        for field in headers {
            guard let name = HTTPField.Name(field.name), !Self.isTransports(name) else { continue }
            request.headerFields.append(HTTPField(name: name, value: field.value))
        }
        if let data = postData?.data {
            request.body = .data(data, contentType: postData?.mimeType ?? "")
        }
        // The fields of the archive are already redacted.
        let command = request.curl(redaction: nil)
        guard let postData, request.body == nil, postData.comment != nil || postData.params != nil else {
            return command
        }
        return "# The body is not here: add it with --data-binary @file, or its parts with --form.\n\(command)"
    }

    /// Whether curl sets a field itself.
    private static func isTransports(_ name: HTTPField.Name) -> Bool {
        name == .contentLength || name.canonicalName == "host"
    }
}
