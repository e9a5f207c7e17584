#if URLSession && AsyncHTTPClient && SQLite && Telemetry
import Foundation
import HTTPTypes
import Networking
import NetworkingSQLite

/// How the cost of a cache depends on the number of its entries, and on the number of a response's fields.
enum CachesBySize {
    private static let sizes = [1_000, 100_000]
    private static let fieldCounts = [90, 900]

    static func measure() async throws -> [Row] {
        var rows = [try await fields()]
        let memory = sizes.map { MemoryCacheStore(costLimit: .max, countLimit: $0) }
        rows.append(try await hits("memory", over: memory))
        let folder = FileManager.default.temporaryDirectory.appending(path: "networking-benchmarks-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let disk = sizes.map { SQLiteCacheStore(file: folder.appending(path: "\($0).sqlite"), costLimit: 1 << 30) }
        rows.append(try await hits("SQLite", over: disk))
        return rows
    }

    /// Makes calls of a cache: `cached.304.900` confirms a response with 900 fields, `cached.hit.100000` is served by
    /// a store of 100,000 entries, and `cached.store.100000` stores into a full one.
    ///
    /// - Returns: `false` if there are no calls of that name.
    static func run(_ name: String, times count: Int) async throws -> Bool {
        let parts = name.split(separator: ".")
        guard parts.count == 3, parts[0] == "cached", let size = Int(parts[2]) else { return false }
        switch parts[1] {
        case "304": try await confirm(ValidatedTransport(fields: size).cached(), times: count)
        case "hit":
            let store = MemoryCacheStore(costLimit: .max, countLimit: size)
            try await fill(store, with: size)
            try await hit(InstantTransport().cached(in: store), times: count)
        case "store": _ = Caches.storing(into: size, times: count)
        default: return false
        }
        return true
    }

    /// How a 304 with few fields compares with one with many, for each field: 1 if the cost is linear.
    private static func fields() async throws -> Row {
        let networks = fieldCounts.map { ValidatedTransport(fields: $0).cached() as any NetworkingComponent }
        let ratio = try await Measurement.ratio(rounds: 21) {
            try await confirm(networks[1], times: 10)
        } to: {
            try await confirm(networks[0], times: 10 * fieldCounts[1] / fieldCounts[0])
        }
        return Row(name: "a 304 with 900 fields, to ten with 90", value: ratio.median, unit: "x", gate: 0.6)
    }

    private static func confirm(_ network: any NetworkingComponent, times count: Int) async throws {
        for _ in 0..<count {
            _ = try await network.send(HTTPRequestData(url: Caches.item))
        }
    }

    /// How hits of a store of 100,000 entries compare with hits of one of 1,000, with 1,000 keys in use.
    ///
    /// They were stored one after the other: keys from all over a file of SQLite do not fit into its page cache.
    private static func hits(_ name: String, over stores: [some CacheStore]) async throws -> Row {
        for (store, size) in zip(stores, sizes) {
            try await fill(store, with: size)
        }
        let networks = stores.map { InstantTransport().cached(in: $0) as any NetworkingComponent }
        let ratio = try await Measurement.ratio(rounds: 21) {
            try await hit(networks[1], times: 1_000)
        } to: {
            try await hit(networks[0], times: 1_000)
        }
        return Row(
            name: "a hit in \(name) of 1,000 entries, to one of 100,000",
            value: ratio.median,
            unit: "x",
            gate: 0.8
        )
    }

    private static func fill(_ store: some CacheStore, with count: Int) async throws {
        let entry = CacheableTransport.entry()
        for number in 0..<count {
            try await store.store(entry, for: CacheKey(principal: nil, url: url(number).absoluteString))
        }
    }

    private static func hit(_ network: any NetworkingComponent, times count: Int) async throws {
        for number in 0..<count {
            let response = try await network.send(HTTPRequestData(url: url(number % 1_000)))
            precondition(response.isCached)
        }
    }

    private static func url(_ number: Int) -> URL {
        // Of one length, so that the index of URLs has them in the order of their numbers.
        URL(string: "https://api.example.com/items/\(1_000_000 + number)")!
    }
}

/// A transport whose response has to be validated before each use, and is always confirmed.
private struct ValidatedTransport: NetworkingComponent {
    private let fields: HTTPFields

    init(fields count: Int) {
        var fields: HTTPFields = [.cacheControl: "no-cache", .eTag: "\"1\""]
        for number in 0..<count - 2 {
            fields.append(HTTPField(name: HTTPField.Name("X-Field-\(number)")!, value: "value \(number)"))
        }
        self.fields = fields
    }

    func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        let isCondition = request.headerFields.contains(.ifNoneMatch)
        return HTTPResponseData(request: request, status: isCondition ? .notModified : .ok, headerFields: fields)
    }
}
#endif
