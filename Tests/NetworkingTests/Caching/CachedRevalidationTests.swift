import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

/// Revalidation that continues in the background after the caller has received its response.
@Suite(.tags(.concurrency), .timeLimit(.minutes(5)))
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
}
