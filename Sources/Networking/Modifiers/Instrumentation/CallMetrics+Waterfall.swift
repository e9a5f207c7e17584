extension CallMetrics {
    /// The call as text: a line for each part that took time, with a bar from its beginning to its end.
    ///
    /// ```
    /// GET https://api.example.com/users/42 → 200 in 61.3 ms, 2 attempts, 187 bytes in
    ///   attempt 1       ██████                                      9.1 ms
    ///   wait (backoff)        ███████████████████████████          40.2 ms
    ///   attempt 2                                        ████████  12.0 ms
    /// ```
    ///
    /// Modifiers show where they took a part of the time themselves. Phases show where a transport told more than one.
    ///
    /// - Parameter width: How many columns the bars have.
    /// - Returns: The lines.
    /// - Precondition: `width` is greater than zero.
    public func waterfall(width: Int = 48) -> String {
        precondition(width > 0, "width must be greater than zero (is \(width))")
        let rows = rows
        let margin = rows.map { $0.title.count }.max() ?? 0
        let lines = rows.map { row in
            let title = row.title + String(repeating: " ", count: margin - row.title.count)
            return "\(title)  \(bar(of: row.span, width))  \(row.span.duration.milliseconds)"
        }
        return ([headline] + lines).joined(separator: "\n")
    }

    private var headline: String {
        var parts = ["\(self)"]
        if attempts != 1 { parts.append("\(attempts) attempts") }
        if sentBytes > 0 { parts.append("\(sentBytes) bytes out") }
        if receivedBytes > 0 { parts.append("\(receivedBytes) bytes in") }
        switch cache {
        case .cacheHit(let hit)?: parts.append("from the cache (\(hit))")
        case .cacheBypass(let reason)?: parts.append("not cached (\(reason))")
        default: break
        }
        if isShared { parts.append("shared") }
        return parts.joined(separator: ", ")
    }

    private struct Row {
        let title: String
        let span: Span
    }

    private var rows: [Row] {
        let spans = spans
        let own = Self.ownDurations(of: spans)
        var depths = [Int](repeating: 0, count: spans.count)
        var rows: [Row] = []
        for span in spans.dropFirst() {
            let depth = depths[span.parent ?? 0]
            let isShown = isWorthARow(span, own: own[span.id], in: spans)
            depths[span.id] = isShown ? depth + 1 : depth
            guard isShown else { continue }
            rows.append(Row(title: String(repeating: "  ", count: depth + 1) + span.kind.description, span: span))
        }
        return rows
    }

    private func isWorthARow(_ span: Span, own: Duration, in spans: [Span]) -> Bool {
        switch span.kind {
        case .call: false
        case .wait, .attempt: true
        // A hundredth of the call: less is no column of the bar either.
        case .modifier: own * 100 >= duration && own > .zero
        case .readingBody, .connecting, .firstByte, .body:
            spans.count { $0.parent == span.parent && $0.kind.isPhase && $0.duration > .zero } > 1
        }
    }

    /// As wide as its share of the call, at least one column.
    private func bar(of span: Span, _ width: Int) -> String {
        guard duration > .zero else { return String(repeating: " ", count: width) }
        let start = min(width - 1, Int((span.offset / duration * Double(width)).rounded(.down)))
        let end = Int(((span.offset + span.duration) / duration * Double(width)).rounded())
        let length = max(1, min(width, end) - start)
        return String(repeating: " ", count: start) + String(repeating: "█", count: length)
            + String(repeating: " ", count: width - start - length)
    }
}
