import Foundation
import Networking
import NetworkingTesting
import Synchronization
import Testing

/// For each law a modifier that breaks that one and no other.
@Suite(.timeLimit(.minutes(5)))
struct CheckLawsTests {
    @Test func modifierThatKeepsThemPasses() async throws {
        try await checkLaws(of: Passing())
        try await checkLaws { AnyNetworkingComponent($0.modified(Passing()).modified(Passing?.none)) }
    }

    static let breaking = [
        Breaking("A request that is answered with 200 is sent 2 times, not once.") { request, upstream in
            _ = try await upstream.send(request)
            return try await upstream.send(request)
        },
        Breaking("A request that is answered with 200 fails with Refusal.") { request, upstream in
            let response = try await upstream.send(request)
            guard request.sink != nil else { throw Refusal() }
            return response
        },
        Breaking("The response to a request does not come back: 418 I'm a teapot.") { request, upstream in
            var response = try await upstream.send(request)
            if request.sink == nil {
                response.status = .teapot
            }
            return response
        },
        Breaking("Another component's error does not pass through as it is: Wrapped.") { request, upstream in
            do {
                return try await upstream.send(request)
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                throw Wrapped(error: error)
            }
        },
        Breaking("An error of the upstream is swallowed.") { request, upstream in
            do {
                return try await upstream.send(request)
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                return HTTPResponseData(request: request)
            }
        },
        Breaking(
            "A cancelled caller gets Wrapped, not CancellationError itself.",
            "A caller that was cancelled before it began does not get CancellationError."
        ) { request, upstream in
            do {
                return try await upstream.send(request)
            } catch let error as CancellationError {
                throw Wrapped(error: error)
            }
        },
        Breaking(
            "A cancelled caller gets a response.",
            "A caller that was cancelled before it began does not get CancellationError."
        ) { request, upstream in
            do {
                return try await upstream.send(request)
            } catch is CancellationError {
                return HTTPResponseData(request: request)
            }
        },
        Breaking("Something is sent after the caller was cancelled: 2 requests.") { request, upstream in
            do {
                return try await upstream.send(request)
            } catch is CancellationError {
                return try await upstream.send(request)
            }
        },
        Breaking(
            "A cancelled caller does not cancel the upstream.",
            "A caller that was cancelled before it began still sends."
        ) { request, upstream in
            let work = Task { try await upstream.send(request) }
            return try await work.value
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
        Breaking("The sink hears 2 times, not once, that its body is complete.") { request, upstream in
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
        Breaking("A caller that was cancelled before it began still sends.") { request, upstream in
            guard Task.isCancelled else { return try await upstream.send(request) }
            return try await Task.detached { try await upstream.send(request) }.value
        },
        Breaking("A caller that was cancelled before it began does not get CancellationError.") { request, upstream in
            if Task.isCancelled { throw Refusal() }
            return try await upstream.send(request)
        },
        Breaking("A request with a sink fails with Refusal.") { request, upstream in
            guard request.sink == nil else { throw Refusal() }
            return try await upstream.send(request)
        },
    ]

    @Test(arguments: breaking)
    func brokenLawIsNamed(modifier: Breaking) async {
        let violations = await #expect(throws: LawViolations.self) { try await checkLaws(of: modifier) }

        #expect(violations?.sentences == modifier.sentences)
    }

    @Test func impureResolveIsNamed() async {
        let violations = await #expect(throws: LawViolations.self) { try await checkLaws(of: Counting()) }

        #expect(violations?.sentences == ["resolve is not pure: it gives different results for the same request."])
    }

    @Test func hiddenPrincipalIsNamed() async {
        let violations = await #expect(throws: LawViolations.self) { try await checkLaws(of: Hiding()) }

        #expect(
            violations?.sentences == ["The upstream's principal does not show: caches outside would mix up users."]
        )
    }

    @Test func resolveThatIsNotForwardedIsNamed() async {
        let violations = await #expect(throws: LawViolations.self) {
            try await checkLaws { AnyNetworkingComponent(Forgetful(upstream: $0)) }
        }

        #expect(
            violations?.sentences == [
                "The chain upstream is resolved 0 times a send, not once: "
                    + "pass on the request that came in, and forward resolve."
            ]
        )
    }

    @Test func requestOfOnesOwnIsSent() async throws {
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

        #expect(Set(seen.withLock { $0 }) == ["DELETE https://own.example/thing"])
    }

    @Test func everyBrokenLawIsNamedASentenceALine() async {
        let violations = await #expect(throws: LawViolations.self) {
            try await checkLaws { AnyNetworkingComponent($0.modified(Hiding()).modified(Counting())) }
        }

        #expect(violations?.sentences.count == 2)
        #expect(violations?.description.split(separator: "\n").count == 2)
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

private struct Refusal: Error {}

private struct Wrapped: Error {
    let error: any Error
}

extension HTTPResponse.Status {
    fileprivate static let teapot = HTTPResponse.Status(code: 418, reasonPhrase: "I'm a teapot")
}

/// Its `resolve` counts.
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

/// A component that wraps another without forwarding `resolve`.
private struct Forgetful: NetworkingComponent {
    let upstream: AnyNetworkingComponent

    func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        try await upstream.send(request)
    }

    func principal(for request: HTTPRequestData) -> Principal? {
        upstream.principal(for: request)
    }
}
