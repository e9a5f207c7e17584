#if URLSession && AsyncHTTPClient && SQLite && Telemetry
import Foundation
import Networking

/// `value` of a JSON document over a transport that responds at once, relative to `JSONDecoder` alone.
///
/// Over a network, the cost of a call hides the cost of decoding.
enum Decoding {
    /// The documents by their names for `Benchmarks count`, with their numbers of users.
    static let documents = [("2k", 20), ("64k", 720), ("1m", 11_500)]

    static func measure() async throws -> [Row] {
        var rows: [Row] = []
        for (name, count) in documents {
            let document = Document(users: count)
            let runs = max(1, 400 / count)
            var (alone, typed) = (Double.infinity, Double.infinity)
            // In turns, and the best of each, in processor time: a busy machine must not affect a single row.
            for _ in 0..<max(20, 4_000 / count) {
                alone = min(alone, try await Self.time(runs) { try document.decode() })
                typed = min(typed, try await Self.time(runs) { try await document.request() })
            }
            rows.append(
                Row(
                    name: "value of a JSON of \(name)B, to JSONDecoder alone",
                    value: alone / typed,
                    unit: "x",
                    gate: 0.95,
                    detail: String(format: "%.1f us", typed / 1_000)
                )
            )
        }
        return rows
    }

    /// Nanoseconds of processor time that a run takes.
    private static func time(_ runs: Int, _ operation: () async throws -> Void) async rethrows -> Double {
        let start = Cost.cpuTime
        for _ in 0..<runs {
            try await operation()
        }
        return (Cost.cpuTime - start) / Double(runs)
    }

    /// Decodes a document a number of times: `decode.2k` with `JSONDecoder` alone, `value.2k` with `value`.
    ///
    /// - Returns: `false` if the name is another.
    static func run(_ name: String, times count: Int) async throws -> Bool {
        let parts = name.split(separator: ".")
        guard parts.count == 2, let users = documents.first(where: { $0.0 == parts[1] })?.1 else { return false }
        let document = Document(users: users)
        switch parts[0] {
        case "decode": for _ in 0..<count { try document.decode() }
        case "value": for _ in 0..<count { try await document.request() }
        default: return false
        }
        return true
    }

    private struct Document {
        let data: Data
        private let count: Int
        private let network: any NetworkingComponent

        init(users count: Int) {
            self.count = count
            let users = (0..<count).map { User.samples[$0 % User.samples.count] }
            data = (try? JSONEncoder().encode(users)) ?? Data()
            network = InstantTransport(data: data).server(baseURL: URL(string: "https://api.example.com")!)
        }

        func decode() throws {
            let users = try JSONDecoder().decode([User].self, from: data)
            precondition(users.count == count)
        }

        func request() async throws {
            let (users, _) = try await network.value(Request<[User]>(HTTPRequestData(path: "users")))
            precondition(users.count == count)
        }
    }
}
#endif
