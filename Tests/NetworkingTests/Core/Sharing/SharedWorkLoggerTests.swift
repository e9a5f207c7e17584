import Logging
import Networking
import NetworkingTesting
import TestSupport
import Testing

/// Log lines of work that several callers share.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct SharedWorkLoggerTests {
    private let log = LogRecorder()
    private let network = MockTransport { _ in
        NetworkEnvironment.current.logger.info("library")
        Logger.current.info("app")
        return .ok()
    }

    private var logger: Logger {
        var logger = log.logger()
        logger[metadataKey: "user"] = "emily"
        return logger
    }

    @Test func sharedWorkLogsNoMetadataOfTheCallerThatStartedIt() async throws {
        try await withLogger(logger) { logger in
            try await network.deduplicated().data(.lawful)
            try await network.environment(\.logger, logger).data(.lawful)
            logger.info("caller")
        }
        let lines = log.lines.map { "\($0.message) \($0.metadata["user"] ?? "-")" }
        #expect(lines == ["library -", "app -", "library emily", "app emily", "caller emily"])
    }

    @Test func sharedWorkLogsNoMetadataOfAnEnvironmentsLogger() async throws {
        try await network.deduplicated().environment(\.logger, logger).data(.lawful)
        #expect(log.lines.map { $0.metadata["user"] } == [nil])
    }
}
