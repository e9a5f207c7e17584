import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RetryingStrategyTests {
    /// Retries up to three times in the morning, each time after one more second.
    private struct Mornings: RetryingStrategy {
        let journal: Journal

        func retryDelay(
            request: HTTPRequestData,
            after attempts: [Result<HTTPResponseData, any Error>],
            date: Date,
            calendar: Calendar
        ) async -> Duration? {
            let statuses = attempts.map { attempt in
                switch attempt {
                case .success(let response): "\(response.status.code)"
                case .failure(let error): "\(type(of: error))"
                }
            }
            let hour = calendar.component(.hour, from: date)
            journal.note("\(request.path ?? ""): \(statuses.joined(separator: ", ")) at \(hour)")
            return attempts.count <= 3 && hour < 12 ? .seconds(attempts.count) : nil
        }
    }

    private struct Foreign: Error {}

    private static let calendar = {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        return calendar
    }()

    /// 1970-01-01, at an hour in the morning or in the afternoon.
    private static func clock(hour: Int) -> ManualClock {
        ManualClock(start: Date(timeIntervalSince1970: Double(hour) * 3_600))
    }

    private let request = HTTPRequestData(method: .post, authority: "example.com", path: "a")

    @Test func strategyReturnsTheDelayBeforeEachAttempt() async throws {
        let (journal, clock) = (Journal(), Self.clock(hour: 9))
        let transport = MockTransport([.status(.notFound), .failure(Foreign()), .ok()])
        let network = transport.retry(.delayed(by: Mornings(journal: journal), calendar: Self.calendar))
            .environment(\.clock, .manual(clock))
        async let sent = network.data(request)
        try await clock.advance(by: .seconds(1), afterSleepers: 1)
        try await clock.advance(by: .seconds(2), afterSleepers: 1)
        let response = try await sent
        #expect(response.status == .ok)
        #expect(response.attempts.map(\.backoff) == [.seconds(1), .seconds(2)])
        #expect(journal.entries == ["/a: 404 at 9", "/a: 404, Foreign at 9"])
    }

    @Test func strategyWithoutADelayEndsTheCall() async throws {
        let journal = Journal()
        let transport = MockTransport([.status(.serviceUnavailable), .ok()])
        let network = transport.retry(.delayed(by: Mornings(journal: journal), calendar: Self.calendar))
            .environment(\.clock, .manual(Self.clock(hour: 15)))
        #expect(try await network.data(request).status == .serviceUnavailable)
        #expect(journal.entries == ["/a: 503 at 15"])
    }

    @Test func strategyOfTheRequestIsLimitedToAMaximumNumberOfRetries() async throws {
        let (journal, clock) = (Journal(), Self.clock(hour: 9))
        let policy = RetryPolicy.delayed(by: Mornings(journal: journal), maximumRetries: 1, calendar: Self.calendar)
        let request = request.with { $0.retryPolicy = policy }
        let transport = MockTransport([.status(.notFound), .status(.gone), .ok()])
        async let sent = transport.retry().environment(\.clock, .manual(clock)).data(request)
        try await clock.advance(by: .seconds(1), afterSleepers: 1)
        #expect(try await sent.status == .gone)
    }
}
