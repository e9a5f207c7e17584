#if URLSession && AsyncHTTPClient && SQLite && Telemetry
import Foundation
import HTTPTypes
import Networking
import NetworkingSQLite

/// The cost of a hit, and of evicting entries.
enum Caches {
    static let item = URL(string: "https://api.example.com/items/1?page=2")!

    static func measure() async throws -> [Row] {
        let factor = try await Overhead.slowness()
        let hit = try await best(of: CacheableTransport().cached())
        let folder = FileManager.default.temporaryDirectory.appending(path: "networking-benchmarks-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let disk = SQLiteCacheStore(file: folder.appending(path: "responses.sqlite"))
        let measuredHit = try await best(of: CacheableTransport().cached().instrument())
        let diskHit = try await best(of: CacheableTransport().cached(in: disk))
        let stackedHit = try await best(of: CacheableTransport().cached(in: StackedCacheStore(over: disk)))
        let query = HTTPRequestData(.query, item, body: .data(Data(count: 1_024), contentType: "application/json"))
        let queryHit = try await best(of: CacheableTransport().cached(), query)
        return try await [
            Row(name: "a fresh hit of 1 KiB in memory, everything", value: hit, unit: "ns", gate: 4_000 * factor),
            Row(name: "the same, measured by instrument", value: measuredHit, unit: "ns"),
            Row(name: "the same for a QUERY with a body of 1 KiB", value: queryHit, unit: "ns"),
            Row(name: "a fresh hit of 1 KiB on disk, everything", value: diskHit, unit: "ns", gate: 60_000 * factor),
            Row(name: "the same with memory over the disk", value: stackedHit, unit: "ns"),
            Row(
                name: "storing into a full memory store of 1,000, to one of 100,000",
                value: storing(into: 1_000) / storing(into: 100_000),
                unit: "x",
                gate: 0.4
            ),
        ] + CachesBySize.measure()
    }

    /// Nanoseconds of a call that the cache serves.
    static func best(
        of network: some NetworkingComponent,
        _ request: HTTPRequestData = HTTPRequestData(url: item)
    ) async throws -> Double {
        let network: any NetworkingComponent = network
        _ = try await network.send(request)
        let isCached = try await network.send(request).isCached
        precondition(isCached)
        return try await Measurement.measure(runs: 2_000, samples: 60) { _ = try await network.send(request) }.minimum
    }

    /// Nanoseconds of storing an entry for which another has to go.
    static func storing(into limit: Int, times count: Int? = nil) -> Double {
        let count = count ?? limit
        let store = MemoryCacheStore(costLimit: .max, countLimit: limit)
        let entry = CacheableTransport.entry
        let keys = (0..<limit + count).map { CacheKey(principal: nil, url: "https://api.example.com/items/\($0)") }
        for key in keys.prefix(limit) {
            store.store(entry(), for: key)
        }
        let entries = (0..<count).map { _ in entry() }
        let start = ContinuousClock.now
        for (key, entry) in zip(keys.suffix(count), entries) {
            precondition(store.store(entry, for: key) == 1)
        }
        return (ContinuousClock.now - start) / .nanoseconds(1) / Double(count)
    }
}
#endif
