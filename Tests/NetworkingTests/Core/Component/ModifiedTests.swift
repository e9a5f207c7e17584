import Foundation
import Logging
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20)))
struct ModifiedTests {
    @Test func outermostModifierGetsTheRequestFirstAndTheResponseLast() async throws {
        let journal = Journal()
        let transport = MockTransport { _ in
            journal.note("transport")
            return .ok()
        }
        let network = transport.modified(Noting(name: "inner", journal: journal))
            .modified(Noting(name: "outer", journal: journal))

        try await network.data(.users)

        #expect(journal.entries == ["outer in", "inner in", "transport", "inner out", "outer out"])
    }

    @Test(arguments: Shape.all)
    func everyModifierIsResolvedOncePerSend(shape: Shape) async throws {
        let inner = Journal()
        let outer = Journal()
        let transport = MockTransport { _ in .ok() }
        let network = shape.around(transport.server { _ in inner.note("resolved") })
            .server { _ in outer.note("resolved") }

        for sends in 1...3 {
            try await network.data(.users)
            #expect(inner.entries.count == sends)
            #expect(outer.entries.count == sends)
        }
        #expect(transport.requests.count == 3 * shape.sendsPerCall)
    }

    @Test(arguments: Shape.all)
    func rewritesAreNotRepeatedWhenAModifierSendsAgain(shape: Shape) async throws {
        let transport = MockTransport { _ in .ok() }
        let network = shape.around(transport.server(prefixPath: "v1").server { $0.step("inner") })
            .modified(Resent(times: 2))
            .server { $0.step("outer") }
            .server(authority: "api.example.com")

        try await network.data(HTTPRequestData(path: "users"))

        #expect(transport.requests.count == 2 * shape.sendsPerCall)
        for request in transport.requests {
            #expect(request.path == "/v1/users")
            #expect(request.headerFields[values: .step] == ["outer", "inner"])
        }
    }

    @Test(arguments: Shape.all)
    func principalIsForwardedByEveryPart(shape: Shape) {
        let upstream = Authenticated(principal: Principal(id: "emily"))

        #expect(shape.around(upstream).principal(for: .users) == Principal(id: "emily"))
        #expect(shape.around(MockTransport()).principal(for: .users) == nil)
    }

    @Test func modifierMayReturnItsOwnPrincipal() {
        let network = Authenticated(principal: Principal(id: "emily"))
            .modified(PrincipalReplacing(principal: Principal(id: "admin")))
            .logged(using: .silent)

        #expect(network.principal(for: .users) == Principal(id: "admin"))
    }

    @Test(arguments: Shape.all)
    func authorityIsThatOfTheStack(shape: Shape) {
        let transport = MockTransport()

        #expect(shape.around(transport.server(authority: "inner.example")).authority == "inner.example")
        #expect(shape.around(transport).server(authority: "outer.example").authority == "outer.example")
        #expect(shape.around(transport).authority == nil)
    }

    @Test func outermostServerTakesPrecedence() {
        let network = MockTransport().server(authority: "inner.example").logged(using: .silent)
            .server(authority: "outer.example")

        #expect(network.authority == "outer.example")
    }

    @Test(arguments: Shape.all)
    func responseHasTheRequestOfTheCallerAndTheSentRequest(shape: Shape) async throws {
        let network = shape.around(MockTransport { _ in .ok() }.server(authority: "api.example.com"))
        let request = HTTPRequestData(path: "users")

        let response = try await network.data(request)

        #expect(response.request == request)
        #expect(response.request.id == request.id)
        #expect(response.request.authority == nil)
        #expect(response.sentRequest.url?.absoluteString == "https://api.example.com/users")
        #expect(response.sentRequest.id == request.id)
    }

    @Test func responseHasTheRequestOfTheCallerIfNothingWasSent() async throws {
        let network = MockTransport().modified(ResponseReplacing()).server(authority: "api.example.com")
        let request = HTTPRequestData(path: "users")

        let response = try await network.data(request)

        #expect(response.request.authority == nil)
        #expect(response.sentRequest.authority == "api.example.com")
    }

    @Test func sentRequestIsNotRewrittenAgain() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = transport.server(prefixPath: "v1").server { $0.step("once") }.server(authority: "api.example.com")

        let first = try await network.data(HTTPRequestData(path: "users"))
        let second = try await network.data(first.sentRequest)
        try await network.logged(using: .silent).data(second.sentRequest)

