import Foundation
import HTTPTypes
import Networking
import Synchronization
import TestSupport
import Testing

@testable import NetworkingTesting

/// Modifiers that break exactly one law each.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct CheckLawsTests {
    @Test func acceptsAModifierThatKeepsTheLaws() async throws {
        try await checkLaws(of: Passing())
        try await checkLaws { AnyNetworkingComponent($0.modified(Passing()).modified(Passing?.none)) }
    }

    static let breaking = [
        Breaking("A request with the response 200 is sent 2 times, not once.") { request, upstream in
            _ = try await upstream.send(request)
            return try await upstream.send(request)
        },
        Breaking(
            "A request with the response 200 fails with Refusal.",
            "The law could not be checked: the request fails with Refusal.",
            "After a request that was cancelled and one that failed, the next one fails although the upstream returns "
                + "a response.",
            "One of several concurrent callers fails."
        ) { request, upstream in
            let response = try await upstream.send(request)
            guard request.sink != nil else { throw Refusal() }
            return response
        },
        Breaking("The caller does not get the response to its request: 418 I'm a teapot.") { request, upstream in
            var response = try await upstream.send(request)
            if request.sink == nil {
                response.status = .teapot
            }
            return response
        },
        Breaking(
            "The error of another component is changed: Wrapped.",
            "The error that truncates a body on its way to the sink becomes Wrapped."
        ) { request, upstream in
            do {
                return try await upstream.send(request)
            } catch  where !(error is CancellationError) {
                throw Wrapped(error: error)
            }
        },
        Breaking(
            "An error of the upstream is swallowed.",
            "A body that is truncated on its way to the sink causes no error."
        ) { request, upstream in
            do {
                return try await upstream.send(request)
            } catch  where !(error is CancellationError) {
                return HTTPResponseData(request: request)
            }
        },
        Breaking(
            "A cancelled caller gets Wrapped, not CancellationError itself.",
            "A caller that was cancelled before it started does not get CancellationError."
        ) { request, upstream in
            do {
                return try await upstream.send(request)
            } catch let error as CancellationError {
                throw Wrapped(error: error)
            }
        },
        Breaking(
            "A cancelled caller gets a response.",
            "A caller that was cancelled before it started does not get CancellationError."
        ) { request, upstream in
            do {
                return try await upstream.send(request)
            } catch is CancellationError {
                return HTTPResponseData(request: request)
            }
        },
        Breaking("Requests are sent after the caller was cancelled: 2.") { request, upstream in
            do {
                return try await upstream.send(request)
            } catch is CancellationError {
                return try await upstream.send(request)
            }
        },
        Breaking("The sink gets 3 bytes of a body of 12.") { request, upstream in
            var response = try await upstream.send(request)
            if let sink = request.sink {
                try await sink.receive(response.data.prefix(3))
                try await sink.finish()
                response.body = .delivered(byteCount: 12)
            }
            return response
        },
        Breaking("The sink gets 24 bytes of a body of 12.") { request, upstream in
            let response = try await upstream.send(request)
            try await request.sink?.receive(response.data)
            return response
        },
        Breaking("The sink is notified 2 times, not once, that its body is complete.") { request, upstream in
            let response = try await upstream.send(request)
            try await request.sink?.finish()
            return response
        },
        Breaking("A body that went to the sink is not reported as delivered.") { request, upstream in
            var response = try await upstream.send(request)
            if let sink = request.sink {
                try await sink.receive(response.data)
                try await sink.finish()
                response.body = .delivered(byteCount: 0)
            }
            return response
        },
        Breaking("A caller that was cancelled before it started still sends a request.") { request, upstream in
            guard Task.isCancelled else { return try await upstream.send(request) }
            return try await Task.detached { try await upstream.send(request) }.value
        },
        Breaking("A caller that was cancelled before it started does not get CancellationError.") { request, upstream in
            if Task.isCancelled { throw Refusal() }
            return try await upstream.send(request)
        },
        Breaking("A NetworkingError is wrapped in another one.") { request, upstream in
            do {
                return try await upstream.send(request)
            } catch let error as NetworkingError {
                throw NetworkingError(error.kind, request: request, underlying: error)
            }
        },
        Breaking("A NetworkingError of kind tls becomes one of kind connection.") { request, upstream in
            do {
                return try await upstream.send(request)
            } catch is NetworkingError {
                throw NetworkingError(.connection, request: request)
            }
        },
        Breaking("A CancellationError of the upstream becomes Refusal.") { request, upstream in
            do {
                return try await upstream.send(request)
            } catch is CancellationError where !Task.isCancelled {
                throw Refusal()
            }
        },
        Breaking("A CancellationError of the upstream is swallowed.") { request, upstream in
            do {
                return try await upstream.send(request)
            } catch is CancellationError where !Task.isCancelled {
                return HTTPResponseData(request: request)
            }
        },
        Breaking("A NetworkingError of the upstream is swallowed.") { request, upstream in
            do {
                return try await upstream.send(request)
            } catch is NetworkingError {
                return HTTPResponseData(request: request)
            }
        },
        Breaking("A NetworkingError of the upstream becomes Refusal.") { request, upstream in
            do {
                return try await upstream.send(request)
            } catch is NetworkingError {
                throw Refusal()
            }
        },
        Breaking("A sink gets the body that it has refused.") { request, upstream in
            let response = try await upstream.send(request)
            if let sink = request.sink, try await sink.offer(response.http) == .refuse {
                try await sink.receive(response.data)
            }
            return response
        },
        Breaking("The sink is notified 0 times, not once, that its body is truncated.") { request, upstream in
            var request = request
            request.sink = request.sink.map { IgnoringFailures(sink: $0) }
            return try await upstream.send(request)
        },
        Breaking("A body that is truncated on its way to the sink causes no error.") {
            request,
            upstream in
            guard request.sink != nil else { return try await upstream.send(request) }
            do {
                return try await upstream.send(request)
            } catch {
                return HTTPResponseData(
                    request: request,
                    http: HTTPResponse(status: .ok),
                    body: .delivered(byteCount: 4)
                )
            }
        },
        Breaking("The error of a sink is swallowed.") { request, upstream in
            do {
                return try await upstream.send(request)
            } catch  where request.sink != nil && !(error is CancellationError) && "\(error)".hasPrefix("Full") {
                return HTTPResponseData(
                    request: request,
                    http: HTTPResponse(status: .ok),
                    body: .delivered(byteCount: 0)
                )
            }
        },
        Breaking("A request whose sink refuses the body fails.") { request, upstream in
            let response = try await upstream.send(request)
            if let sink = request.sink, try await sink.offer(response.http) == .refuse { throw Refusal() }
            return response
        },
        Breaking(
            "A request with a sink fails with Refusal.",
            "The error that truncates a body on its way to the sink becomes Refusal."
        ) { request, upstream in
            guard request.sink == nil else { throw Refusal() }
            return try await upstream.send(request)
        },
    ]

    @Test(arguments: breaking)
    func reportsTheBrokenLaw(modifier: Breaking) async {
        let violations = await #expect(throws: LawViolations.self) { try await checkLaws(of: modifier) }

        #expect(violations?.sentences == modifier.sentences)
    }

    @Test(.patience(.seconds(1)))
    func reportsAnUpstreamThatIsNotCancelled() async {
        let violations = await #expect(throws: LawViolations.self) {
            try await checkLaws(
                of: Breaking("nothing") { request, upstream in
                    let work = Task { try await upstream.send(request) }
                    return try await work.value
                }
            )
        }

        #expect(
            violations?.sentences == [
                "A cancelled caller does not cancel the upstream.",
                "A caller that was cancelled before it started still sends a request.",
            ]
        )
    }

    /// The description of a violation in a failed test.
    @Test func violationDescribesTheLawTheObservationAndTheFix() async {
        let violations = await #expect(throws: LawViolations.self) { try await checkLaws(of: Hiding()) }

        #expect(
            violations?.description
                == "principal: The principal of the upstream is not visible: caches outside would mix up users. "
                + "Forward principal(for:) to the upstream, or do not implement it. "
                + "A modifier that adds a credential implements it, and returns the user or service of the credential."
        )
    }

    @Test func skipsExceptedLaws() async throws {
        try await checkLaws(of: Hiding(), except: [.principal: "it is the whole point"])
        let violations = await #expect(throws: LawViolations.self) {
            try await checkLaws(of: Hiding(), except: [.oneSend: "something else"])
        }
        #expect(violations?.violations.map(\.law) == [.principal])
        #expect(violations?.exceptions == [.oneSend: "something else"])
        #expect(
            violations?.description.split(separator: "\n").last == "Not checked: oneSend, because something else."
        )
    }

    /// The first law that sends a request fills the modifier's memory, so this one has to be the first.
    @Test func reportsAModifierThatReturnsItsFirstResponseToAll() async {
        let violations = await #expect(throws: LawViolations.self) { try await checkLaws(of: FirstForAll()) }
        #expect(
            violations?.sentences
                .contains("One of several concurrent callers gets the response to the request of another caller.")
                == true
        )
    }

    @Test func reportsACacheThatIgnoresTheQuery() async {
        let violations = await #expect(throws: LawViolations.self) {
            try await checkLaws { AnyNetworkingComponent($0.modified(ByPath())) }
        }
        #expect(
            violations?.sentences.contains("A request that is sent again gets the response to another request.")
                == true
        )
    }

    /// The modifier sends nothing upstream, so it cannot break the laws about the upstream.
    @Test func acceptsAModifierThatNeverSendsWithOneException() async throws {
        try await checkLaws(except: [.oneSend: "it responds by itself"]) { upstream in
            AnyNetworkingComponent(upstream.mocked(where: { _ in true }, with: .text("hello")))
        }
    }

    @Test(.patience(.milliseconds(100)))
    func reportsARequestThatNeverEnds() async {
        let violations = await #expect(throws: LawViolations.self) { try await checkLaws(of: Stuck()) }

        let sentence = "The request never ends, although nothing blocks it."
        #expect(
            violations?.violations.map { "\($0.law): \($0.sentence)" } == [
                "oneSend: \(sentence)",
                "ownResponse: \(sentence)",
                "oneResolve: \(sentence)",
                "errors: \(sentence)",
                "cancellation: \(sentence)",
                "cancelledBefore: \(sentence)",
                "sinks: \(sentence)",
                "failedSinks: \(sentence)",
                "retention: \(sentence)",
                "nextRequest: \(sentence)",
                "concurrency: One of several concurrent callers waits forever.",
            ]
        )
    }

    @Test func cancelledCheckThrowsCancellationError() async throws {
        let (arrival, end) = (Suspension<Void>(), Suspension<Void>())
        let check = Task {
            try await checkLaws(
                of: Breaking("nothing") { _, _ in
                    arrival.resume()
                    do {
                        try await Suspension<Void>().value()
                    } catch {
                        end.resume()
                    }
                    // The modifier does not return even after its cancellation.
                    return try await Stuck.wait()
                }
            )
        }
        try await arrival.value()
        check.cancel()

        await #expect(throws: CancellationError.self) { try await check.value }
        try await end.value()
    }

    static let keeping: [(law: Law, sentence: String, make: @Sendable () -> any NetworkingModifier)] = [
        (.retention, "The sink of a request is kept after the request is over.", { Hoarding() }),
        (
            .retention, "The progress handler of a request is kept after the request is over.",
            { Hoarding(keepsSinks: false) }
        ),
        (.nextRequest, "After a request that was cancelled, the next one waits forever.", { Locking() }),
        (.nextRequest, "After a request that failed, the next one waits forever.", { Locking(forgets: false) }),
        (
            .concurrency, "One of several concurrent callers gets the response to the request of another caller.",
            { Confusing() }
        ),
    ]

    @Test(.patience(.seconds(1)), arguments: keeping.indices)
    func reportsBrokenState(index: Int) async throws {
        let (law, sentence, make) = Self.keeping[index]
        let violations = await #expect(throws: LawViolations.self) {
            try await checkLaws { AnyNetworkingComponent($0.modified(Erased(base: make()))) }
        }

        let violation = try #require(violations?.violations.first { $0.law == law })
        #expect(violation.sentence == sentence)
    }

    @Test(.patience(.seconds(1)))
    func reportsACallThatNeverReturns() async {
        let violations = await #expect(throws: LawViolations.self) { try await checkLaws(of: Stubborn()) }

        #expect(violations?.sentences == ["A cancelled caller does not return, although the upstream has returned."])
    }

    @Test(.patience(.seconds(1)))
    func reportsARetainedUpstream() async {
        let kept = Mutex<[AnyNetworkingComponent]>([])
        let violations = await #expect(throws: LawViolations.self) {
            try await checkLaws { upstream in
                kept.withLock { $0.append(upstream) }
                return upstream
            }
        }

        #expect(violations?.sentences == ["The upstream is kept after the stack is gone."])
    }

    @Test func reportsAnImpureResolve() async {
        let violations = await #expect(throws: LawViolations.self) { try await checkLaws(of: Counting()) }

        #expect(violations?.sentences == ["resolve is not pure: it returns different results for the same request."])
    }

    @Test func reportsAHiddenPrincipal() async {
        let violations = await #expect(throws: LawViolations.self) { try await checkLaws(of: Hiding()) }

        #expect(
            violations?.sentences == [
                "The principal of the upstream is not visible: caches outside would mix up users."
            ]
        )
    }

    @Test func reportsACredentialWithoutAPrincipal() async throws {
        let violations = await #expect(throws: LawViolations.self) { try await checkLaws(of: Keyed()) }

        #expect(
            violations?.sentences == [
                "A request is sent with a credential that names no principal: caches outside would mix up users."
            ]
        )
        try await checkLaws(of: Keyed(user: "emily"))
    }

    /// A new request is noted for the user who is signed in when it is sent.
    @Test func reportsARequestThatIsSentForAnotherUser() async {
        let modifier = Breaking("oneUser") { request, upstream in
            try await upstream.send(HTTPRequestData(method: request.method, url: try #require(request.url)))
        }
        let violations = await #expect(throws: LawViolations.self) { try await checkLaws(of: modifier) }
        #expect(
            violations?.violations.first { $0.law == .oneUser }?.sentence
                == "A request of one user is sent with the credentials of another user, who signed in before the "
                + "request arrived at the modifier."
        )
    }

    @Test func reportsARequestThatIsSentAgainForAnotherUser() async {
        let modifier = Breaking("oneUser") { request, upstream in
            let response = try await upstream.send(request)
            guard response.status == .serviceUnavailable else { return response }
            return try await upstream.data(request)
        }
        let violations = await #expect(throws: LawViolations.self) { try await checkLaws(of: modifier) }
        #expect(violations?.violations.map(\.law) == [.oneUser])
    }

    @Test func reportsAComponentWithoutItsUpstream() async {
        let violations = await #expect(throws: LawViolations.self) {
            try await checkLaws { AnyNetworkingComponent(Forgetful(base: $0)) }
        }

        #expect(violations?.violations.map(\.law) == [.oneResolve, .questions])
        #expect(
            violations?.sentences == [
                "The upstream chain is resolved 0 times per send, not once.",
                "The modifiers of the upstream are not among those of the stack, so diagnostics overlook them.",
            ]
        )
    }

    @Test func sendsTheGivenRequest() async throws {
        let seen = Mutex<[String]>([])
        let request = HTTPRequestData(method: .delete, authority: "own.example", path: "thing")

        try await checkLaws(sending: request) { upstream in
            AnyNetworkingComponent(
                upstream.modified(
                    Breaking("nothing") { request, upstream in
                        seen.withLock { $0.append("\(request)") }
                        return try await upstream.send(request)
                    }
                )
            )
        }

        let lines = Set(seen.withLock { $0 })
        #expect(lines.contains("DELETE https://own.example/thing"))
        #expect(lines.allSatisfy { $0.prefix { $0 != "?" } == "DELETE https://own.example/thing" })
    }

    @Test func reportsEveryBrokenLawOnItsOwnLine() async {
        let violations = await #expect(throws: LawViolations.self) {
            try await checkLaws { AnyNetworkingComponent($0.modified(Hiding()).modified(Counting())) }
        }

        #expect(violations?.sentences.count == 2)
        #expect(violations?.description.split(separator: "\n").count == 2)
    }
}

