import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

/// The options of an event stream.
@Suite(.timeLimit(.minutes(20)))
struct EventOptionsTests {
    private struct Token: Decodable, Sendable, Equatable {
        let wordCount: Int
    }

    @Test func eventsAreDecodedWithTheDecoderOfTheCall() async throws {
        let snakes = JSONDecoder()
        snakes.keyDecodingStrategy = .convertFromSnakeCase
        let transport = MockTransport { _ in .events(.text("data: {\"word_count\": 7}\n\ndata: [DONE]\n\n")) }
        var tokens: [Token] = []
        for try await token in try await transport.events(.lawful, as: Token.self, decoder: snakes) {
            tokens.append(token)
        }
        #expect(tokens == [Token(wordCount: 7)])
        let error = await #expect(throws: NetworkingError.self) {
            for try await _ in try await transport.events(.lawful, as: Token.self) {}
        }
        #expect(error?.kind == .decoding)
    }

    @Test func waitBeforeAReconnectionIsReported() async throws {
        let clock = ManualClock()
        let transport = MockTransport([
            .events(.text("retry: 7000\ndata: one\n\ndata: two\n\n")), .status(.noContent),
        ])
        let events = EventRecorder()
        let request = HTTPRequestData.lawful.with { $0.addObserver(events) }
        let call = Task {
            var environment = NetworkEnvironment.current
            environment.clock = .manual(clock)
            return try await withEnvironment(environment) {
                var data: [String] = []
                for try await event in try await transport.events(request) { data.append(event.data) }
                return data
            }
        }
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(10))
        #expect(try await call.value == ["one", "two"])
        let waits: [Wait] = events.events.compactMap { event in
            if case WaitEvent.waited(let wait, let duration) = event, duration >= .seconds(7) { wait } else { nil }
        }
        #expect(waits == [.reconnection])
    }

    @Test func parserContinuesWithTheLastID() throws {
        var parser = ServerSentEventParser(lastEventID: "7")
        #expect(parser.lastEventID == "7")
        let events = try parser.parse(Data("data: a\n\nid: 8\ndata: b\n\ndata: c\n\n".utf8))
        #expect(events.map(\.id) == ["7", "8", "8"])
        #expect(parser.lastEventID == "8")
    }
}