        #expect(transport.requests.map(\.path) == ["/v1/users", "/v1/users", "/v1/users"])
        #expect(transport.requests.map { $0.headerFields[values: .step] } == [["once"], ["once"], ["once"]])
    }

    @Test func requestOfTheCallerIsRewrittenForEachSend() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = transport.server(prefixPath: "v1").server(authority: "api.example.com")

        let first = try await network.data(HTTPRequestData(path: "users"))
        try await network.data(first.request)

        #expect(transport.requests.map(\.path) == ["/v1/users", "/v1/users"])
    }

    @Test func requestThatAModifierCreatesIsRewrittenUpstream() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = transport.server(authority: "api.example.com").modified(Refreshing(path: "token"))

        try await network.data(HTTPRequestData(path: "users"))

        #expect(
            transport.requests.map(\.url?.absoluteString) == [
                "https://api.example.com/token", "https://api.example.com/users",
            ]
        )
    }

    @Test func stacksWithASharedTransportAreIndependent() async throws {
        let transport = MockTransport { request in .text(request.authority ?? "") }
        let recorder = RequestRecorder()
        let shared = transport.recorded(by: recorder)
        let blue = shared.server(authority: "blue.example").server(prefixPath: "blue")
        let green = shared.logged(using: .silent).server(authority: "green.example").server(prefixPath: "green")

        try await withThrowingTaskGroup { group in
            for number in 0..<200 {
                group.addTask {
                    let isBlue = number.isMultiple(of: 2)
                    let request = HTTPRequestData(path: "\(number)")
                    let response = isBlue ? try await blue.data(request) : try await green.data(request)
                    let name = isBlue ? "blue" : "green"
                    #expect(response.sentRequest.url?.absoluteString == "https://\(name).example/\(name)/\(number)")
                    #expect(String(decoding: response.data, as: UTF8.self) == "\(name).example")
                }
            }
            try await group.waitForAll()
        }

        #expect(recorder.requests.count == 200)
        #expect(recorder.requests.count { $0.authority == "blue.example" } == 100)
    }

    @Test func oneModifierValueServesSeveralStacks() async throws {
        let transport = MockTransport { _ in .ok() }
        let rewrite = Stepping(name: "shared")
        let first = transport.modified(rewrite).server(authority: "first.example")
        let second = transport.modified(rewrite).server(authority: "second.example")

        try await first.data(HTTPRequestData())
        try await second.data(HTTPRequestData())

        #expect(transport.requests.map(\.authority) == ["first.example", "second.example"])
        #expect(transport.requests.allSatisfy { $0.headerFields[values: .step] == ["shared"] })
    }

    @Test(arguments: Shape.all)
    func resolvedReturnsTheRequestForTheTransport(shape: Shape) async throws {
        let transport = MockTransport { _ in .ok() }
        let network = shape.around(transport.server(prefixPath: "v1").server { $0.step("inner") })
            .server(authority: "api.example.com")
        let request = HTTPRequestData(method: .post, path: "users", body: .json(["name": "Emily"]))

        let resolved = network.resolved(request)
        #expect(transport.requests.isEmpty)
        try await network.data(request)

        #expect(resolved.url?.absoluteString == "https://api.example.com/v1/users")
        #expect(resolved.headerFields[.contentType] == "application/json")
        #expect(transport.requests.allSatisfy { $0 == resolved })
    }

    @Test func sendingAResolvedRequestDoesNotRewriteItAgain() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = transport.server(prefixPath: "v1").server(authority: "api.example.com")

        let resolved = network.resolved(HTTPRequestData(path: "users"))
        try await network.data(network.resolved(resolved))

        #expect(transport.requests.map(\.path) == ["/v1/users"])
    }

    @Test func resolvingDoesNotValidateTheRequest() {
        #expect(MockTransport().resolved(HTTPRequestData(path: "users")).authority == nil)
    }

    @Test func cancelledCallReachesNoModifier() async {
        let journal = Journal()
        let network = MockTransport { _ in .ok() }.modified(Noting(name: "modifier", journal: journal))
        let call = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await network.data(.users)
        }

        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(journal.entries.isEmpty)
    }

    @Test func invalidRequestReachesNoModifier() async {
        let journal = Journal()
        let network = MockTransport { _ in .ok() }.modified(Noting(name: "modifier", journal: journal))

        let error = await #expect(throws: NetworkingError.self) {
            try await network.data(HTTPRequestData(path: "users"))
        }

        #expect(error?.kind == .invalidRequest)
        #expect(error?.reason.contains(".server(authority:)") == true)
        #expect(journal.entries.isEmpty)
    }

    @Test func requestThatAModifierInvalidatesReachesNoTransport() async {
        let transport = MockTransport { _ in .ok() }
        let network = transport.modified(FieldInvalidating())

        let error = await #expect(throws: NetworkingError.self) { try await network.data(.users) }

        #expect(error?.kind == .invalidRequest)
        #expect(transport.requests.isEmpty)
    }

    @Test func sinkReceivesTheBodyOnceThroughSeveralParts() async throws {
        let sink = CollectingSink()
        let request = HTTPRequestData.users.with { $0.sink = sink }
        let network = AnyNetworkingComponent(MockTransport { _ in .text("body") }.logged(using: .silent)).numbered()
            .modified(Passing())

        let response = try await network.data(request)

        #expect(sink.data == Data("body".utf8))
        #expect(sink.finished == 1)
        #expect(sink.heads.count == 1)
        #expect(response.body == .delivered(byteCount: 4))
    }

    @Test func errorOfAnotherComponentIsThrownUnchanged() async {
        struct Foreign: Error {}
        let network = Failing(error: Foreign()).logged(using: .silent).numbered().checkedStatusCode()

        await #expect(throws: Foreign.self) { try await network.data(.users) }
    }

    @Test func absentModifierChangesNothing() async throws {
        let transport = MockTransport { _ in .ok() }
        let absent: Stepping? = nil
        let network = transport.modified(absent)

        try await network.data(.users)

        #expect(transport.requests.map { $0.headerFields[values: .step] } == [[]])
        #expect(network.outline == "MockTransport")
    }

    @Test func presentOptionalModifierRewritesAndSends() async throws {
        let transport = MockTransport { _ in .ok() }
        let rewriting: Stepping? = Stepping(name: "present")
        let resending: Resent? = Resent(times: 2)

        try await transport.modified(resending).modified(rewriting).data(.users)

        #expect(transport.requests.map { $0.headerFields[values: .step] } == [["present"], ["present"]])
    }

    // MARK: A bare transport

    @Test(arguments: [true, false])
    func bareTransportPreparesTheRequestAndFillsTheSink(isErased: Bool) async throws {
        let transport = MockTransport { _ in .text("body") }
        let network: any NetworkingComponent = isErased ? AnyNetworkingComponent(transport) : transport
        let sink = CollectingSink()
        var request = HTTPRequestData(method: .post, authority: "api.example.com", body: .json(["a": 1]))
        request.sink = sink

        let response = try await network.send(request)

        let sent = try #require(transport.requests.first)
        #expect(sent.scheme == "https")
        #expect(sent.path == "/")
        #expect(sent.headerFields[.contentType] == "application/json")
        #expect(response.request.scheme == nil)
        #expect(response.request.id == request.id)
        #expect(response.sentRequest.path == "/")
        #expect(sink.finished == 1)
        #expect(response.body == .delivered(byteCount: 4))
    }

    @Test func bareTransportRefusesInvalidRequests() async {
        let transport = MockTransport { _ in .ok() }

        let error = await #expect(throws: NetworkingError.self) {
            try await transport.send(HTTPRequestData(path: "users"))
        }

        #expect(error?.kind == .invalidRequest)
        #expect(transport.requests.isEmpty)
    }

    @Test func dataPreparesTheRequestOfACustomComponent() async throws {
        let response = try await Echo().data(HTTPRequestData(authority: "api.example.com"))

        #expect(response.sentRequest.url?.absoluteString == "https://api.example.com/")
        #expect(response.request.scheme == nil)
    }

    // MARK: Outline

    @Test func outlinePrintsTheStackOutermostFirst() throws {
        let absent: Passing? = nil
        let present: Stepping? = Stepping(name: "present")
        let baseURL = try #require(URL(string: "https://api.example.com:8443/v1/"))
        let inner = MockTransport()
            .timeout(.seconds(10))
            .modified(absent)
            .modified(Passing())
            .recorded(by: RequestRecorder())
        let network = AnyNetworkingComponent(inner)
            .modified(present)
            .numbered()
            .delayed(by: .milliseconds(1_500))
            .logged(level: .debug, detail: .body(limit: 16))
            .checkedStatusCode()
            .deadline(.seconds(30))
            .server(baseURL: baseURL)
            .server(authority: "api.example.com", overriding: true)
            .server(scheme: "http")
            .server(path: "index")
            .server(prefixPath: "v1")
            .server(headerField: .authorization, "Bearer secret")
            .server(customHeaderField: "X-Custom", "value", overriding: true)
            .server(userAgent: "Shop/2.1")
            .server(authenticationMethod: .bearer)
            .server { _ in }

        #expect(
            network.outline == """
                server(mutateRequest)
                server(authenticationMethod: bearer)
                server(headerField: User-Agent)
                server(customHeaderField: X-Custom, overriding: true)
                server(headerField: Authorization)
                server(prefixPath: "v1")
                server(path: "index")
                server(scheme: "http")
                server(authority: "api.example.com", overriding: true)
                server(baseURL: "https://api.example.com:8443/v1/")
                deadline(30.0 seconds)
                checkedStatusCode
                logged(level: debug, detail: body(limit: 16))
                delayed(by: 1.5 seconds)
                numbered
                Stepping
                recorded
                Passing
                timeout(10.0 seconds)
                MockTransport
                """
        )
    }

    @Test func outlineOfAnExistentialIsThatOfItsStack() {
        let network: any NetworkingComponent = UnimplementedTransport().numbered()

        #expect(network.outline == "numbered\nUnimplementedTransport")
    }

    /// A computed property has no name to print on Linux, and its address differs in each run.
    @Test func outlineNamesPropertiesEquallyInEachRun() {
        let network = MockTransport()
            .environment(\.tenant, "secret tenant")
            .server(mutate: \.maximumResponseBytes) { $0 }

        let lines = network.outline.split(separator: "\n")

        #expect(lines.count == 3)
        #expect(lines[0].hasPrefix("server(mutate: \\HTTPRequestData."))
        #expect(lines[1].hasPrefix("environment(\\NetworkEnvironment."))
        #expect(!network.outline.contains("0x"))
    }

    @Test func outlineRedactsTheValueOfTheEnvironment() {
        let network = MockTransport().environment(\.tenant, "secret tenant")

        #expect(!network.outline.contains("secret"))
    }

    @Test func outlineRedactsCredentialsOfAnAuthority() {
        let network = MockTransport().server(authority: "emily:secret@api.example.com")

        #expect(!network.outline.contains("secret"))
    }
}