// MARK: - Components

extension CheckLawsTests {
    @Test func acceptsComponentsAndStacks() async throws {
        try await checkLaws(of: MockTransport { _ in .text("hello") })
        try await checkLaws(of: MockTransport { _ in .text("hello") }.retry().cached().numbered())
        try await checkLaws(
            of: MockTransport { _ in .text("hello") }.server(authority: "a.example"),
            sending: HTTPRequestData(path: "one")
        )
    }

    static let components: [(law: Law, sentence: String, component: @Sendable () -> AnyNetworkingComponent)] = [
        (
            .ownResponse, "response.request is not the caller's own request.",
            { AnyNetworkingComponent(Bare { _ in HTTPResponseData(request: .lawful) }) }
        ),
        (
            .ownResponse, "The request fails with Refusal; use a request that gets a response.",
            { AnyNetworkingComponent(Bare { _ in throw Refusal() }) }
        ),
        (
            .pureResolve, "resolve is not pure: it returns different results for the same request.",
            { AnyNetworkingComponent(MockTransport { _ in .ok() }.modified(Counting())) }
        ),
        (
            .cancelledBefore, "A caller that was cancelled before it started does not get CancellationError.",
            { AnyNetworkingComponent(Bare { HTTPResponseData(request: $0) }) }
        ),
        (
            .cancellation, "A cancelled caller gets Refusal, not CancellationError itself.",
            {
                AnyNetworkingComponent(
                    Bare { request in
                        if Task.isCancelled { throw Refusal() }
                        return HTTPResponseData(request: request)
                    }
                )
            }
        ),
        (
            .sinks,
            "The law could not be checked: the request fails with Refusal; use a request that gets a response.",
            { AnyNetworkingComponent(Bare { _ in throw Refusal() }) }
        ),
        (
            .sinks, "The sink gets 0 bytes of a body of 5, or different bytes.",
            { AnyNetworkingComponent(Bare { HTTPResponseData(request: $0, data: Data("hello".utf8)) }) }
        ),
        (
            .sinks, "A request with a sink fails, and one without does not.",
            {
                AnyNetworkingComponent(
                    Bare { request in
                        guard request.sink == nil else { throw Refusal() }
                        return HTTPResponseData(request: request)
                    }
                )
            }
        ),
    ]

