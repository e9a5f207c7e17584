import Foundation
import HTTPTypes
import Networking
import NetworkingSigning
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

/// A signer with the key of the user who is signed in.
private final class KeyOfUser: RequestSigner {
    private let user = Mutex("alice")
    private let isChangedWhileSigning: Bool

    init(isChangedWhileSigning: Bool = false) {
        self.isChangedWhileSigning = isChangedWhileSigning
    }

    var keyID: String { user.withLock { $0 } }

    func signIn() {
        user.withLock { $0 = "bob" }
    }

    func sign(_ request: inout HTTPRequestData) async throws {
        if isChangedWhileSigning { signIn() }
        request.setCredential("signature of \(keyID)", for: .xSignature)
    }
}

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct SignedTests {
    private let transport = MockTransport { _ in .ok() }
    private let signer = NumberingSigner()

    private func stack(_ transport: some NetworkingComponent) -> some NetworkingComponent {
        transport.signed(with: signer).server(baseURL: URL(string: "https://api.example.com/v1")!)
    }

    // MARK: Signatures

    @Test func signsTheResolvedRequest() async throws {
        let request = HTTPRequestData(method: .post, path: "orders?b=1", body: .json(["a": 1]))
        let response = try await stack(transport).data(request)
        #expect(transport.signatures == ["secret-1"])
        #expect(signer.requests.map(\.absoluteString) == ["https://api.example.com/v1/orders?b=1"])
        #expect(signer.requests.map { $0.headerFields[.contentType] } == ["application/json"])
        #expect(response.request == request)
    }

    @Test func signatureIsForTheEndpointOnlyIfItIsAddedFurtherIn() async throws {
        let endpoints = ServerEndpoints("api.example.com", endpoints: ["eu.example.com"])
        let inside = transport.signed(with: signer).server(endpoints: endpoints)
        try await inside.data(HTTPRequestData(path: "orders"))
        #expect(signer.requests.map(\.authority) == ["eu.example.com"])
        #expect(inside.diagnostics.isEmpty)
        // A link that is followed to an endpoint is signed too, and one to another server is not.
        try await inside.data(HTTPRequestData(authority: "eu.example.com"))
        try await inside.data(HTTPRequestData(authority: "other.example.com"))
        #expect(transport.signatures == ["secret-1", "secret-2", nil])

        let outside = transport.server(endpoints: endpoints).signed(with: signer)
        try await outside.data(HTTPRequestData(path: "orders"))
        #expect(signer.requests.last?.authority == "api.example.com")
        #expect(transport.requests.last?.authority == "eu.example.com")
        #expect(outside.diagnostics.map(\.modifier).contains { $0?.hasPrefix("server(endpoints:") == true })
    }

    /// Reading the length of a file may wait for the disk, which a signer must not do on the thread of the caller.
    @Test(arguments: [false, true])
    func signerGetsTheLengthOfAFileWithoutReadingTheDisk(isPart: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "file")
            try Data(count: 5).write(to: file)
            let body = isPart ? RequestBody.multipart([.file(file, name: "a")]) : .file(file)
            let length = try #require(body.length)
            let lengths = Mutex<[Int64?]>([])
            let signer = NumberingSigner(before: { request in
                try FileManager.default.removeItem(at: file)
                lengths.withLock { $0.append(request.body?.length) }
                try Data(count: 5).write(to: file)
            })
            let network = transport.signed(with: signer).server(baseURL: URL(string: "https://api.example.com/v1")!)
            try await network.data(HTTPRequestData(method: .put, path: "file", body: body))
            #expect(lengths.withLock { $0 } == [length])
        }
    }

    /// The key of a signer may belong to the user who is signed in.
    @Test(arguments: ["while it waits", "while it is signed", "not at all"])
    func requestIsNotSignedWithTheKeyOfAnotherUser(change: String) async throws {
        let signer = KeyOfUser(isChangedWhileSigning: change == "while it is signed")
        let network = transport.signed(with: signer, at: ["api.example.com"])
            .modified(
                Sending { request, upstream in
                    if change == "while it waits" { signer.signIn() }
                    return try await upstream.send(request)
                }
            )
        let request = HTTPRequestData(authority: "api.example.com", path: "/orders")
        #expect(network.principal(for: request) == Principal(id: "alice"))
        let result = await Result { try await network.data(request) }
        guard change != "not at all" else {
            #expect(throws: Never.self) { try result.get() }
            #expect(transport.signatures == ["signature of alice"])
            return
        }
        let error = #expect(throws: NetworkingError.self) { try result.get() }
        #expect(error?.isOfAnotherUser == true)
        #expect(transport.requests.isEmpty)
    }

    @Test func responseBelongsToTheUserWhoseKeySignedTheRequest() async throws {
        let signer = KeyOfUser()
        let transport = MockTransport { _ in
            signer.signIn()
            return .ok()
        }
        let network = transport.signed(with: signer, at: ["api.example.com"])
        let response = try await network.data(HTTPRequestData(authority: "api.example.com"))
        #expect(response.principal == Principal(id: "alice"))
    }

    /// The app sends a request that a listener has received, over a stack that does not sign.
    @Test func requestOfAListenerKeepsNoSignature() async throws {
        let events = EventRecorder()
        let network = transport.observed(by: events).signed(with: signer, at: ["api.example.com"])
        try await network.data(HTTPRequestData(authority: "api.example.com", path: "/orders"))
        let seen = try #require(events.requests.first { $0.headerFields.contains(.xSignature) })
        try await transport.data(seen)
        try await network.data(seen)
        #expect(transport.signatures == ["secret-1", nil, "secret-2"])
    }

    /// The transport would add the type after signing, so the signature would not cover it.
    @Test func signsTheContentTypeOfABodySetByAModifier() async throws {
        struct Filling: NetworkingModifier {
            func send(
                _ request: HTTPRequestData,
                upstream: some NetworkingComponent
            ) async throws -> HTTPResponseData {
                try await upstream.send(request.with { $0.body = .json([1]) })
            }
        }
        try await stack(transport).modified(Filling())
            .data(HTTPRequestData(method: .post, authority: "api.example.com"))
        #expect(signer.requests.map { $0.headerFields[.contentType] } == ["application/json"])
    }

    @Test func signsEachAttempt() async throws {
        let transport = MockTransport([.status(.serviceUnavailable), .status(.serviceUnavailable), .ok()])
        let network = transport.signed(with: signer).retry(.immediate()).server(authority: "api.example.com")
        try await network.data(HTTPRequestData())
        #expect(transport.signatures == ["secret-1", "secret-2", "secret-3"])
        #expect(signer.requests.allSatisfy { !$0.headerFields.contains(.xSignature) })
    }

    @Test(arguments: [true, false])
    func signsEachRedirectToTheSameOrigin(isFollowedOutside: Bool) async throws {
        let transport = MockTransport([.redirect(to: "/b"), .redirect(to: "https://elsewhere.example/c"), .ok()])
        let network =
            isFollowedOutside
            ? AnyNetworkingComponent(transport.signed(with: signer).redirected().server(authority: "api.example.com"))
            : AnyNetworkingComponent(transport.signed(with: signer).server(authority: "api.example.com"))
        let response = try await network.data(HTTPRequestData(path: "a"))
        #expect(transport.requests.map(\.path) == ["/a", "/b", "/c"])
        #expect(transport.signatures == ["secret-1", "secret-2", nil])
        #expect(signer.requests.allSatisfy { !$0.headerFields.contains(.xSignature) })
        #expect(response.redirects.count == 2)
    }

    /// The result is the same whether the signer or an outer modifier follows the redirects.
    @Test(arguments: [true, false])
    func signsOnlyRedirectsThatTheExceptionAllows(isFollowedOutside: Bool) async throws {
        let transport = MockTransport([.redirect(to: "/b"), .redirect(to: "/public"), .ok()])
        let signed = transport.signed(with: signer) { $0.path?.hasPrefix("/public") == true }
        let network =
            isFollowedOutside
            ? AnyNetworkingComponent(signed.redirected().server(authority: "api.example.com"))
            : AnyNetworkingComponent(signed.server(authority: "api.example.com"))
        try await network.data(HTTPRequestData(path: "public/a"))
        #expect(transport.signatures == [nil, "secret-1", nil])
    }

    /// The policy applies as if its modifier were outside the signer.
    @Test(arguments: [RedirectPolicy.never, .follow(upTo: 1)])
    func followsTheRedirectPolicyOfAnInnerModifier(policy: RedirectPolicy) async throws {
        let transport = MockTransport([.redirect(to: "/b"), .redirect(to: "/c"), .ok()])
        let network = AnyNetworkingComponent(transport.timeout(.seconds(60)).redirected(policy))
            .signed(with: signer).server(authority: "api.example.com")
        if policy.limit == nil {
            #expect(try await network.data(HTTPRequestData(path: "a")).status == .found)
            #expect(transport.requests.count == 1)
        } else {
            let error = await #expect(throws: NetworkingError.self) {
                try await network.data(HTTPRequestData(path: "a"))
            }
            #expect(error?.kind == .tooManyRedirects)
            #expect(transport.requests.count == 2)
        }
    }

    @Test func redirectPolicyOfTheRequestOverridesTheStacks() async throws {
        let transport = MockTransport([.redirect(to: "/b"), .ok()])
        let network = transport.redirected(.never).signed(with: signer).server(authority: "api.example.com")
        #expect(try await network.data(HTTPRequestData(path: "a").with { $0.redirects = .follow }).status == .ok)
    }

    // MARK: Destinations

    @Test func signsOnlyRequestsToAllowedHosts() async throws {
        let network = transport.signed(with: signer, at: ["Files.example.com"]).server(authority: "api.example.com")
        for url in ["https://api.example.com", "https://files.example.com", "https://elsewhere.example"] {
            try await network.data(HTTPRequestData(url: try #require(URL(string: url))))
        }
        #expect(transport.signatures == ["secret-1", "secret-2", nil])
    }

    @Test func skipsExceptedAndAnonymousRequests() async throws {
        let network = transport.signed(with: signer) { $0.path == "/public" }.server(authority: "api.example.com")
        try await network.data(HTTPRequestData(path: "public"))
        try await network.data(HTTPRequestData().with { $0.authenticationMethod = .anonymous })
        try await network.data(HTTPRequestData().with { $0.authenticationMethod = .basic })
        #expect(transport.signatures == [nil, nil, "secret-1"])
    }

    @Test func throwsWithoutAServer() async {
        let error = await #expect(throws: NetworkingError.self) {
            try await transport.signed(with: signer).data(.lawful)
        }
        #expect(error?.kind == .invalidRequest)
        #expect(error?.reason.contains("server(authority:)") == true)
        #expect(transport.requests.isEmpty)
    }

    @Test func refusesToSignPlainHTTP() async {
        let signer = NumberingSigner(scheme: "Ticket")
        let network = transport.signed(with: signer).server(authority: "api.example.com")
        let error = await #expect(throws: NetworkingError.self) {
            try await network.data(HTTPRequestData(scheme: "http"))
        }
        #expect(error?.kind == .invalidRequest)
        #expect(transport.requests.isEmpty)
        #expect(!everyPrint(of: error as Any).contains("secret"))
    }

    // MARK: The Authorization field

    @Test func keepsAnExistingAuthorizationField() async throws {
        let signer = NumberingSigner(scheme: "Ticket")
        let network = transport.authenticated(with: BearerCredentials(token: "inner")).signed(with: signer)
            .server(authority: "api.example.com")
        try await network.data(HTTPRequestData())
        try await network.data(HTTPRequestData(headerFields: [.authorization: "Bearer own"]))
        try await network.data(HTTPRequestData().with { $0.authenticationMethod = .bearer })
        try await network.data(HTTPRequestData().with { $0.authenticationMethod = signer.method })
        let outside = transport.signed(with: signer).authenticated(with: BearerCredentials(token: "outer"))
            .server(authority: "api.example.com")
        try await outside.data(HTTPRequestData())
        #expect(
            transport.authorizations == [
                "Ticket secret-1", "Bearer own", "Bearer inner", "Ticket secret-2", "Bearer outer",
            ]
        )
    }

    @Test func signatureInACustomFieldIsSentWithAToken() async throws {
        let network = transport.signed(with: signer).authenticated(with: BearerCredentials(token: "outer"))
            .server(authority: "api.example.com")
        try await network.data(HTTPRequestData())
        #expect(transport.authorizations == ["Bearer outer"])
        #expect(transport.signatures == ["secret-1"])
    }

    // MARK: Principals

    @Test func responseBelongsToTheKey() async throws {
        let network = stack(transport)
        let response = try await network.data(HTTPRequestData())
        #expect(response.principal == Principal(id: "key"))
        #expect(network.principal(for: HTTPRequestData()) == Principal(id: "key"))
        let anonymous = HTTPRequestData().with { $0.authenticationMethod = .anonymous }
        #expect(network.principal(for: anonymous) == nil)
        #expect(try await network.data(anonymous).principal == nil)
    }

    @Test func cacheSeparatesKeys() async throws {
        let cache = ResponseCache()
        let transport = MockTransport { request in
            .ok(Data((request.headerFields[.xSignature] ?? "").utf8), headerFields: [.cacheControl: "max-age=60"])
        }
        var bodies: [Data] = []
        for key in ["one", "two", "one"] {
            let network = transport.signed(with: NumberingSigner(keyID: key)).cached(in: cache)
                .server(authority: "api.example.com")
            bodies.append(try await network.data(HTTPRequestData(path: "a")).data)
        }
        #expect(transport.requests.count == 2)
        #expect(bodies == [Data("secret-1".utf8), Data("secret-1".utf8), Data("secret-1".utf8)])
    }

    @Test func deduplicatedCallsShareOneSignature() async throws {
        let inFlightRequests = InFlightRequests()
        let gate = Suspension<Void>()
        let transport = MockTransport { _ in
            try await gate.value()
            return .ok()
        }
        let network = transport.signed(with: signer).deduplicated(sharing: inFlightRequests)
            .server(authority: "api.example.com")
        async let first = network.data(HTTPRequestData(path: "a"))
        async let second = network.data(HTTPRequestData(path: "a"))
        try await eventually("!(inFlightRequests.waiting < 2 || transport.requests.isEmpty)") {
            !(inFlightRequests.waiting < 2 || transport.requests.isEmpty)
        }
        gate.resume()
        #expect(try await first.status == .ok)
        #expect(try await second.status == .ok)
        #expect(transport.signatures == ["secret-1"])
    }

    // MARK: Signing again

    @Test func signsAgainTwiceAtMost() async throws {
        let signer = NumberingSigner(again: { _ in true })
        try await transport.signed(with: signer).server(authority: "api.example.com").data(HTTPRequestData())
        #expect(transport.signatures == ["secret-1", "secret-2", "secret-3"])
        #expect(signer.requests.allSatisfy { !$0.headerFields.contains(.xSignature) })
    }

    @Test func seesTheSignedRequestAndTheResponseWithinAnError() async throws {
        let signer = NumberingSigner(again: { response in
            response.status == .forbidden && response.sentRequest.headerFields[.xSignature] == "secret-1"
        })
        let transport = MockTransport([.status(.forbidden), .ok()])
        let network = transport.checkedStatusCode().signed(with: signer).server(authority: "api.example.com")
        #expect(try await network.data(HTTPRequestData()).status == .ok)
        #expect(transport.signatures == ["secret-1", "secret-2"])
    }

    @Test func doesNotSignAgainIfTheBodyCannotBeSentAgain() async throws {
        let signer = NumberingSigner(again: { _ in true })
        let body = RequestBody.stream(AsyncStream<Data> { $0.finish() })
        let network = transport.signed(with: signer).server(authority: "api.example.com")
        try await network.data(HTTPRequestData(method: .post, body: body))
        #expect(transport.signatures == ["secret-1"])
    }

    /// The sink would receive the bodies of both responses.
    @Test func doesNotSignAgainIfTheSinkHasReceivedABody() async throws {
        let signer = NumberingSigner(again: { $0.status == .forbidden })
        let transport = MockTransport([
            // The transport passes the chunks on to the sink as they arrive.
            .chunks([.text("refused")], status: .forbidden), .chunks([.text("hello")]),
        ])
        let network = transport.signed(with: signer).server(authority: "api.example.com")
        let takingSink = CollectingSink { _ in .take }
        let response = try await network.data(HTTPRequestData().with { $0.sink = takingSink })
        #expect(response.status == .forbidden)
        #expect(takingSink.data == Data("refused".utf8))
        let sink = CollectingSink()
        let skipped = MockTransport([.chunks([.text("refused")], status: .forbidden), .chunks([.text("hello")])])
        try await skipped.signed(with: signer).server(authority: "api.example.com")
            .data(HTTPRequestData().with { $0.sink = sink })
        #expect(sink.data == Data("hello".utf8))
    }

    @Test func resumingSinkRequestsTheRestWhenSignedAgain() async throws {
        let signer = NumberingSigner(again: { $0.status == .forbidden })
        let transport = MockTransport([
            .chunks([.text("refused")], status: .forbidden), .chunks([.text("hello")]),
        ])
        try await transport.signed(with: signer).server(authority: "api.example.com")
            .data(HTTPRequestData().with { $0.sink = ResumingSink(collector: CollectingSink { _ in .take }) })
        #expect(transport.requests.map { $0.headerFields[.range] } == [nil, "bytes=7-"])
    }

    /// A refusal by the target of a redirect says nothing about this signature.
    @Test func ignoresRefusalsOfAnotherServer() async throws {
        let signer = NumberingSigner(again: { $0.status == .unauthorized })
        let transport = MockTransport([
            .redirect(to: "https://elsewhere.example/"), .status(.unauthorized), .status(.unauthorized),
        ])
        let network = transport.signed(with: signer).server(authority: "api.example.com")
        #expect(try await network.data(HTTPRequestData()).status == .unauthorized)
        #expect(transport.signatures == ["secret-1", nil])
        let straying = transport.modified(Straying()).signed(with: signer).server(authority: "api.example.com")
        #expect(try await straying.data(HTTPRequestData()).status == .unauthorized)
        #expect(transport.signatures == ["secret-1", nil, "secret-2"])
    }

    /// Reports another server as the sender of the response, like a component that follows redirects by itself.
    private struct Straying: NetworkingModifier {
        func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
            var response = try await upstream.send(request)
            response.sentRequest = HTTPRequestData(authority: "elsewhere.example")
            return response
        }
    }

    // MARK: Failures

    private struct Mistake: Error {}

    @Test func sendsNothingIfTheSignerThrows() async {
        let signer = NumberingSigner(before: { _ in throw Mistake() })
        await #expect(throws: Mistake.self) {
            try await transport.signed(with: signer).server(authority: "api.example.com").data(HTTPRequestData())
        }
        #expect(transport.requests.isEmpty)
    }

    @Test func throwsTheSignersErrorAboutAResponse() async {
        let signer = NumberingSigner(again: { _ in throw Mistake() })
        await #expect(throws: Mistake.self) {
            try await transport.signed(with: signer).server(authority: "api.example.com").data(HTTPRequestData())
        }
        #expect(transport.requests.count == 1)
    }

    /// The caller gets `CancellationError` even if the signer throws another error.
    @Test func cancelledCallerGetsCancellationErrorWhileSigning() async throws {
        let started = Suspension<Void>()
        let signer = NumberingSigner(before: { _ in
            started.resume()
            do {
                try await Suspension<Void>().value()
            } catch {
                throw Mistake()
            }
        })
        let network = transport.signed(with: signer).server(authority: "api.example.com")
        let call = Task { try await network.data(HTTPRequestData()) }
        try await started.value()
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(transport.requests.isEmpty)
    }

    // MARK: In a stack

    @Test func diagnosticsReportASignerOutsideRetry() {
        let inside = transport.signed(with: signer).retry().server(authority: "api.example.com")
        #expect(inside.diagnostics.isEmpty)
        let outside = transport.retry().signed(with: signer).server(authority: "api.example.com")
        #expect(outside.diagnostics.count == 1)
        #expect(outside.diagnostics.first?.message.contains("the signature of the first") == true)
    }

    @Test func diagnosticsReportACacheInside() {
        let outside = transport.signed(with: signer).cached().server(authority: "api.example.com")
        #expect(outside.diagnostics.isEmpty)
        let inside = transport.cached().signed(with: signer).server(authority: "api.example.com")
        #expect(inside.diagnostics.count == 1)
        #expect(inside.diagnostics.first?.message.contains("inside signed") == true)
        let both = transport.cached().signed(with: signer).cached().server(authority: "api.example.com")
        #expect(both.diagnostics == [])
    }

    @Test func recommendedOrderHasNoDiagnostics() {
        let network = transport.timeout(.seconds(10)).signed(with: signer)
            .authenticated(with: BearerCredentials(token: "token")).throttled(max: 6)
            .rateLimited(to: 9, per: .seconds(1))
            .redirected().retry().deduplicated().cached().deadline(.seconds(30)).server(authority: "api.example.com")
        #expect(network.diagnostics == [])
        #expect(transport.signed(with: signer).modifiers.first?.stackPart.roles == [StackRole.signing])
        var request = HTTPRequestData()
        request.authenticationMethod = .anonymous
        #expect(transport.signed(with: signer).diagnostics(for: request) == [])
    }

    @Test func dropsASignatureIfTheServerChangedMeanwhile() async throws {
        let serverA = try #require(URL(string: "https://a.example"))
        let serverB = try #require(URL(string: "https://b.example"))
        let server = SwitchableServer(serverA)
        let signer = NumberingSigner(before: { _ in try server.change(to: serverB) })
        let network = transport.signed(with: signer).server(baseURL: server)

        try await network.data(HTTPRequestData(path: "me"))

        #expect(transport.requests.map(\.authority) == ["a.example"])
        #expect(transport.signatures == [nil])
    }

    @Test func optionsOfTheSignerAreRead() {
        struct DetailedSigner: RequestSigner {
            let keyID = "key"
            var stackPart: StackPart { StackPart(roles: [.adaptation], options: [.logDetail]) }

            func sign(_ request: inout HTTPRequestData) async throws {}
        }
        var request = HTTPRequestData()
        request.logDetail = .headers
        let signed = transport.signed(with: DetailedSigner())
        #expect(signed.diagnostics(for: request) == [])
        #expect(signed.modifiers.first?.stackPart.roles == [.signing, .adaptation])
        #expect(transport.signed(with: signer).diagnostics(for: request).count == 1)
    }

    @Test func outlineShowsTheSignerAndNoSecret() {
        let network = transport.signed(with: signer, at: ["b.example", "A.example"])
            .server(authority: "api.example.com")
        #expect(network.outline.contains("signed(with: NumberingSigner, at: a.example, b.example)\nMockTransport"))
        #expect("\(signer)" == "NumberingSigner(<redacted>)")
        #expect(!everyPrint(of: signer).contains("key"))
    }

    @Test func keepsTheLaws() async throws {
        for scheme in [nil, "Ticket"] {
            try await checkLaws(except: [.retention: "the signer of the test keeps requests"]) {
                AnyNetworkingComponent($0.signed(with: NumberingSigner(scheme: scheme), at: ["laws.example"]))
            }
        }
    }
}
