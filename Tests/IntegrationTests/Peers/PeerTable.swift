#if TestServer && URLSession && AsyncHTTPClient && os(Linux)
import Foundation
import Synchronization

/// The results of this process as a table of Markdown: a row for each capability, and a column for each server.
///
/// The variable `PEER_TABLE` names the file that receives the table.
enum PeerTable {
    private static let results = Mutex<[String: [PeerCapability: [String: Bool]]]>([:])

    /// Adds the result of a case.
    static func record(_ peerCase: PeerCase, passes: Bool) {
        results.withLock { $0[peerCase.kind, default: [:]][peerCase.capability, default: [:]][peerCase.mark] = passes }
    }

    /// Writes the results so far, if there is a file for them.
    static func write() throws {
        guard let path = ProcessInfo.processInfo.environment["PEER_TABLE"] else { return }
        try results.withLock { text(of: $0) }.write(toFile: path, atomically: true, encoding: .utf8)
    }

    private static func text(of results: [String: [PeerCapability: [String: Bool]]]) -> String {
        let kinds = results.keys.sorted()
        var rows = [["Capability"] + kinds, ["---"] + kinds.map { _ in "---" }]
        for capability in PeerCapability.allCases {
            rows.append(["\(capability)"] + kinds.map { cell(for: results[$0]?[capability]) })
        }
        return rows.map { "| \($0.joined(separator: " | ")) |\n" }.joined()
    }

    private static func cell(for results: [String: Bool]?) -> String {
        guard let results else { return "–" }
        let failed = results.filter { !$0.value }.keys.sorted()
        return failed.isEmpty ? "✓" : "✗ \(failed.joined(separator: " "))"
    }
}

extension PeerCase {
    /// The transport and the version, such as `A2` for AsyncHTTPClient over HTTP/2.
    fileprivate var mark: String {
        (client == .asyncHTTPClient ? "A" : "U") + (version == .http1 ? "1" : "2")
    }
}
#endif
