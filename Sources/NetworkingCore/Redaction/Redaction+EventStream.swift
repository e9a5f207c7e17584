package import FoundationForNetworking

/// A line of a stream of server-sent events, which ends only with CR, LF or both.
private struct EventLine {
    let content: ArraySlice<UInt8>
    let end: ArraySlice<UInt8>

    static func lines(of bytes: [UInt8]) -> [EventLine] {
        var lines: [EventLine] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let content = rest.prefix { $0 != 10 && $0 != 13 }
            rest = rest[content.endIndex...]
            let end = rest.prefix(rest.starts(with: [13, 10]) ? 2 : 1)
            rest = rest[end.endIndex...]
            lines.append(EventLine(content: content, end: end))
        }
        return lines
    }

    /// The value that the line adds to the data of its event; `nil` for any other line.
    var data: ArraySlice<UInt8>? {
        let name = Array("data".utf8)
        guard content.starts(with: name) else { return nil }
        let rest = content.dropFirst(name.count)
        guard let colon = rest.first else { return rest }
        guard colon == UInt8(ascii: ":") else { return nil }
        let value = rest.dropFirst()
        return value.first == 32 ? value.dropFirst() : value
    }
}

extension Redaction {
    /// The kind of an event's data.
    private enum EventData {
        case json(String, hasRedacted: Bool)
        case text([UInt8], hasRedacted: Bool)
        /// Possibly the start of a truncated document with unknown content.
        case unreadable
    }

    private func eventData(_ lines: [ArraySlice<UInt8>]) -> EventData {
        let document = Array(lines.joined(separator: [10]))
        if let json = self.document(document) {
            return .json(json.text, hasRedacted: json.hasRedacted)
        }
        // Only objects have names: a bare [DONE], with which many streams end, redacts nothing.
        let brackets = [UInt8(ascii: "{"), UInt8(ascii: "[")]
        let mayBeJSON = lines.contains { line in
            line.first { $0 != 32 && $0 != 9 }.map(brackets.contains) ?? false
        }
        if mayBeJSON && document.contains(brackets[0]) { return .unreadable }
        let redacted = FreeTextRedactor.redact(document, by: self)
        return .text(redacted ?? document, hasRedacted: redacted != nil)
    }

    /// Returns server-sent events for a log, each with its data, which is often JSON.
    func events(_ text: String, isPretty: Bool) -> String {
        var shown: [String] = []
        var data: [ArraySlice<UInt8>] = []
        // The position of the event's data among its other fields.
        var place = 0
        func flush() {
            guard !data.isEmpty else { return }
            shown.insert("data: \(self.shown(data))", at: place)
            data = []
        }
        for line in EventLine.lines(of: Array(text.utf8)) {
            if let value = line.data {
                if data.isEmpty { place = shown.count }
                data.append(value)
            } else if line.content.isEmpty {
                // Only an empty line ends an event: data may continue after another field.
                flush()
            } else {
                shown.append(self.shown([line.content]))
            }
        }
        flush()
        return shown.joined(separator: isPretty ? "\n    " : " ")
    }

    private func shown(_ lines: [ArraySlice<UInt8>]) -> String {
        let bytes = Array(lines.joined(separator: [10]))
        return switch eventData(lines) {
        case .json(let json, _): json
        case .text(let text, _): PrintableText.escapedLine(String(decoding: text, as: UTF8.self))
        case .unreadable: "\(bytes.count) bytes"
        }
    }

    /// Returns server-sent events that can still be sent: only the redacted values in their data are replaced.
    ///
    /// Returns `nil` if data that could contain redacted values cannot be parsed.
    func sendableEvents(_ data: Data, _ type: BodyType) -> Data? {
        guard let text = type.text(of: data) else { return nil }
        var shown: [UInt8] = []
        var event: [EventLine] = []
        for line in EventLine.lines(of: Array(text.utf8)) {
            event.append(line)
            guard line.content.isEmpty else { continue }
            guard let bytes = sendable(event) else { return nil }
            shown += bytes
            event = []
        }
        guard let rest = sendable(event) else { return nil }
        shown += rest
        // Unchanged text keeps its byte order mark and its charset.
        return shown.elementsEqual(text.utf8) ? data : Data(shown)
    }

    private func sendable(_ event: [EventLine]) -> [UInt8]? {
        // Some servers send an error between the events, as bare JSON.
        for line in event where line.data == nil {
            switch eventData([line.content]) {
            case .json(_, hasRedacted: true), .text(_, hasRedacted: true), .unreadable: return nil
            case .json, .text: break
            }
        }
        let asItIs = event.flatMap { $0.content + $0.end }
        let values = event.compactMap(\.data)
        guard !values.isEmpty, let last = event.lastIndex(where: { $0.data != nil }) else { return asItIs }
        switch eventData(values) {
        case .unreadable, .text(_, hasRedacted: true): return nil
        case .text, .json(_, hasRedacted: false): return asItIs
        case .json(let json, hasRedacted: true):
            // A document may be on several lines; the redacted one is on a single line.
            return event.indices.flatMap { index -> [UInt8] in
                let line = event[index]
                if line.data == nil { return Array(line.content + line.end) }
                return index == last ? Array("data: \(json)".utf8) + line.end : []
            }
        }
    }
}

extension Redaction {
    /// Returns the complete elements at the start of a truncated body: whole events or whole lines of JSON.
    ///
    /// An incomplete element is useless, and could contain part of a redacted value.
    ///
    /// - Parameters:
    ///   - body: The start of the body.
    ///   - contentType: The media type of the body.
    /// - Returns: The complete elements, or all of a body that has no such elements. `nil` for a truncated JSON
    ///   document.
    package static func completePart(of body: Data, contentType: String?) -> Data? {
        let bytes = Array(body)
        switch BodyType(contentType).shape {
        case .events:
            let lines = EventLine.lines(of: bytes)
            let end = lines.last { $0.content.isEmpty }?.end.endIndex ?? 0
            return Data(bytes[..<end])
        case .jsonLines:
            return Data(bytes[..<(bytes.lastIndex(of: 10).map { $0 + 1 } ?? 0)])
        case .json, .text, .bytes:
            return mayBeJSON(bytes) && JSONTokenizer.fault(in: bytes) != nil ? nil : body
        case .form, .multipart:
            return body
        }
    }
}
