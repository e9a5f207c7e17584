#if Valkey
import Crypto
import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingValkey

extension Servers {
    /// Cache groups (RFC 9875) in a real server, with two clients as two machines.
    @Suite(.tags(.concurrency), .stoppedClock, .timeLimit(.minutes(20)), .requires(.valkey))
    struct ValkeyCacheGroupsTests {
        private let scope = CacheGroupScope(origin: "https://a.example")

        private func entry(_ groups: String) -> CachedEntry {
            let sample = CachedEntry.sample(groups)
            var response = sample.response
            response.headerFields[HTTPField.Name("Cache-Groups")!] = groups
            return CachedEntry(
                id: sample.id,
                response: response,
                body: sample.body,
                requestDate: sample.requestDate,
                responseDate: sample.responseDate
            )
        }

        @Test func machinesFollowTheVectors() async throws {
            try await withTwoStores { server, mine, other in
                for vector in CacheVector.all {
                    try server.command("FLUSHALL")
                    try await vector.run(over: mine, other)
                }
            }
        }

        @Test func removalHidesTheEntriesOfTheGroupOnly() async throws {
            try await withTwoStores { _, mine, other in
                let user = Principal(id: "emily")
                try await mine.store(entry("\"x\", \"y\""), for: .named("a"))
                try await mine.store(entry("\"y\""), for: .named("a"))
                try await mine.store(entry("\"x\""), for: .named("a", user))
                try await mine.store(.sample("none"), for: .named("a"))
                try await other.remove(groups: ["x"], at: CacheGroupScope(origin: scope.origin, principals: [nil]))
                #expect(try await mine.texts("a") == ["\"y\"", "none"])
                #expect(try await mine.texts("a", user) == ["\"x\""])
                try await other.remove(groups: ["x"], at: CacheGroupScope(origin: "https://b.example"))
                #expect(try await mine.texts("a", user) == ["\"x\""])
                try await mine.remove(groups: ["x"], at: scope)
                #expect(try await other.texts("a", user).isEmpty)
                // A later entry is a new one.
                try await mine.store(entry("\"x\""), for: .named("a", user))
                #expect(try await other.texts("a", user) == ["\"x\""])
            }
        }

        @Test func removalOutdatesAFetchInProgress() async throws {
            try await withTwoStores { _, mine, other in
                let change = try #require(try await mine.number(of: "a"))
                #expect(try await other.number(of: "a") == change)
                try await other.remove(groups: ["x"], at: scope)
                #expect(try await mine.store(entry("\"x\""), for: .named("a"), ifUnchangedSince: change) == nil)
                let latest = try #require(try await mine.number(of: "a"))
                #expect(latest != change)
                #expect(try await mine.store(entry("\"x\""), for: .named("a"), ifUnchangedSince: latest) == 0)
                #expect(try await other.texts("a") == ["\"x\""])
            }
        }

        /// If the server has evicted the state of the groups, their removals are not known.
        @Test func evictedStateHidesTheEntriesOfGroups() async throws {
            try await withTwoStores { server, mine, other in
                let change = try #require(try await mine.number(of: "b"))
                try await mine.store(entry("\"x\""), for: .named("a"))
                try await mine.store(.sample("none"), for: .named("a"))
                let vault = CacheVault(namespace: "shop", .ofCache)
                try server.command("DEL", vault.groups(at: scope.origin))
                #expect(try await other.texts("a") == ["none"])
                #expect(try await mine.store(entry("\"x\""), for: .named("b"), ifUnchangedSince: change) == nil)
                #expect(try await other.texts("a") == ["none"])
            }
        }

        @Test func numberOfGroupsIsBounded() async throws {
            try await withTwoStores { server, mine, other in
                try await mine.store(entry("\"x\""), for: .named("a"))
                for start in stride(from: 0, to: 4_200, by: 100) {
                    try await other.remove(groups: Set((start..<start + 100).map { "g\($0)" }), at: scope)
                }
                #expect(try await mine.texts("a").isEmpty)
                try await mine.store(entry("\"x\""), for: .named("a"))
                #expect(try await mine.texts("a") == ["\"x\""])
            }
        }
    }
}
#endif