    @Test(arguments: components.indices)
    func reportsTheBrokenLawOfAComponent(index: Int) async throws {
        let (law, sentence, component) = Self.components[index]
        let violations = await #expect(throws: LawViolations.self) { try await checkLaws(of: component()) }

        let violation = try #require(violations?.violations.first { $0.law == law })
        #expect(violation.sentence == sentence)
    }

    @Test(.patience(.milliseconds(100)))
    func reportsAComponentThatNeverReturns() async {
        let violations = await #expect(throws: LawViolations.self) {
            try await checkLaws(of: Bare { _ in try await Stuck.wait() })
        }

        let sentence = "The request never ends, although nothing blocks it."
        #expect(
            violations?.violations.map { "\($0.law): \($0.sentence)" } == [
                "ownResponse: \(sentence)",
                "cancellation: A cancelled caller does not return.",
                "cancelledBefore: \(sentence)",
                "sinks: \(sentence)",
                "nextRequest: After a request that was cancelled, the next one waits forever.",
            ]
        )
    }

    @Test(.patience(.seconds(1)))
    func reportsAComponentThatIgnoresCancellation() async {
        let calls = Mutex(0)
        let component = Bare { request in
            let call = calls.withLock { calls in
                calls += 1
                return calls
            }
            // The check sends eight requests before this one, which ignores its cancellation.
            guard call == 9 else { return HTTPResponseData(request: request) }
            while !Task.isCancelled {
                await Task.yield()
            }
            return try await Stuck.wait()
        }
        let violations = await #expect(throws: LawViolations.self) {
            try await checkLaws(
                of: component,
                except: [.sinks: "it is bare", .cancelledBefore: "it ignores cancellation"]
            )
        }

        #expect(violations?.violations.map(\.law) == [.cancellation])
        #expect(violations?.sentences == ["A cancelled caller does not return."])
    }

    @Test func reportsAComponentThatFailsAfterACancellation() async throws {
        let isBroken = Mutex(false)
        let component = Bare { request in
            do {
                try Task.checkCancellation()
            } catch {
                isBroken.withLock { $0 = true }
                throw error
            }
            if isBroken.withLock({ $0 }) { throw Refusal() }
            return HTTPResponseData(request: request)
        }
        let violations = await #expect(throws: LawViolations.self) {
            try await checkLaws(of: component, except: [.sinks: "it is bare", .cancellation: "it is stuck by then"])
        }

        #expect(violations?.violations.map(\.law) == [.nextRequest])
    }
}