// MARK: - Shapes

extension ModifiedTests {
    /// A way to build a stack around a component.
    struct Shape: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var sendsPerCall = 1
        let wrap: @Sendable (any NetworkingComponent) -> any NetworkingComponent

        func around(_ component: some NetworkingComponent) -> any NetworkingComponent {
            wrap(component)
        }

        static let all: [Shape] = [
            Shape(testDescription: "bare") { $0 },
            Shape(testDescription: "modified once") { $0.modified(Passing()) },
            Shape(testDescription: "modified five times") {
                $0.logged(using: .silent).numbered().checkedStatusCode().modified(Passing()).timeout(.seconds(5))
            },
            Shape(testDescription: "erased") { AnyNetworkingComponent($0) },
            Shape(testDescription: "erased between modifiers") {
                AnyNetworkingComponent(AnyNetworkingComponent($0.numbered()).modified(Passing()))
            },
            Shape(testDescription: "absent") { $0.modified(Passing?.none) },
            Shape(testDescription: "absent between modifiers") {
                $0.numbered().modified(Passing?.none).modified(Passing?(Passing()))
            },
            Shape(testDescription: "in an environment") {
                $0.environment(\.random, .seeded(1)).deadline(.seconds(5)).delayed(by: .zero)
            },
            Shape(testDescription: "sent three times", sendsPerCall: 3) { $0.numbered().resent(times: 3) },
            Shape(testDescription: "sent six times, erased", sendsPerCall: 6) {
                AnyNetworkingComponent($0.resent(times: 2)).modified(Resent?(Resent(times: 3)))
            },
        ]
    }
}

