import Foundation
import HTTPTypes
import NetworkingCore
import TestSupport
import Testing

@testable import NetworkingCaching

@Suite(.timeLimit(.minutes(5)))
struct MemoryCacheStoreTests {
    private func entry() -> CachedEntry {
        CachedEntry(
            response: HTTPResponse(status: .ok),
            body: Data(count: 10),
            requestDate: Date(timeIntervalSince1970: 0),
            responseDate: Date(timeIntervalSince1970: 0)
        )
    }

    private func key(_ url: Int, user: Int, query: Int) -> CacheKey {
        CacheKey(
            principal: user == 0 ? nil : Principal(id: "user \(user)"),
            url: "https://api.example.com/items/\(url)",
            query: query == 0 ? nil : "query \(query)"
        )
    }

    /// The keys of a URL are found after any additions and removals, and none in place of another.
    @Test func eachKeyOfAURLHasItsOwnEntries() {
        withSeed { random in
            let store = MemoryCacheStore()
            let keys = (0..<24).map { key($0 / 8, user: $0 / 2 % 4, query: $0 % 2) }
            var expected: [CacheKey: CachedEntry.ID] = [:]
            for _ in 0..<500 {
                let key = keys[Int.random(in: keys.indices, using: &random)]
                switch Int.random(in: 0..<8, using: &random) {
                case 0:
                    store.remove(url: key.url)
                    expected = expected.filter { $0.key.url != key.url }
                case 1...3:
                    store.remove(nil, for: key)
                    expected[key] = nil
                default:
                    store.remove(nil, for: key)
                    let entry = entry()
                    store.store(entry, for: key)
                    expected[key] = entry.id
                }
                let wrong = keys.filter { store.entries(for: $0).map(\.id) != [expected[$0]].compactMap { $0 } }
                #expect(wrong.isEmpty)
                #expect(store.count == expected.count)
            }
        }
    }
}
