import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

/// The `localizedDescription` of a test's error contains all of its details.
@Suite(.timeLimit(.minutes(20)))
struct TestErrorTextTests {
    @Test func missingCassetteErrorHasItsReason() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "missing.har")
            let error = await #expect(throws: CassetteError.self) {
                try await withCassette(at: file, mode: .none) { _ in }
            }
            #expect(error?.errorDescription == error?.reason)
            #expect(error?.errorDescription?.contains("missing.har") == true)
        }
    }

    @Test func lawViolationsErrorListsItsSentences() async throws {
        struct Swallowing: NetworkingModifier {
            func send(
                _ request: HTTPRequestData,
                upstream: some NetworkingComponent
            ) async throws -> HTTPResponseData {
                (try? await upstream.send(request)) ?? HTTPResponseData(request: request)
            }
        }
        let error = await #expect(throws: LawViolations.self) { try await checkLaws(of: Swallowing()) }
        #expect(error?.errorDescription == error?.description)
        let violation = try #require(error?.violations.first)
        #expect(error?.errorDescription?.contains(violation.sentence) == true)
    }

    @Test func unexpectedRequestsErrorListsTheRequests() async throws {
        let recorder = RequestRecorder()
        try await MockTransport { _ in .ok() }.recorded(by: recorder).data(.lawful)
        let error = try #require(throws: UnexpectedRequests.self) { try recorder.verify(count: 2) }
        #expect(error.errorDescription == error.description)
        #expect(error.errorDescription?.contains("laws.example/check") == true)
    }

    @Test func scriptEndErrorNamesTheMissingResult() async throws {
        let delegate = ScriptedAuthenticationDelegate<Session>(refreshing: [])
        let error = await #expect(throws: AuthenticationScriptEnd.self) {
            try await delegate.refresh(Session(accessToken: "a"), after: nil, over: MockTransport())
        }
        #expect(error?.errorDescription == error?.description)
        #expect(error?.errorDescription?.contains("no result for refresh") == true)
    }

    #if TestServer
    @Test func conformanceFailureHasExpectationAndOutcome() async throws {
        let check = try #require(TransportCheck.all.first { $0.name == "methods" })
        let error = await #expect(throws: ConformanceFailure.self) {
            try await check.run(on: MockTransport { _ in .status(.notFound) })
        }
        let failure = try #require(error)
        #expect(!failure.expectation.isEmpty)
        #expect("\(failure)" == "methods: expected \(failure.expectation); got \(failure.outcome)")
    }
    #endif
}
