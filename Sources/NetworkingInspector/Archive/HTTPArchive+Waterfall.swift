import Networking
import NetworkingHAR

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension HTTPArchive {
    /// The calls as text: a line for each, with a bar from its beginning to its end, and what came of it.
    ///
    /// ```
    /// 3 calls in 92.4 ms
    ///   POST /login    ████████████                              21.0 ms  200
    ///   GET /me                    ████                           8.3 ms  200, fresh
    ///   GET /users/42              ██████████████████████████    55.9 ms  200, 2 attempts
    /// ```
    ///
    /// - Parameter width: How many columns the bars have.
    /// - Returns: The lines.
    /// - Precondition: `width` is greater than zero.
    public func waterfall(width: Int = 48) -> String {
        precondition(width > 0, "width must be greater than zero (is \(width))")
        let calls = har.log.entries
            .compactMap { entry in
                HAR.date(of: entry.call?.summary?.startedDateTime ?? entry.startedDateTime).map { (entry, $0) }
            }
            // Of the entries of a call, one tells of all.
            .filter { $0.0.call == nil || $0.0.call?.summary != nil }
        guard let start = calls.map(\.1).min() else { return "no calls" }
        let rows = calls.map { entry, date in
            TextWaterfall.Row(
                title: "  \(entry.name)",
                offset: .seconds(date.timeIntervalSince(start)),
                duration: .milliseconds(entry.call?.summary?.time ?? entry.time),
                note: entry.outcome
            )
        }
        let whole = rows.map(\.end).max() ?? .zero
        return TextWaterfall.text(for: rows, of: whole, width: width)
    }
}

extension HAR.Entry {
    /// More than that of a path makes the bars too short to read.
    private static let longestPath = 60

    /// Method and path; without the query, which seldom tells calls apart.
    fileprivate var name: String {
        let method = call?.summary?.method ?? request.method
        let url = call?.summary?.url ?? request.url
        let rest = url.utf8.firstRange(of: "://".utf8).map { url[$0.upperBound...] } ?? url[...]
        let path = rest.drop { $0 != "/" }.prefix { $0 != "?" && $0 != "#" }
        let shown =
            path.count > Self.longestPath ? "\(path.prefix(Self.longestPath - 1))…" : "\(path.isEmpty ? "/" : path)"
        return Redaction.singleLine("\(method) \(shown)")
    }

    fileprivate var outcome: String {
        guard let summary = call?.summary else {
            return Redaction.singleLine(response.status > 0 ? "\(response.status)" : error.map(\.kind) ?? "no response")
        }
        var parts: [String] = []
        switch summary.state {
        case .pending: parts.append("under way")
        case .response: parts.append("\(summary.status ?? 0)")
        case .failure: parts.append("failed (\(summary.error?.kind ?? "unknown"))")
        case .cancelled: parts.append("cancelled")
        }
        if summary.attempts > 1 { parts.append("\(summary.attempts) attempts") }
        if let cache = summary.cache, cache != "missed", cache != "bypassed" { parts.append(cache) }
        if summary.isShared == true { parts.append("shared") }
        return Redaction.singleLine(parts.joined(separator: ", "))
    }
}
