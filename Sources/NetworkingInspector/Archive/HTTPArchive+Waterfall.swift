import FoundationForNetworking
import NetworkingCore
import NetworkingObservability

extension HTTPArchive {
    /// Returns the calls as text: a line for each, with a bar from its start to its end, and its outcome.
    ///
    /// ```
    /// 3 calls in 92.4 ms
    ///   POST /login    ████████████                              21.0 ms  200
    ///   GET /me                    ████                           8.3 ms  200, fresh
    ///   GET /users?page=2          ██████████████████████████    55.9 ms  200, 2 attempts
    /// ```
    ///
    /// Queries are redacted, and long paths are shortened in the middle.
    ///
    /// - Parameter width: The width of the bars, in columns.
    /// - Returns: The lines.
    /// - Precondition: `width` is greater than zero.
    public func waterfall(width: Int = 48) -> String {
        precondition(width > 0, "width must be greater than zero (is \(width))")
        let calls = har.log.entries
            .compactMap { entry in
                HAR.date(of: entry.call?.summary?.startedDateTime ?? entry.startedDateTime).map { (entry, $0) }
            }
            // The first entry of each call has its summary and stands for the call.
            .filter { $0.0.call == nil || $0.0.call?.summary != nil }
        guard let start = calls.map(\.1).min() else { return "no calls" }
        // A host that all calls share is omitted.
        let hasHosts = Set(calls.map(\.0.target.host)).count > 1
        let rows = calls.map { entry, date in
            TextWaterfall.Row(
                title: "  \(entry.name(withHost: hasHosts))",
                offset: .seconds(date.timeIntervalSince(start)),
                duration: Duration(milliseconds: entry.call?.summary?.time ?? entry.time),
                note: entry.outcome
            )
        }
        return TextWaterfall.text(for: rows, width: width)
    }
}

extension HAR.Entry {
    /// The host, and the path with its query, redacted like the whole archive.
    fileprivate var target: (host: Substring, path: Substring) {
        let url = call?.summary?.url ?? request.url
        let rest = url.utf8.firstRange(of: "://".utf8).map { url[$0.upperBound...] } ?? url[...]
        let host = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let path = rest[host.endIndex...].prefix { $0 != "#" }
        return (host, path.first == "/" ? path : "/\(path)")
    }

    fileprivate func name(withHost hasHost: Bool) -> String {
        let (host, path) = target
        let place = "\(hasHost ? host : "")\(path)".replacing("%3Credacted%3E", with: Redaction.placeholder)
        return PrintableText.singleLine("\(call?.summary?.method ?? request.method) \(TextWaterfall.shortened(place))")
    }

    fileprivate var outcome: String {
        guard let summary = call?.summary else {
            return PrintableText.singleLine(
                response.status > 0 ? "\(response.status)" : error.map(\.kind) ?? "no response"
            )
        }
        var parts: [String] = []
        switch summary.state {
        case .pending: parts.append("in progress")
        case .response: parts.append("\(summary.status ?? 0)")
        case .failure:
            parts.append(summary.error.flatMap { $0.kind == "failed" ? nil : "failed (\($0.kind))" } ?? "failed")
        case .cancelled: parts.append("cancelled")
        }
        // A redirect's hop is an exchange too, but not an attempt.
        let attempts = summary.attempts - summary.redirects
        if attempts > 1 { parts.append("\(attempts) attempts") }
        if summary.redirects > 0 { parts.append("\(summary.redirects) redirect\(summary.redirects == 1 ? "" : "s")") }
        if let cache = summary.cache, !["", "missed", "bypassed"].contains(cache) { parts.append(cache) }
        if summary.isShared == true { parts.append("shared") }
        return PrintableText.singleLine(parts.joined(separator: ", "))
    }
}

extension Duration {
    /// Creates a duration, rounded to the microsecond: truncating a Double slightly below the exact value would lose a
    /// tenth of a millisecond.
    fileprivate init(milliseconds: Double) {
        self = .microseconds((milliseconds * 1_000).rounded())
    }
}
