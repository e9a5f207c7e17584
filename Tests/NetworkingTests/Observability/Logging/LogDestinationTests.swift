import HTTPTypes
import Logging
// The conversion of a record to a message of Apple's unified log is internal and has no platform dependency.
import Networking
import NetworkingTesting
import Synchronization
import Testing

@testable import NetworkingObservability

@Suite(.timeLimit(.minutes(20)))
struct LogDestinationTests {
    private final class Records: LogDestination {
        let logLevel: Logger.Level
        private let state = Mutex<[LogRecord]>([])

        init(_ logLevel: Logger.Level = .info) {
            self.logLevel = logLevel
        }

        var all: [LogRecord] {
            state.withLock { $0 }
        }

        func write(_ record: LogRecord) {
            state.withLock { $0.append(record) }
        }
    }

    private let request = HTTPRequestData(
        authority: "a.example",
        path: "/p?x=1&token=SECRET",
        headerFields: [.accept: "text/plain", .cookie: "SECRET"]
    )

    // MARK: Records

    @Test func recordsHaveThePrivacyOfTheirSegments() async throws {
        let records = Records()
        let network = MockTransport { _ in .text("hello") }.delayed(by: .milliseconds(2))
            .logged(to: records, detail: .body())
            .numbered()
            .environment(\.clock, .immediate())

        try await network.data(request)

        #expect(
            records.all.map(\.segments) == [
                [
                    .init("→ "), .init("GET https://a.example/p"), .init("?x=1&token=<redacted>", privacy: .private),
                    .init(" [\(request.id) #1]"),
                    .init("\nAccept: text/plain\nCookie: <redacted>", privacy: .private),
                ],
                [
                    .init("← 200 OK "), .init("GET https://a.example/p"),
                    .init("?x=1&token=<redacted>", privacy: .private), .init(", 5 bytes in 2.0 ms"),
                    .init(" [\(request.id) #1]"),
                    .init("\nContent-Type: text/plain; charset=utf-8\nhello", privacy: .private),
                ],
            ]
        )
        #expect(records.all.map(\.phase) == [.start, .success])
        #expect(records.all.map(\.level) == [.info, .info])
        #expect(records.all.map(\.requestID) == [request.id, request.id])
        #expect(records.all.map(\.requestNumber) == [1, 1])
        #expect(records.all.first?.text == "→ GET https://a.example/p<private> [\(request.id) #1]<private>")
        #expect(!everyPrint(of: records.all).contains("x=1"))
    }

    @Test(
        arguments: [(.auto, .private), (.public, .public), (.private, .private), (.sensitive, .sensitive)]
            as [(LogPrivacy, LogRecord.Privacy)]
    )
    func privacyAppliesToTheValues(privacy: LogPrivacy, expected: LogRecord.Privacy) async throws {
        let records = Records()

        try await MockTransport { _ in .ok() }.logged(to: records, detail: .headers, privacy: privacy).data(request)

        let record = try #require(records.all.first)
        #expect(record.segments.map(\.privacy) == [.public, .public, expected, .public, expected])
        #expect(!record.segments.contains { $0.text.contains("SECRET") })
    }

    @Test(
        arguments: [(.public, "?x=1&token="), (.auto, "?x=<private>&token="), (.sensitive, "?x=<redacted>&token=")]
            as [(LogPrivacy, String)]
    )
    func eventsRespectThePrivacy(privacy: LogPrivacy, query: String) async throws {
        let records = Records(.debug)
        let network = MockTransport([.redirect(to: "/next?y=1"), .ok()]).logged(to: records, privacy: privacy)

        try await network.data(request)

        let event = try #require(records.all.first { $0.phase == .event })
        #expect(event.level == .debug)
        #expect(event.segments.allSatisfy { $0.privacy == .public })
        #expect(event.text.contains("redirected to GET https://a.example/next?y="))
        #expect(event.text.contains(query))
        #expect(event.text.contains("y=1") == (privacy == .public))
    }

    @Test func failureIsAWarningAndACancellationIsNot() async throws {
        let records = Records()
        let failing = MockTransport { _ in .failure(CancellationError()) }

        await #expect(throws: NetworkingError.self) { try await MockTransport().logged(to: records).data(request) }
        await #expect(throws: CancellationError.self) { try await failing.logged(to: records).data(request) }

        #expect(records.all.map(\.phase) == [.start, .failure, .start, .failure])
        #expect(records.all.map(\.level) == [.info, .warning, .info, .info])
        #expect(records.all[1].text.contains(" failed after "))
        #expect(records.all[3].text.contains(" was cancelled after "))
    }

    @Test func destinationGetsRecordsOfItsLevelOnly() async throws {
        let warnings = Records(.warning)
        let nothing = Records(.error)
        for records in [warnings, nothing] {
            try await MockTransport { _ in .ok() }.logged(to: records).data(request)
            await #expect(throws: NetworkingError.self) { try await MockTransport().logged(to: records).data(request) }
        }
        #expect(warnings.all.map(\.phase) == [.failure])
        #expect(nothing.all.isEmpty)
    }

    @Test func eachPassageHasItsOwnNumber() async throws {
        let records = Records()
        let network = MockTransport { _ in .ok() }.logged(to: records).resent(times: 2)

        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<500 {
                group.addTask { try await network.data(request) }
            }
            try await group.waitForAll()
        }

        let passages = Dictionary(grouping: records.all, by: \.passage)
        #expect(passages.count == 1_000)
        #expect(passages.values.allSatisfy { $0.map(\.phase) == [.start, .success] })
    }

    @Test func outlineNamesTheDestination() {
        let network = MockTransport { _ in .ok() }.logged(to: Records(), privacy: .private)
        #expect(network.outline.hasPrefix("logged(to: Records, level: info, detail: basic, privacy: private)"))
    }

    // MARK: The unified log

    private func message(_ segments: LogRecord.Segment...) -> UnifiedLogMessage {
        UnifiedLogMessage(
            LogRecord(
                level: .info,
                phase: .start,
                requestID: request.id,
                requestNumber: nil,
                passage: 1,
                segments: segments
            )
        )
    }

    private func arguments(_ message: UnifiedLogMessage) -> [String] {
        [message.opening, message.values, message.outcome, message.details]
    }

    @Test func messageKeepsTheOrderOfItsSegments() {
        let all = message(
            .init("a"),
            .init("b"),
            .init("c", privacy: .private),
            .init("d"),
            .init("e"),
            .init("f", privacy: .private)
        )
        #expect(arguments(all) == ["ab", "c", "de", "f"])
        #expect(!all.isSensitive)
        #expect(arguments(message(.init("a"), .init(""), .init("b"))) == ["ab", "", "", ""])
        #expect(arguments(message(.init("a", privacy: .private), .init("b"))) == ["", "a", "b", ""])
        #expect(arguments(message()) == ["", "", "", ""])
    }

    @Test func privateTextIsNeverInAPublicArgument() {
        let many = message(
            .init("a"),
            .init("B", privacy: .private),
            .init("c"),
            .init("D", privacy: .private),
            .init("e"),
            .init("F", privacy: .private),
            .init("g")
        )
        #expect(arguments(many) == ["a", "B", "c", "DeFg"])
    }

    @Test func messageHasTheStrictestPrivacyOfItsSegments() {
        #expect(message(.init("a", privacy: .private), .init("b", privacy: .sensitive)).isSensitive)
        #expect(!message(.init("a", privacy: .private), .init("b")).isSensitive)
    }
}
