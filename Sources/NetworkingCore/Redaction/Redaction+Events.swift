#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// A line of a stream of server-sent events, which ends with CR, LF or both, and with no other character.
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

    /// What it adds to the data of its event; nil for a line with anything else.
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
    /// What the data of an event is.
    private enum EventData {
        case json(String, hasHidden: Bool)
        case text
        /// Perhaps the beginning of a document whose end did not come: nobody knows what is in it.
        case unreadable
    }

    private func eventData(_ lines: [ArraySlice<UInt8>]) -> EventData {
        let document = Array(lines.joined(separator: [10]))
        if let json = JSONRedactor.redact(document, isHidden: hidesBodyField) {
            return .json(json.text, hasHidden: json.hasHidden)
        }
        // Only objects name what they have: a bare [DONE], with which many streams end, hides nothing.
        let brackets = [UInt8(ascii: "{"), UInt8(ascii: "[")]
        let mayBeJSON = lines.contains { line in
            line.first { $0 != 32 && $0 != 9 }.map(brackets.contains) ?? false
        }
        return mayBeJSON && document.contains(brackets[0]) ? .unreadable : .text
    }

    /// Server-sent events for a log, each with its data, which is often JSON.
    func events(_ text: String, isPretty: Bool) -> String {
        var shown: [String] = []
        var data: [ArraySlice<UInt8>] = []
        // Where the data of an event began among its other fields.
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
                // Only an empty line ends an event: data may go on after another field.
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
        case .text: PrintableText.escapedLine(String(decoding: bytes, as: UTF8.self))
        case .unreadable: "\(bytes.count) bytes"
        }
    }

    /// Server-sent events that can still be sent: what is hidden in their data replaced, all else to the byte.
    ///
    /// Returns nil where there is data that may have what is hidden, and cannot be read.
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
        // With the mark of the byte order and in the charset that it has, where it can be left as it is.
        return shown.elementsEqual(text.utf8) ? data : Data(shown)
    }

    private func sendable(_ event: [EventLine]) -> [UInt8]? {
        // Some servers write an error between the events, as JSON and nothing else.
        for line in event where line.data == nil {
            switch eventData([line.content]) {
            case .json(_, hasHidden: true), .unreadable: return nil
            case .json, .text: break
            }
        }
        let asItIs = event.flatMap { $0.content + $0.end }
        let values = event.compactMap(\.data)
        guard !values.isEmpty, let last = event.lastIndex(where: { $0.data != nil }) else { return asItIs }
        switch eventData(values) {
        case .unreadable: return nil
        case .text, .json(_, hasHidden: false): return asItIs
        case .json(let json, hasHidden: true):
            // A document may be on several lines; what it has become is on one.
            return event.indices.flatMap { index -> [UInt8] in
                let line = event[index]
                if line.data == nil { return Array(line.content + line.end) }
                return index == last ? Array("data: \(json)".utf8) + line.end : []
            }
        }
    }
}

extension Redaction {
    /// What is whole of the beginning of a body that did not come to its end: events and lines of JSON that have ended.
    ///
    /// Half of one is of no use to anybody, and may be the half of what is hidden.
    ///
    /// - Parameters:
    ///   - body: The beginning.
    ///   - contentType: Its media type.
    /// - Returns: The part; all of what has no such parts. Nil for the beginning of a JSON document, which is none.
    package static func wholePart(of body: Data, contentType: String?) -> Data? {
        let bytes = Array(body)
        switch BodyType(contentType).shape {
        case .events:
            let lines = EventLine.lines(of: bytes)
            let end = lines.last { $0.content.isEmpty }?.end.endIndex ?? 0
            return Data(bytes[..<end])
        case .jsonLines:
            return Data(bytes[..<(bytes.lastIndex(of: 10).map { $0 + 1 } ?? 0)])
        case .json, .text, .bytes:
            let first = bytes.first { $0 > 32 }
            let mayBeJSON = first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
            return mayBeJSON && JSONTokenizer.fault(in: bytes) != nil ? nil : body
        case .form, .multipart:
            return body
        }
    }
}
