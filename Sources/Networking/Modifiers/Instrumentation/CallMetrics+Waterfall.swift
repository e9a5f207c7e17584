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
        if attempts > 1 { parts.append("\(attempts) attempts") }
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

    private func bar(of span: Span, _ width: Int) -> String {
        String(bar: span.offset, span.duration, of: duration, width: width)
    }
}

extension SessionInstrument {
    /// The last calls as text: a line for each, with a bar from its beginning to its end.
    ///
    /// ```
    /// 3 calls in 92.4 ms
    ///   POST /login    ████████████                              21.0 ms  200
    ///   GET /me                    ████                           8.3 ms  200
    ///   GET /users/42              ██████████████████████████    55.9 ms  200, 2 attempts
    /// ```
    ///
    /// - Parameter width: How many columns the bars have.
    /// - Returns: The lines.
    /// - Precondition: `width` is greater than zero.
    public func waterfall(width: Int = 48) -> String {
        precondition(width > 0, "width must be greater than zero (is \(width))")
        // They are kept in the order in which they ended.
        let calls = recent.sorted { $0.log.start < $1.log.start }
        guard let start = calls.first?.log.start, let end = calls.map(\.log.end).max() else { return "no calls" }
        let whole = Duration.nanoseconds(end - start)
        let titles = calls.map { "  \($0.request.method) \($0.shownPath)" }
        let margin = titles.map(\.count).max() ?? 0
        let lines = zip(calls, titles)
            .map { call, title in
                let bar = String(bar: .nanoseconds(call.log.start - start), call.duration, of: whole, width: width)
                let space = String(repeating: " ", count: margin - title.count)
                return "\(title)\(space)  \(bar)  \(call.duration.milliseconds)  \(call.summary)"
            }
        return (["\(calls.count) call\(calls.count == 1 ? "" : "s") in \(whole.milliseconds)"] + lines)
            .joined(separator: "\n")
    }
}

extension CallMetrics {
    /// The path without the query, in which secrets are commoner than what tells calls apart.
    fileprivate var shownPath: String {
        Redaction.singleLine(request.hidingMarkedSecrets(in: request.path ?? "/"))
    }

    fileprivate var summary: String {
        var parts = ["\(outcome)"]
        if attempts > 1 { parts.append("\(attempts) attempts") }
        if case .cacheHit? = cache { parts.append("cached") }
        if isShared { parts.append("shared") }
        return parts.joined(separator: ", ")
    }
}

extension String {
    /// A bar as wide as a part's share of the whole, at least one column.
    fileprivate init(bar offset: Duration, _ duration: Duration, of whole: Duration, width: Int) {
        guard whole > .zero else {
            self = String(repeating: " ", count: width)
            return
        }
        let start = Swift.min(width - 1, Int((offset / whole * Double(width)).rounded(.down)))
        let end = Int(((offset + duration) / whole * Double(width)).rounded())
        let length = Swift.max(1, Swift.min(width, end) - start)
        self =
            String(repeating: " ", count: start) + String(repeating: "█", count: length)
            + String(repeating: " ", count: width - start - length)
    }
}
