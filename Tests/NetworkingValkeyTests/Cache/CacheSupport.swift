#if Valkey
import Crypto
import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import NetworkingValkey
import Synchronization
import TestSupport

extension SymmetricKey {
    static let ofCache = SymmetricKey(data: Array(repeating: 1, count: 32))
}

extension ValkeyCacheStore {
    /// A store of a machine, with a time limit that a busy machine does not reach.
    static func patient(
        _ commands: any ValkeyCommands,
        key: SymmetricKey = .ofCache,
        entryCostLimit: Int = 1 << 20,
        countLimit: Int = 1_000_000
    ) -> ValkeyCacheStore {
        ValkeyCacheStore(
            commands,
            namespace: "shop",
            key: key,
            entryCostLimit: entryCostLimit,
            countLimit: countLimit,
            lifetime: .seconds(86_400),
            timeout: .seconds(200)
        )
    }

    /// Returns the bodies stored for a key, in order.
    func texts(_ name: String, _ principal: Principal? = nil) async throws -> [String] {
        try await entries(for: .named(name, principal)).map { String(decoding: $0.body, as: UTF8.self) }.sorted()
    }

    func number(of name: String) async throws -> Int64? {
        try await changeNumber(of: CacheKey.named(name).url)
    }
}

/// Runs the body with a server and two machines, each with a client of its own.
func withTwoStores(
    _ arguments: [String] = [],
    _ body: (ValkeyServer, ValkeyCacheStore, ValkeyCacheStore) async throws -> Void
) async throws {
    try await withValkeyServer(arguments) { server in
        try await withClient(server.address) { mine async throws in
            try await withClient(server.address) { other async throws in
                try await body(server, .patient(mine), .patient(other))
            }
        }
    }
}

extension CachedEntry {
    /// Returns an entry with a body of known length.
    static func sample(_ text: String = "text", length: Int? = nil, id: UUID = UUID()) -> CachedEntry {
        CachedEntry(
            id: id,
            response: HTTPResponse(
                status: .ok,
                headerFields: [.cacheControl: "max-age=60", .contentType: "text/plain"]
            ),
            body: length.map { Data(repeating: UInt8(text.utf8.count), count: $0) } ?? Data(text.utf8),
            requestDate: Date(timeIntervalSince1970: 1000.25),
            responseDate: Date(timeIntervalSince1970: 1001)
        )
    }
}

extension CacheKey {
    static func named(_ name: String, _ principal: Principal? = nil) -> CacheKey {
        CacheKey(principal: principal, url: "https://a.example/\(name)")
    }
}

/// A server that delays its first response, and sends later ones at once.
struct SlowOrigin {
    let arrived = Suspension<Void>()
    let gate = Suspension<Void>()
    let transport: MockTransport

    init() {
        let counter = Counter()
        transport = MockTransport { [arrived, gate] _ in
            let number = counter.next()
            if number == 1 {
                arrived.resume()
                try await gate.value()
            }
            return .ok(Data("\(number)".utf8), headerFields: [.cacheControl: "max-age=100"])
        }
    }
}

final class Counter: Sendable {
    private let count = Mutex(0)

    var value: Int { count.withLock { $0 } }

    func next() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }
}
#endif