/// A component without the guarantees that the library adds to transports.
private struct Bare: NetworkingComponent {
    let respond: @Sendable (HTTPRequestData) async throws -> HTTPResponseData

    func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        try await respond(request)
    }
}

// MARK: - Modifiers that break a law

extension CheckLawsTests {
    struct Breaking: NetworkingModifier, CustomTestStringConvertible {
        let sentences: [String]
        let body: @Sendable (HTTPRequestData, AnyNetworkingComponent) async throws -> HTTPResponseData

        init(
            _ sentences: String...,
            body: @escaping @Sendable (HTTPRequestData, AnyNetworkingComponent) async throws -> HTTPResponseData
        ) {
            self.sentences = sentences
            self.body = body
        }

        var testDescription: String {
            sentences.joined(separator: " ")
        }

        func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
            try await body(request, AnyNetworkingComponent(upstream))
        }
    }
}

private struct Passing: NetworkingModifier {}

/// Never returns to a cancelled caller.
private struct Stubborn: NetworkingModifier {
    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        try Task.checkCancellation()
        do {
            return try await upstream.send(request)
        } catch is CancellationError where Task.isCancelled {
            return try await Stuck.wait()
        }
    }
}

/// Never returns.
private struct Stuck: NetworkingModifier {
    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        try await Self.wait()
    }

    static func wait() async throws -> HTTPResponseData {
        // Cancellation does not reach a detached task.
        try await Task.detached { try await Suspension<HTTPResponseData>().value() }.value
    }
}

