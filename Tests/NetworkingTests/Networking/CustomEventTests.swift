import Logging
import Networking
import NetworkingTesting
import Testing

/// Events that another package declares.
@Suite(.timeLimit(.minutes(5)))
struct CustomEventTests {
    private enum CompressionEvent: NetworkEvent {
        case compressed(from: Int, to: Int)

        var description: String {
            switch self {
            case .compressed(let before, let after): "compressed(\(before) to \(after) bytes)"
            }
        }
    }

    private struct Compressed: NetworkingModifier {
        func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
            request.emit(CompressionEvent.compressed(from: 4_096, to: 512))
            request.emit(NetworkNote("gzip\nlevel 6"))
            let clock = NetworkEnvironment.current.clock
            request.emit(WaitEvent.waiting(.compressor, nil))
            let start = clock.now
            try await clock.sleep(for: .seconds(2))
            request.emit(WaitEvent.waited(.compressor, clock.now - start))
            return try await upstream.send(request)
        }
    }

    private let network = AnyNetworkingComponent(MockTransport { _ in .ok() }.modified(Compressed()))

    @Test func observerCanMatchCustomEvents() async throws {
        let journal = Journal()
        let network =
            network.observed { event, _ in
                switch event {
                case CompressionEvent.compressed(let before, let after): journal.note("\(before) to \(after)")
                case let note as NetworkNote: journal.note(note.text)
                case WaitEvent.waited(.compressor, let duration): journal.note("waited \(duration)")
                default: break
                }
            }
            .environment(\.clock, .immediate())

        try await network.data(.lawful)

        #expect(journal.entries == ["4096 to 512", "gzip\nlevel 6", "waited 2.0 seconds"])
    }

    @Test func logContainsDescriptionsOfCustomEvents() async throws {
        let log = LogRecorder()

        try await network.logged(using: log.logger(.debug)).environment(\.clock, .immediate()).data(.lawful)

        let url = "GET https://laws.example/check"
        #expect(
            log.messages.dropFirst().prefix(4) == [
                "compressed(4096 to 512 bytes): \(url)", "gzip\u{FFFD}level 6: \(url)", "waiting (compressor): \(url)",
                "waited 2.0 seconds (compressor): \(url)",
            ]
        )
    }

    @Test func logRedactsMarkedSecretsOfCustomEvents() async throws {
        struct Leaking: NetworkingModifier {
            func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
                request.emit(NetworkNote("The key is k-4711."))
                return try await upstream.send(request)
            }
        }
        let log = LogRecorder()
        var request = HTTPRequestData.lawful
        request.markSecret("k-4711")

        let transport = MockTransport { _ in .ok() }
        try await transport.modified(Leaking()).logged(using: log.logger(.debug)).data(request)

        #expect(log.messages.contains { $0.hasPrefix("The key is ") })
        #expect(!log.messages.contains { $0.contains("k-4711") })
    }

    @Test func metricsContainCustomEvents() async throws {
        let response = try await network.instrument().environment(\.clock, .immediate()).data(.lawful)

        let metrics = try #require(response.metrics)
        #expect(metrics.marks.first?.mark == .event("compressed(4096 to 512 bytes)"))
        #expect(metrics.marks.count == 2)
        #expect(metrics.breakdown.first { $0.kind == .wait(.compressor) }?.duration == .seconds(2))
    }

    @Test func waitsAreEqualByName() {
        #expect(Wait("compressor") == .compressor)
        #expect(Wait("concurrency-limit") == .concurrencyLimit)
        #expect(
            Set([
                Wait.concurrencyLimit, .rateLimit, .backoff, .delay, .connection, .credentials, .sharing, .reconnection,
            ])
            .count == 8
        )
        #expect(Wait.compressor.name == "compressor")
    }
}

extension Wait {
    fileprivate static let compressor = Wait("compressor")
}
