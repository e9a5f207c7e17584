import Logging
import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct LogRecorderTests {
    private let log = LogRecorder()

    @Test func recordsMessagesInOrder() {
        var logger = log.logger()
        logger[metadataKey: "user"] = "emily"
        logger.info("one", metadata: ["number": "1"])
        log.logger().warning("two")

        #expect(log.messages == ["one", "two"])
        #expect(log.lines.map(\.level) == [.info, .warning])
        #expect(log.lines.map(\.metadata) == [["user": "emily", "number": "1"], [:]])
    }

    @Test func recordsMessagesFromTheLevelOfTheLogger() {
        log.logger(.notice).info("not this")
        log.logger(.notice).error("this")
        log.logger(.trace).trace("this too")

        #expect(log.messages == ["this", "this too"])
    }

    /// A test for secrets searches this text, so it has to contain all that a log shows.
    @Test func textContainsMessagesAndMetadata() {
        log.logger().info("a message", metadata: ["field": "of metadata"])
        var logger = log.logger()
        logger[metadataKey: "session"] = "of the logger"
        logger.error("another")

        for part in ["info a message", "field", "of metadata", "error another", "session", "of the logger"] {
            #expect(log.text.contains(part), "\(part)")
        }
    }

    @Test func recordsTheMessagesOfAStack() async throws {
        try await MockTransport { _ in .ok() }.logged(using: log.logger()).data(.lawful)

        #expect(log.messages.first == "→ GET https://laws.example/check")
        #expect(log.messages.count == 2)
    }
}