private struct Erased: NetworkingModifier {
    let base: any NetworkingModifier

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        try await base.send(request, upstream: upstream)
    }
}

/// Retains requests, or only their progress handlers.
private final class Hoarding: NetworkingModifier {
    private let keepsSinks: Bool
    private let requests = Mutex<[HTTPRequestData]>([])

    init(keepsSinks: Bool = true) {
        self.keepsSinks = keepsSinks
    }

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        var kept = request
        if !keepsSinks {
            kept.sink = nil
        }
        requests.withLock { $0.append(kept) }
        return try await upstream.send(request)
    }
}

/// Sends one request at a time, and stays locked after one that is cancelled or fails.
private final class Locking: NetworkingModifier {
    private let forgetsCancelled: Bool
    private let isLocked = Mutex(false)

    init(forgets forgetsCancelled: Bool = true) {
        self.forgetsCancelled = forgetsCancelled
    }

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        if isLocked.withLock({ $0 }) {
            try await Suspension<Void>().value()
        }
        do {
            return try await upstream.send(request)
        } catch {
            isLocked.withLock { $0 = forgetsCancelled || !(error is CancellationError) }
            throw error
        }
    }
}

/// Returns the first response with a body to every caller.
private final class Confusing: NetworkingModifier {
    private let last = Mutex<HTTPResponseData?>(nil)

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        let response = try await upstream.send(request)
        guard request.sink == nil, !response.data.isEmpty else { return response }
        return last.withLock { last in
            last = last ?? response
            return last ?? response
        }
    }
}

