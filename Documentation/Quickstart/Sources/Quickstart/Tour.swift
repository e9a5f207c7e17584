import Foundation
import Networking
import NetworkingTestServer

/// Builds a stack step by step and uses it with a local server.
enum Tour {
    static func run() async throws {
        try await withTestServer { server in
            DemoServer.script(server)
            Terminal.say("A server listens on \(server.url). Everything below is real HTTP over loopback.")
            let network = composedStack(for: server)
            try await typedValue(from: network)
            let session = try await login(on: network)
            try await unauthorizedRequest(from: network)
            try await token(session, on: network)
            try await customModifier(around: network)
            try await timeout(on: network)
            try await cancellation(on: network)
            try await Resilience.show(server)
            try await Uploads.show(server)
            try await Downloads.show(server)
            try await Events.show(server)
            try await SigningIn.show(server)
            try await OutboxRestart.show(server)
        }
        try await Pins.show()
        try await mock()
        try waterfall()
        try await Inspecting.show()
        try await OAuthSignIn.show()
        Terminal.title("The tour is complete")
        Terminal.say(
            "Documentation/Modifiers.md lists every modifier. Sources/Quickstart contains the code of this tour."
        )
    }

    /// The stack of the whole tour: the transport first, the outermost modifier last.
    static func stack(over transport: some NetworkingComponent) -> some NetworkingComponent {
        transport
            .timeout(.milliseconds(500))
            .logged(using: TerminalLog.logger)
            .numbered()
            .instrument(instrument)
    }

    /// Measures every request of the tour.
    static let instrument = SessionInstrument(keeping: 100)

    private static func composedStack(for server: TestServer) -> some NetworkingComponent {
        Terminal.title("1. A client is a composed value")
        Terminal.code(
            """
            let network = URLSession.shared
                .timeout(.milliseconds(500))
                .logged()
                .numbered()
                .instrument()
                .server(baseURL: server.url)
            """
        )
        let network = stack(over: URLSession.shared).server(baseURL: server.url)
        Terminal.say("network.outline lists the modifiers of the stack, outermost first:")
        for line in network.outline.split(separator: "\n") {
            Terminal.say("    \(line)")
        }
        return network
    }

    private static func typedValue(from network: some NetworkingComponent) async throws {
        Terminal.title("2. A request has the type of its response")
        Terminal.code("let (user, response) = try await network.value(.user(id: 42))")
        let (user, response) = try await network.value(.user(id: 42))
        Terminal.say("\(user.name), from a response of \(response.data.count) bytes, status \(response.status)")
        try expect(user.id == 42, "the server returns the user with id 42")
    }

    private static func login(on network: some NetworkingComponent) async throws -> Session {
        Terminal.title("3. A body is a value")
        Terminal.code("let session = try await network.request(.logIn(credentials))   // body: .json(credentials)")
        let session = try await network.request(.logIn(Credentials(user: "emily", password: "emilyspass")))
        Terminal.say("Logged in. Neither the password nor the token shows in the log.")
        return session
    }

    private static func unauthorizedRequest(from network: some NetworkingComponent) async throws {
        Terminal.title("4. Errors name the request, the reason and the remedy")
        Terminal.code("try await network.value(.me)   // without a token")
        do {
            _ = try await network.value(.me)
            try expect(false, "a request without a token is refused")
        } catch let error as NetworkingError where error.isUnauthorized {
            Terminal.say("\(error)")
        }
    }

    private static func token(_ session: Session, on network: some NetworkingComponent) async throws {
        Terminal.title("5. A stack can be extended")
        Terminal.code(
            """
            let mine = network.server(headerField: .authorization, "Bearer \\(session.token)")
            let me = try await mine.request(.me)
            """
        )
        let mine = network.server(headerField: .authorization, "Bearer \(session.token)")
        let me = try await mine.request(.me)
        Terminal.say("Hello \(me.name)!")
        try expect(me.name == "Emily", "the request with the token succeeds")
    }

