import Networking

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension Redaction {
    /// A stream of server-sent events with what is hidden in their data replaced, all other lines to the byte.
    ///
    /// - Parameters:
    ///   - body: The stream.
    ///   - contentType: Its media type.
    /// - Returns: The stream; nil for what is none, and for one with data of which nobody knows what is in it.
    func eventStream(_ body: Data, contentType: String?) -> Data? {
        guard contentType?.lowercased().hasPrefix("text/event-stream") == true,
            let text = String(validating: body, as: UTF8.self)
        else { return nil }
        var shown = ""
        var event: [Substring] = []
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            guard line.isEmpty else {
                event.append(line)
                continue
            }
            guard let lines = self.event(event) else { return nil }
            shown += lines + "\n"
            event = []
        }
        guard let lines = self.event(event) else { return nil }
        shown += lines
        // The last line has ended, unless there was something behind it.
        if event.isEmpty, shown.hasSuffix("\n") { shown.removeLast() }
        return Data(hidingValues(in: shown).utf8)
    }

    /// The lines of an event, each with its end.
    private func event(_ lines: [Substring]) -> String? {
        let isData = { (line: Substring) in line == "data" || line.hasPrefix("data:") }
        let values = lines.filter(isData).map { line in line.dropFirst(line.hasPrefix("data: ") ? 6 : 5) }
        let data = values.joined(separator: "\n")
        var shown = lines[...]
        if !data.isEmpty {
            if let hidden = body(Data(data.utf8), contentType: "application/json") {
                guard let text = String(validating: hidden, as: UTF8.self) else { return nil }
                if text != data {
                    // A document may be on several lines; what it has become is on one.
                    let place = shown.firstIndex(where: isData) ?? 0
                    shown.removeAll(where: isData)
                    shown.insert("data: \(text)", at: min(place, shown.endIndex))
                }
            } else if data.hasPrefix("{") || data.hasPrefix("[") {
                return nil
            }
        }
        return shown.map { "\($0)\n" }.joined()
    }
}