/// A sink that does not forward the failure of a body.
private struct IgnoringFailures: ResponseSink {
    let sink: any ResponseSink

    func offer(_ head: HTTPResponse) async throws -> SinkDecision {
        try await sink.offer(head)
    }

    func receive(_ chunk: Data) async throws {
        try await sink.receive(chunk)
    }

    func finish() async throws {
        try await sink.finish()
    }
}

private struct Refusal: Error {}

private struct Wrapped: Error {
    let error: any Error
}

extension HTTPResponse.Status {
    fileprivate static let teapot = HTTPResponse.Status(code: 418, reasonPhrase: "I'm a teapot")
}

/// Counts in `resolve`, so it returns different results.
private final class Counting: NetworkingModifier {
    private let count = Mutex(0)

    func resolve(_ request: inout HTTPRequestData) {
        let count = count.withLock { count in
            count += 1
            return count
        }
        request.query.count = "\(count)"
    }
}

private struct Hiding: NetworkingModifier {
    func principal(for request: HTTPRequestData, upstream: some NetworkingComponent) -> Principal? {
        nil
    }
}

/// A component that does not name the component that it sends through.
private struct Forgetful: NetworkingComponent {
    let base: AnyNetworkingComponent

    func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        try await base.send(request)
    }

    func principal(for request: HTTPRequestData) -> Principal? {
        base.principal(for: request)
    }
}

