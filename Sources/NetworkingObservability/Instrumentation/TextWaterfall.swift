import NetworkingCore

/// Formats rows of text with a bar each, from the start to the end of an operation.
package enum TextWaterfall {
    package struct Row {
        let title: String
        let offset: Duration
        let duration: Duration
        let note: String

        package init(title: String, offset: Duration, duration: Duration, note: String = "") {
            self.title = title
            self.offset = offset
            self.duration = duration
            self.note = note
        }

        var end: Duration {
            offset + duration
        }
    }

    /// Returns the calls of a session as text, with their number, up to the end of the last one.
    package static func text(for calls: [Row], width: Int) -> String {
        let whole = calls.map(\.end).max() ?? .zero
        let headline = "\(calls.count) call\(calls.count == 1 ? "" : "s") in \(whole.milliseconds)"
        return ([headline] + lines(for: calls, of: whole, width: width)).joined(separator: "\n")
    }

    /// The maximum length of a path with its query; a longer one leaves too little room for the bars.
    private static let maximumPlaceLength = 60

    /// Shortens a path and query in the middle, because calls often differ only at the end.
    package static func shortened(_ place: String) -> String {
        guard place.count > maximumPlaceLength else { return place }
        let half = (maximumPlaceLength - 1) / 2
        return "\(place.prefix(maximumPlaceLength - 1 - half))…\(place.suffix(half))"
    }

    /// Returns a line for each row.
    static func lines(for rows: [Row], of whole: Duration, width: Int) -> [String] {
        let margin = rows.map(\.title.count).max() ?? 0
        return rows.map { row in
            let title = row.title + String(repeating: " ", count: margin - row.title.count)
            let line = "\(title)  \(bar(for: row, of: whole, width: width))  \(row.duration.milliseconds)"
            return row.note.isEmpty ? line : "\(line)  \(row.note)"
        }
    }

    /// Returns a bar as wide as a row's share of the total, with at least one column.
    private static func bar(for row: Row, of whole: Duration, width: Int) -> String {
        guard whole > .zero else { return String(repeating: " ", count: width) }
        func column(_ moment: Duration) -> Double {
            min(max(moment / whole, 0), 1) * Double(width)
        }
        let start = min(width - 1, Int(column(row.offset).rounded(.down)))
        let end = Int(column(row.end).rounded())
        let length = max(1, min(width, end) - start)
        return String(repeating: " ", count: start) + String(repeating: "█", count: length)
            + String(repeating: " ", count: width - start - length)
    }
}
