import NetworkingCore

extension CallMetrics {
    /// Returns the call as text: a line for each part that took time, with a bar from its start to its end.
    ///
    /// ```
    /// GET https://api.example.com/users/42 → 200 in 61.3 ms, 2 attempts, 187 bytes in
    ///   attempt 1       ██████                                      9.1 ms
    ///   wait (backoff)        ███████████████████████████          40.2 ms
    ///   attempt 2                                        ████████  12.0 ms
    /// ```
    ///
    /// A modifier has a line if its own time is at least a hundredth of the total. Phases have lines if a transport
    /// reported more than one.
    ///
    /// - Parameter width: The number of columns for the bars.
    /// - Returns: The lines.
    /// - Precondition: `width` is greater than zero.
    public func waterfall(width: Int = 48) -> String {
        precondition(width > 0, "width must be greater than zero (is \(width))")
        let rows = rows
        return ([headline] + TextWaterfall.lines(for: rows, of: duration, width: width)).joined(separator: "\n")
    }

    private var headline: String {
        var parts = ["\(self)"]
        if attempts > 1 { parts.append("\(attempts) attempts") }
        if sentBytes > 0 { parts.append("\(sentBytes) bytes out") }
        if receivedBytes > 0 { parts.append("\(receivedBytes) bytes in") }
        let detail = cache?.detail.map { " (\($0))" } ?? ""
        switch cache?.kind {
        case .cacheHit?: parts.append("from the cache\(detail)")
        case .cacheBypass?: parts.append("not cached\(detail)")
        default: break
        }
        if isShared { parts.append("shared") }
        return parts.joined(separator: ", ")
    }

    private var rows: [TextWaterfall.Row] {
        let spans = spans
        let own = Self.ownDurations(of: spans)
        var depths = [Int](repeating: 0, count: spans.count)
        var rows: [TextWaterfall.Row] = []
        for span in spans.dropFirst() {
            let depth = depths[span.parent ?? 0]
            let isShown = isWorthARow(span, own: own[span.id], in: spans)
            depths[span.id] = isShown ? depth + 1 : depth
            guard isShown else { continue }
            let title = String(repeating: "  ", count: depth + 1) + span.kind.description
            rows.append(TextWaterfall.Row(title: title, offset: span.offset, duration: span.duration))
        }
        return rows
    }

    private func isWorthARow(_ span: Span, own: Duration, in spans: [Span]) -> Bool {
        switch span.kind {
        case .call: false
        case .wait, .attempt: true
        // A hundredth of the call; less would not fill a column of the bar.
        case .modifier: own * 100 >= duration && own > .zero
        case .readingBody, .connecting, .firstByte, .body:
            spans.count { $0.parent == span.parent && $0.kind.isPhase && $0.duration > .zero } > 1
        }
    }
}

extension SessionInstrument {
    /// Returns the last calls as text: a line for each, with a bar from its start to its end.
    ///
    /// ```
    /// 3 calls in 92.4 ms
    ///   POST /login    ████████████                              21.0 ms  200
    ///   GET /me                    ████                           8.3 ms  200
    ///   GET /users?page=2          ██████████████████████████    55.9 ms  200, 2 attempts
    /// ```
    ///
    /// Queries are redacted, and long paths are shortened in the middle.
    ///
    /// - Parameter width: The number of columns for the bars.
    /// - Returns: The lines.
    /// - Precondition: `width` is greater than zero.
    public func waterfall(width: Int = 48) -> String {
        precondition(width > 0, "width must be greater than zero (is \(width))")
        // The calls are stored in the order of their end.
        let calls = recent.sorted { $0.log.start < $1.log.start }
        guard let start = calls.first?.log.start else { return "no calls" }
        let rows = calls.map { call in
            TextWaterfall.Row(
                title: "  \(call.request.method) \(call.shownTarget)",
                offset: .nanoseconds(call.log.start - start),
                duration: call.duration,
                note: call.summary
            )
        }
        return TextWaterfall.text(for: rows, width: width)
    }
}

extension CallMetrics {
    /// The redacted path and query; the pages of a list differ only in their query.
    fileprivate var shownTarget: String {
        let redaction = Redaction.standard.redactingSecrets(of: request)
        return TextWaterfall.shortened(PrintableText.singleLine(redaction.target(request.closedTarget)))
    }

    fileprivate var summary: String {
        var parts = ["\(outcome)"]
        if attempts > 1 { parts.append("\(attempts) attempts") }
        if cache?.kind == .cacheHit { parts.append("cached") }
        if isShared { parts.append("shared") }
        return parts.joined(separator: ", ")
    }
}