    private static func customModifier(around network: some NetworkingComponent) async throws {
        Terminal.title("6. A custom modifier is one function")
        Terminal.code(
            """
            struct OnceMore: NetworkingModifier {
                func send(
                    _ request: HTTPRequestData,
                    upstream: some NetworkingComponent
                ) async throws -> HTTPResponseData {
                    let response = try await upstream.send(request)
                    return response.status == .serviceUnavailable ? try await upstream.send(request) : response
                }
            }
            let response = try await network.modified(OnceMore()).data(HTTPRequestData(path: "flaky"))
            """
        )
        let response = try await network.modified(OnceMore()).data(HTTPRequestData(path: "flaky"))
        Terminal.say("The server failed once, and the modifier sent the request again: \(response.status)")
        try expect(response.status == .ok, "the second attempt succeeds")
    }

    private static func timeout(on network: some NetworkingComponent) async throws {
        Terminal.title("7. Time is limited, for the stack or for one request")
        Terminal.code(
            """
            var request = HTTPRequestData(path: "slow")
            request.timeout = .milliseconds(200)
            try await network.data(request)
            """
        )
        var request = HTTPRequestData(path: "slow")
        request.timeout = .milliseconds(200)
        do {
            try await network.data(request)
            try expect(false, "a slow response ends with a timeout")
        } catch let error as NetworkingError where error.isTimeout {
            Terminal.say("\(error)")
        }
    }

    private static func cancellation(on network: some NetworkingComponent) async throws {
        Terminal.title("8. A cancelled task cancels its transfer")
        Terminal.code(
            """
            let call = Task { try await network.data(HTTPRequestData(path: "slow")) }
            call.cancel()
            """
        )
        let call = Task { try await network.data(HTTPRequestData(path: "slow")) }
        call.cancel()
        switch await call.result {
        case .success: try expect(false, "a cancelled call does not succeed")
        case .failure(let error):
            Terminal.say("The caller gets \(type(of: error)), and the connection is closed.")
            try expect(error is CancellationError, "a cancelled caller gets CancellationError itself")
        }
    }

    private static func mock() async throws {
        Terminal.title("18. The same stack without a network")
        Terminal.code(
            """
            let transport = MockTransport()
            transport.on(.get, "/users/42") { _ in .json(User(id: 42, name: "Emily")) }
            let network = stack(over: transport).server(authority: "api.example.com")
            """
        )
        let transport = MockTransport()
        transport.on(.get, "/users/42") { _ in .json(User(id: 42, name: "Emily")) }
        let network = stack(over: transport).server(authority: "api.example.com")
        let user = try await network.request(.user(id: 42))
        Terminal.say("The mock returned the user \(user.name) for \(transport.requests[0]).")
        try expect(transport.requests.count == 1, "the mock received one request")
    }

    private static func waterfall() throws {
        Terminal.title("19. Where the time went")
        Terminal.code(
            """
            print(instrument.waterfall())
            let call = instrument.recent.first { $0.attempts > 1 }
            print(call?.waterfall() ?? "")
            """
        )
        Terminal.say(instrument.waterfall(width: 32))
        guard let call = instrument.recent.first(where: { $0.attempts > 1 }) else {
            return try expect(false, "a call with more than one attempt was measured")
        }
        Terminal.say("The call with three attempts:")
        Terminal.say(call.waterfall(width: 32))
        let statistics = instrument.statistics
        Terminal.say("\(statistics.durations), \(statistics.retries) retries, \(statistics.shared) shared")
        try expect(call.attempts == 3 && statistics.retries >= 2, "three attempts were measured")
    }

    /// Throws an error if a claim of the tour is false.
    static func expect(_ condition: Bool, _ claim: String) throws {
        guard condition else { throw FalseClaim(claim: claim) }
    }
}

struct OnceMore: NetworkingModifier {
    func send(
        _ request: HTTPRequestData,
        upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        let response = try await upstream.send(request)
        return response.status == .serviceUnavailable ? try await upstream.send(request) : response
    }
}

struct FalseClaim: Error, CustomStringConvertible {
    let claim: String

    var description: String {
        "The tour claims that \(claim), which is not the case."
    }
}
