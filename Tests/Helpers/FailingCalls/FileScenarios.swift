#if os(Linux) && SQLite
import Foundation
import Networking
import NetworkingInspector
import NetworkingTesting

/// Records a cassette beside an older recording.
struct CassetteScenario: Scenario {
    let durability = Durability.none

    private func record(_ paths: [String], in directory: URL) async throws {
        try await withCassette(at: directory.appending(path: "tapes/a.har"), mode: .newEpisodes) { cassette in
            let network = MockTransport { request in .text(String(repeating: request.path ?? "", count: 500)) }
                .cassette(cassette)
            for path in paths {
                _ = try await network.data(HTTPRequestData(url: URL(string: "https://a.example/\(path)")!))
            }
        }
    }

    func prepare(in directory: URL) async throws {
        try await record(["old"], in: directory)
    }

    func run(in directory: URL, _ journal: Journal) async {
        await journal.attempt("new") { try await record(["old", "new"], in: directory) }
        await journal.attempt("newer") { try await record(["old", "new", "newer"], in: directory) }
    }

    func verify(in directory: URL, _ journal: Journal) async throws -> (problems: [String], files: Set<String>) {
        let archive = try HTTPArchive(contentsOf: directory.appending(path: "tapes/a.har"))
        let text = String(decoding: try archive.encoded(), as: UTF8.self)
        let lost = ["old", "new", "newer"]
            .filter { ($0 == "old" || journal.hasSucceeded($0)) && !text.contains("https://a.example/\($0)\"") }
        try await record(["old", "new", "newer", "last"], in: directory)
        return (lost.isEmpty ? [] : ["the recordings \(lost) are lost"], ["tapes", "tapes/a.har"])
    }
}

/// Writes the archive of an inspector.
struct ArchiveScenario: Scenario {
    let durability = Durability.none

    private func write(_ count: Int, in directory: URL) async throws {
        let inspector = NetworkInspector()
        let network = MockTransport { _ in .text(String(repeating: "text ", count: 2_000)) }.inspected(by: inspector)
        for number in 0..<count {
            _ = try await network.data(HTTPRequestData(url: URL(string: "https://a.example/\(number)")!))
        }
        try inspector.archive.write(to: directory.appending(path: "network.har"))
    }

    func prepare(in directory: URL) async throws {
        try await write(1, in: directory)
    }

    func run(in directory: URL, _ journal: Journal) async {
        for count in 2...3 {
            await journal.attempt("write \(count)") { try await write(count, in: directory) }
        }
    }

    func verify(in directory: URL, _ journal: Journal) async throws -> (problems: [String], files: Set<String>) {
        let archive = try HTTPArchive(contentsOf: directory.appending(path: "network.har"))
        let text = String(decoding: try archive.encoded(), as: UTF8.self)
        let count = text.components(separatedBy: "\"request\":").count - 1
        let written = [3, 2].first { journal.hasSucceeded("write \($0)") } ?? 1
        let isValid = count == written || count > written && journal.hasFailed("write \(count)")
        try await write(4, in: directory)
        return (isValid ? [] : ["the file has \(count) calls, and \(written) were written"], ["network.har"])
    }
}
#endif