// MARK: - Parts

extension HTTPRequestData {
    fileprivate static var users: HTTPRequestData {
        HTTPRequestData(authority: "api.example.com", path: "users")
    }

    fileprivate mutating func step(_ name: String) {
        headerFields.append(name: .step, value: name)
    }
}

extension HTTPField.Name {
    fileprivate static let step = HTTPField.Name("X-Step")!
}

private struct Passing: NetworkingModifier {}

private struct Noting: NetworkingModifier {
    let name: String
    let journal: Journal

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        journal.note("\(name) in")
        defer { journal.note("\(name) out") }
        return try await upstream.send(request)
    }
}

private struct Stepping: NetworkingModifier {
    let name: String

    func resolve(_ request: inout HTTPRequestData) {
        request.step(name)
    }
}

private struct FieldInvalidating: NetworkingModifier {
    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        var request = request
        request.headerFields[.accept] = "text/plain\r\nX-Injected: 1"
        return try await upstream.send(request)
    }
}

private struct ResponseReplacing: NetworkingModifier {
    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        HTTPResponseData(request: request)
    }
}

/// Sends its own request before each request.
private struct Refreshing: NetworkingModifier {
    let path: String

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        _ = try await upstream.send(HTTPRequestData(path: path))
        return try await upstream.send(request)
    }
}

private struct PrincipalReplacing: NetworkingModifier {
    let principal: Principal

    func principal(for request: HTTPRequestData, upstream: some NetworkingComponent) -> Principal? {
        principal
    }
}

private struct Authenticated: NetworkingComponent {
    let principal: Principal

    func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        HTTPResponseData(request: request)
    }

    func principal(for request: HTTPRequestData) -> Principal? {
        principal
    }
}

private struct Echo: NetworkingComponent {
    func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        HTTPResponseData(request: request)
    }
}

private struct Failing: NetworkingComponent {
    let error: any Error

    func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        throw error
    }
}
