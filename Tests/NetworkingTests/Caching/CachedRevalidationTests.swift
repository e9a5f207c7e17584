import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingCaching

/// Revalidation that continues in the background after the caller has received its response.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct CachedRevalidationTests {
    private let clock = ManualClock()

    private struct Origin: NetworkingComponent {
        let journal: Journal
        let clock: ManualClock

        func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
            journal.note("\(request.isSilenceLimited)")
            return HTTPResponseData(
                request: request,
                headerFields: [
                    .cacheControl: "max-age=1, stale-while-revalidate=100",
                    .date: NetworkClock.manual(clock).date.httpDate,
                ]
            )
        }
    }

    /// The caller's timeout has ended with its call, so the transport has to end a revalidation without progress.
    @Test func backgroundRevalidationIgnoresItsCallersTimeout() async throws {
        let journal = Journal()
        let network = Origin(journal: journal, clock: clock).cached().timeout(.seconds(5))
            .environment(\.clock, .manual(clock))
        try await network.data(.lawful)
        clock.advance(by: .seconds(2))
        try await network.data(.lawful)
        try await eventually("journal.entries.count >= 2") { journal.entries.count >= 2 }
        #expect(journal.entries == ["true", "false"])
    }

    /// A store of several processes, which says whether this one revalidates an entry.
    private struct Claiming: CacheStore, Error {
        let memory = MemoryCacheStore()
        /// `nil` if the store does not know.
        let isGranted: Bool?

        var entryCostLimit: Int { memory.entryCostLimit }
        func entries(for key: CacheKey) -> [CachedEntry] { memory.entries(for: key) }
        func store(_ entry: CachedEntry, for key: CacheKey) -> Int { memory.store(entry, for: key) }
        func remove(_ id: CachedEntry.ID?, for key: CacheKey) { memory.remove(id, for: key) }
        func removeAll(where isUnwanted: @Sendable (CacheKey) -> Bool) { memory.removeAll(where: isUnwanted) }

        func claimRevalidation(of entry: CachedEntry, for key: CacheKey) async throws -> Bool {
            guard memory.entries(for: key) == [entry], let isGranted else { throw self }
            return isGranted
        }
    }

    /// Without an answer, each process revalidates.
    @Test(arguments: [nil, true, false]) func storeSaysWhichProcessRevalidates(isGranted: Bool?) async throws {
        let journal = Journal()
        let cache = ResponseCache(in: Claiming(isGranted: isGranted))
        let network = Origin(journal: journal, clock: clock).cached(in: cache)
            .environment(\.clock, .manual(clock))
        try await network.data(.lawful)
        clock.advance(by: .seconds(2))
        #expect(try await network.data(.lawful).isCached)
        try await eventually("the revalidation has ended") { !cache.isRevalidating }
        #expect(journal.entries.count == (isGranted == false ? 1 : 2))
    }
}