// MARK: - Patience

/// Shortens the time that the checks wait for a law to be kept.
///
/// Only tests in which that time runs out need it.
private struct Patience: TestTrait, TestScoping {
    let duration: Duration

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await LawCheck.$patience.withValue(duration) { try await function() }
    }
}

extension Trait where Self == Patience {
    fileprivate static func patience(_ duration: Duration) -> Patience {
        Patience(duration: duration)
    }
}

/// Returns its first response to every request.
private final class FirstForAll: NetworkingModifier {
    private let first = Mutex<Data?>(nil)

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        guard request.sink == nil else { return try await upstream.send(request) }
        if let data = first.withLock({ $0 }) { return HTTPResponseData(request: request, data: data) }
        let response = try await upstream.send(request)
        return HTTPResponseData(
            request: request,
            data: first.withLock { data in
                data = data ?? response.data
                return data ?? Data()
            }
        )
    }
}

/// Caches responses by path and ignores the query.
private final class ByPath: NetworkingModifier {
    private let memory = Mutex<(responses: [String: Data], sends: [String: Int])>(([:], [:]))

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        guard request.sink == nil else { return try await upstream.send(request) }
        let path = request.path ?? "/"
        let remembered = memory.withLock { memory -> Data? in
            let url = request.url?.absoluteString ?? ""
            memory.sends[url, default: 0] += 1
            // The concurrency law sends the same request twice. Both have to be sent, so the law about repeated
            // requests is the one that fails.
            return memory.sends[url, default: 0] > 2 ? memory.responses[path] : nil
        }
        if let remembered { return HTTPResponseData(request: request, data: remembered) }
        let response = try await upstream.send(request)
        memory.withLock { $0.responses[path] = response.data }
        return response
    }
}

/// Adds a credential to each request.
private struct Keyed: NetworkingModifier {
    var user: String?

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        var request = request
        request.setCredential("secret", forQueryItem: "key")
        return try await upstream.send(request)
    }

    func principal(for request: HTTPRequestData, upstream: some NetworkingComponent) -> Principal? {
        user.map { Principal(id: $0) } ?? upstream.principal(for: request)
    }
}
