import Foundation
import Logging
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

/// The age of interactions, the duration of replays, and cancelled callers.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct CassetteTimeTests {
    /// Records the warnings of a logger.
    private final class Warnings: Sendable {
        private let state = Mutex<[String]>([])

        var messages: [String] {
            state.withLock { $0 }
        }

        var logger: Logger {
            Logger(label: "captured") { _ in Handler(warnings: self) }
        }

        private struct Handler: LogHandler {
            let warnings: Warnings
            var logLevel = Logger.Level.warning
            var metadata: Logger.Metadata = [:]

            func log(event: LogEvent) {
                warnings.state.withLock { $0.append("\(event.message)") }
            }

            subscript(metadataKey key: String) -> Logger.Metadata.Value? {
                get { metadata[key] }
                set { metadata[key] = newValue }
            }
        }
    }

    private let warnings = Warnings()

    /// Records two requests a month apart, then sends them again when only the first has expired.
    private func replayLate(
        _ folder: CassetteFolder,
        _ action: Cassette.Expiration.Action,
        mode: Cassette.Mode = .once,
        _ transport: MockTransport = MockTransport()
    ) async throws -> [String] {
        let clock = ManualClock()
        let network = MockTransport { request in .text("old \(request.path ?? "")") }
            .environment(\.clock, .manual(clock))
        try await withCassette(at: folder.cassette, mode: .once) { cassette in
            let network = network.cassette(cassette).server(authority: "api.example")
                .environment(\.clock, .manual(clock))
            try await network.get("a", expecting: "old /a")
            clock.advance(by: .seconds(86_400 * 30))
            try await network.get("b", expecting: "old /b")
        }
        clock.advance(by: .seconds(10))
        let options = Cassette.Options.with { $0.expiration = .init(after: .seconds(86_400 * 30), action) }
        var texts: [String] = []
        try await withCassette(at: folder.cassette, mode: mode, options: options) { cassette in
            let network = transport.cassette(cassette).server(authority: "api.example")
                .environment(\.clock, .manual(clock)).environment(\.logger, warnings.logger)
            for path in ["a", "b"] {
                let response = try await network.get(path)
                texts.append(String(decoding: response.data, as: UTF8.self))
            }
        }
        return texts
    }

    @Test func warnsOfExpiredInteractions() async throws {
        try await withCassetteFolder { folder in
            let texts = try await replayLate(folder, .warn)
            #expect(texts == ["old /a", "old /b"])
            #expect(
                warnings.messages == [
                    "Interaction 1 of the cassette \(folder.cassette.path), GET https://api.example/a, is older than "
                        + "2592000.0 seconds. Record it again with mode .all."
                ]
            )
        }
    }

    @Test func failsForExpiredInteractions() async throws {
        try await withCassetteFolder { folder in
            let reason = await CassetteFolder.reason { _ = try await replayLate(folder, .fail) }
            #expect(reason?.contains("GET https://api.example/a, is older than 2592000.0 seconds.") == true)
            #expect(warnings.messages.isEmpty)
        }
    }

    @Test func recordsExpiredInteractionsAgain() async throws {
        try await withCassetteFolder { folder in
            let transport = MockTransport([.text("new")])
            let texts = try await replayLate(folder, .record, transport)
            #expect(texts == ["new", "old /b"])
            #expect(transport.requests.count == 1)
            // The new interaction replaces the old one at the same position.
            let saved = try Cassette(at: folder.cassette, mode: .none).interactions
            #expect(saved.map { String(decoding: $0.response.body, as: UTF8.self) } == ["new", "old /b"])
            let ages = saved.map { Int($0.date.timeIntervalSince1970) - 1_700_000_000 }
            #expect(ages == [2_592_010, 2_592_000])
        }
    }

    @Test func replaysExpiredInteractionsInModeNone() async throws {
        try await withCassetteFolder { folder in
            let texts = try await replayLate(folder, .record, mode: .none)
            #expect(texts == ["old /a", "old /b"])
            #expect(warnings.messages.count == 1)
        }
    }

    @Test(arguments: [
        (Cassette.Timing.immediate, Duration.zero), (.recorded, .milliseconds(1_500)),
        (.fixed(.seconds(3)), .seconds(3)),
    ])
    func replayWaitsAccordingToItsTiming(_ timing: Cassette.Timing, _ expected: Duration) async throws {
        try await withCassetteFolder { folder in
            try await withCassette(at: folder.cassette, mode: .once) { cassette in
                let network = MockTransport([.text("x")]).delayed(by: .milliseconds(1_500)).cassette(cassette)
                    .environment(\.clock, .immediate())
                _ = try await network.data(.lawful)
            }
            try await withCassette(at: folder.cassette, mode: .none, options: .with { $0.timing = timing }) {
                cassette in
                let clock = ManualClock()
                let network = MockTransport().cassette(cassette).environment(\.clock, .manual(clock))
                let call = Task { try await network.data(.lawful) }
                if expected > .zero {
                    try await clock.waitForSleepers()
                    #expect(clock.nextDeadline?.offset == expected)
                    clock.advance(by: expected)
                }
                #expect(try await call.value.data == Data("x".utf8))
            }
        }
    }

    @Test func cancelledReplayLeavesItsInteractionUnused() async throws {
        try await withCassetteFolder { folder in
            try await folder.record(from: MockTransport([.ok()])) { try await $0.get("a") }
            let clock = ManualClock()
            let cassette = try Cassette(
                at: folder.cassette,
                mode: .none,
                options: .with { $0.timing = .fixed(.seconds(1)) }
            )
            let network = MockTransport().cassette(cassette).server(authority: "api.example")
                .environment(\.clock, .manual(clock))
            let call = Task { try await network.get("a") }
            try await clock.waitForSleepers()
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
            #expect(clock.sleepers == 0)

            try #require(cassette.unused.count == 1)
            let second = Task { try await network.get("a") }
            try await clock.advance(by: .seconds(1), afterSleepers: 1)
            #expect(try await second.value.status == .ok)
            try cassette.finish()
        }
    }

    @Test func cancelledCallIsNotRecorded() async throws {
        try await withCassetteFolder { folder in
            let clock = ManualClock()
            let cassette = try Cassette(at: folder.cassette, mode: .once)
            let network = MockTransport { _ in .ok() }.delayed(by: .seconds(1)).cassette(cassette)
                .environment(\.clock, .manual(clock))
            let call = Task { try await network.data(.lawful) }
            try await clock.waitForSleepers()
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
            #expect(cassette.recordedCount == 0)
            try cassette.finish()
            #expect(folder.names.isEmpty)
        }
    }

    /// Cancels the caller's task when the response arrives.
    private struct CancelledOnArrival: NetworkingModifier {
        func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
            let response = try await upstream.send(request)
            withUnsafeCurrentTask { $0?.cancel() }
            return response
        }
    }

    @Test func recordsAResponseWhoseCallerWasCancelled() async throws {
        try await withCassetteFolder { folder in
            try await folder.record(from: MockTransport([.text("old")])) { try await $0.get("a") }
            let clock = ManualClock()
            clock.advance(by: .seconds(60))
            let options = Cassette.Options.with { $0.expiration = .init(after: .seconds(1), .record) }
            try await withCassette(at: folder.cassette, mode: .once, options: options) { cassette in
                let network = MockTransport([.text("new")]).modified(CancelledOnArrival()).cassette(cassette)
                    .server(authority: "api.example").environment(\.clock, .manual(clock))
                let call = Task { try await network.get("a") }
                await #expect(throws: CancellationError.self) { try await call.value }
                #expect(cassette.recordedCount == 1)
                // The new interaction replaces the old one, which no other request can use.
                #expect(cassette.replayedCount == 1)
            }
            try await folder.replay { try await $0.get("a", expecting: "new") }
        }
    }

    /// The replayed retry gets the second response of the recording.
    @Test func replaysRetries() async throws {
        try await withCassetteFolder { folder in
            let transport = MockTransport([.status(.serviceUnavailable), .text("x")])
            for _ in 0..<2 {
                try await withCassette(at: folder.cassette, mode: .once) { cassette in
                    let network = transport.cassette(cassette).retry().environment(\.clock, .immediate())
                    let response = try await network.data(.lawful)
                    #expect(response.data == Data("x".utf8))
                }
            }
            #expect(transport.requests.count == 2)
        }
    }

    @Test func warnsOfALostRecording() async throws {
        try await withCassetteFolder { folder in
            var environment = NetworkEnvironment()
            environment.logger = warnings.logger
            try await withEnvironment(environment) {
                var cassette: Cassette? = try Cassette(at: folder.cassette, mode: .once)
                let network = cassette.map { AnyNetworkingComponent(MockTransport([.ok()]).cassette($0)) }
                _ = try await network?.data(.lawful)
                cassette = nil
            }
            #expect(
                warnings.messages == [
                    "1 interaction for the cassette \(folder.cassette.path) is lost: finish() was not called."
                ]
            )
            #expect(folder.names.isEmpty)
        }
    }
}
