import Foundation
import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct ScriptedAuthenticationDelegateTests {
    private struct Refused: Error {}

    private let old = Session(userID: "emily", accessToken: "old")
    private let new = Session(userID: "emily", accessToken: "new")

    private func transport(accepting token: String) -> MockTransport {
        MockTransport { $0.headerFields[.authorization] == "Bearer \(token)" ? .ok() : .status(.unauthorized) }
    }

    private func network(
        _ delegate: ScriptedAuthenticationDelegate<Session>,
        _ session: Session?
    ) -> some NetworkingComponent {
        transport(accepting: "new").authenticated(with: TokenStore(session, delegate: delegate))
            .server(authority: "api.example.com")
    }

    @Test func returnsEachResultOnceAndRecordsItsCalls() async throws {
        let delegate = ScriptedAuthenticationDelegate(authorizing: [.success(old)], refreshing: [.success(new)])

        #expect(try await network(delegate, nil).data(HTTPRequestData(path: "me")).status == .ok)

        #expect(delegate.authorizations == 1)
        #expect(delegate.refreshes == 1)
        guard case .refresh(old, after: let response)? = delegate.calls.last else {
            Issue.record("The last call is \(String(describing: delegate.calls.last))")
            return
        }
        #expect(response?.status == .unauthorized)
        #expect(delegate.active == 0)
    }

    @Test func exhaustedScriptSaysWhatToAdd() async throws {
        let delegate = ScriptedAuthenticationDelegate<Session>()

        let error = await #expect(throws: NetworkingError.self) {
            try await network(delegate, old).data(HTTPRequestData(path: "me"))
        }

        #expect(error?.kind == .unauthorized)
        #expect(
            error?.reason
                == "The server refused the credentials, and their refresh failed: The test's delegate has no result for refresh, "
                + "and was called once more. Add a result to refreshing:, or find out why the stack calls it."
        )
    }

    @Test func throwsTheFailureOfTheScript() async throws {
        let delegate = ScriptedAuthenticationDelegate<Session>(authorizing: [.failure(Refused())])

        let error = await #expect(throws: NetworkingError.self) {
            try await network(delegate, nil).data(HTTPRequestData(path: "me"))
        }

        #expect(error?.underlying is Refused)
        await #expect(throws: AuthenticationScriptEnd.self) { try await delegate.authorize(over: MockTransport()) }
    }

    @Test func callsClosures() async throws {
        let delegate = ScriptedAuthenticationDelegate<Session> { session, response, _ in
            session.renewed(accessToken: response == nil ? "other" : "new")
        }

        #expect(try await network(delegate, old).data(HTTPRequestData(path: "me")).status == .ok)

        let error = await #expect(throws: AuthenticationScriptEnd.self) {
            try await delegate.authorize(over: MockTransport())
        }
        #expect(error?.description.contains("has no result for authorize") == true)
    }

    @Test func heldCallsContinueWhenReleased() async throws {
        let delegate = ScriptedAuthenticationDelegate<Session>(refreshing: [.success(new), .success(new)])
        let network = network(delegate, old)
        delegate.hold()
        let calls = (0..<3).map { _ in Task { try await network.data(HTTPRequestData(path: "me")) } }

        try await delegate.waitForCalls()
        #expect(delegate.active == 1)
        delegate.release()

        for call in calls {
            #expect(try await call.value.status == .ok)
        }
        // A request that is refused after the refresh can have carried the old token, so there is no second refresh.
        #expect(delegate.refreshes == 1)
        delegate.release()
        _ = try await delegate.refresh(new, after: nil, over: MockTransport())
    }

    @Test func cancelledHeldCallEndsAtOnce() async throws {
        let delegate = ScriptedAuthenticationDelegate(authorizing: [.success(new)])
        delegate.hold()
        let call = Task { try await delegate.authorize(over: MockTransport()) }
        try await delegate.waitForCalls(1)

        call.cancel()

        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(delegate.active == 0)
    }

    @Test func heldCallCanIgnoreCancellation() async throws {
        let delegate = ScriptedAuthenticationDelegate(authorizing: [.success(new)])
        delegate.hold(ignoringCancellation: true)
        let call = Task { try await delegate.authorize(over: MockTransport()) }
        try await delegate.waitForCalls(1)

        call.cancel()
        delegate.release()

        #expect(try await call.value == new)
    }

    @Test func cancelledWaiterThrowsAndOtherWaitersContinue() async throws {
        let delegate = ScriptedAuthenticationDelegate(authorizing: [.success(new)])
        let leaving = Task { try await delegate.waitForCalls() }
        let staying = Task { try await delegate.waitForCalls() }
        leaving.cancel()
        await #expect(throws: CancellationError.self) { try await leaving.value }

        _ = try await delegate.authorize(over: MockTransport())

        try await staying.value
        try await delegate.waitForCalls(0)
    }
}
