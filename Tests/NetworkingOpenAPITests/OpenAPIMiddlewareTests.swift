import Foundation
import HTTPTypes
import Logging
import Networking
import NetworkingOpenAPI
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

extension ClientFailure: ErrorWrapper {}

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct OpenAPIMiddlewareTests {
    private typealias Middleware = OpenAPIMiddleware<ClientBody>

    private let url = URL(string: "https://api.example.com/v1")!
    private let get = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/users")
    private let put = HTTPRequest(
        method: .put,
        scheme: nil,
        authority: nil,
        path: "/users",
        headerFields: [.contentType: "text/plain"]
    )

    /// The rest of a client, which records what it receives.
    private final class Rest: Sendable {
        struct Arrival: Sendable {
            let request: HTTPRequest
            let body: ClientBody?
            let url: URL
        }

        private let state: Mutex<(arrivals: [Arrival], responses: [Result<(HTTPResponse, ClientBody?), any Error>])>

        init(_ responses: [Result<(HTTPResponse, ClientBody?), any Error>]) {
            state = Mutex(([], responses))
        }

        convenience init(_ statuses: HTTPResponse.Status...) {
            self.init(statuses.map { .success((HTTPResponse(status: $0), ClientBody(["Hello"]))) })
        }

        var arrivals: [Arrival] {
            state.withLock { $0.arrivals }
        }

        var next: Middleware.Next {
            { [self] request, body, url in
                let response = state.withLock { state in
                    state.arrivals.append(Arrival(request: request, body: body, url: url))
                    return state.responses.isEmpty ? nil : state.responses.removeFirst()
                }
                _ = try await body?.text
                return try (response ?? .success((HTTPResponse(status: .ok), nil))).get()
            }
        }
    }

    @Test func passesAnUnchangedRequestOnAsItIs() async throws {
        let rest = Rest(.ok)
        let body = ClientBody(["Emily"], byteCount: 5)
        let (head, response) = try await Middleware { $0.logged(using: LogRecorder().logger()) }
            .intercept(put, body: body, baseURL: url, operationID: "putUser", next: rest.next)
        #expect(head.status == .ok)
        #expect(try await response?.text == "Hello")
        let arrival = try #require(rest.arrivals.first)
        #expect(arrival.request == put)
        #expect(arrival.url == url)
        #expect(arrival.body === body)
    }

    @Test func passesTheChangesOfAModifierOn() async throws {
        let rest = Rest(.ok)
        let middleware = Middleware { upstream in
            upstream.modified { request, upstream in
                var request = request
                request.headerFields[.userAgent] = "app/1"
                request.query["page"] = "2"
                request.body = .data(Data("Liam".utf8), contentType: "text/plain")
                return try await upstream.send(request)
            }
        }
        _ = try await middleware.intercept(
            put,
            body: ClientBody(["Emily"]),
            baseURL: url,
            operationID: "putUser",
            next: rest.next
        )
        let arrival = try #require(rest.arrivals.first)
        #expect(arrival.request.headerFields[.userAgent] == "app/1")
        #expect(arrival.request.path == "/v1/users?page=2")
        #expect(arrival.url.absoluteString.hasPrefix("https://api.example.com"))
        #expect(arrival.body?.byteCount == 4)
        #expect(try await arrival.body?.text == "Liam")
    }

    @Test func modifierKnowsTheOperation() async throws {
        let log = LogRecorder()
        let middleware = Middleware(Tagged(log: log))
        _ = try await middleware.intercept(get, body: nil, baseURL: url, operationID: "getUsers", next: Rest(.ok).next)
        #expect(log.messages == ["getUsers"])
    }

    private struct Tagged: NetworkingModifier {
        let log: LogRecorder

        func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
            log.logger().info("\(request.route ?? "none")")
            return try await upstream.send(request)
        }
    }

    @Test func retriesAFailedOperation() async throws {
        let rest = Rest(.serviceUnavailable, .ok)
        let (head, body) = try await Middleware { $0.retry().environment(\.clock, .immediate()) }
            .intercept(get, body: nil, baseURL: url, operationID: "getUsers", next: rest.next)
        #expect(head.status == .ok)
        #expect(try await body?.text == "Hello")
        #expect(rest.arrivals.count == 2)
    }

    /// The client wraps the errors of its transport, and the modifiers decide about the error inside.
    @Test func retriesAWrappedErrorOfTheTransport() async throws {
        let lost = NetworkingError(.connectionLost, request: .lawful)
        let rest = Rest([
            .failure(ClientFailure(underlyingError: lost)), .success((HTTPResponse(status: .ok), nil)),
        ])
        let (head, _) = try await Middleware { $0.retry().environment(\.clock, .immediate()) }
            .intercept(get, body: nil, baseURL: url, operationID: "getUsers", next: rest.next)
        #expect(head.status == .ok)
        #expect(rest.arrivals.count == 2)
    }

    @Test func wrappedCancellationIsACancellation() async {
        let rest = Rest([.failure(ClientFailure(underlyingError: CancellationError()))])
        await #expect(throws: CancellationError.self) {
            try await Middleware { $0.retry() }
                .intercept(get, body: nil, baseURL: url, operationID: "getUsers", next: rest.next)
        }
        #expect(rest.arrivals.count == 1)
    }

    @Test func otherErrorsPassThroughUnchanged() async {
        struct Broken: Error {}
        await #expect(throws: Broken.self) {
            try await Middleware { $0.retry() }
                .intercept(get, body: nil, baseURL: url, operationID: "getUsers", next: Rest([.failure(Broken())]).next)
        }
    }

    @Test func redirectIsAResponse() async throws {
        let redirect = HTTPResponse(status: .found, headerFields: [.location: "https://elsewhere.example.com/"])
        let rest = Rest([.success((redirect, nil))])
        let (head, _) = try await Middleware { $0.retry() }
            .intercept(get, body: nil, baseURL: url, operationID: "getUsers", next: rest.next)
        #expect(head.status == .found)
        #expect(rest.arrivals.count == 1)
    }

    @Test func secondNextWithABodyThatCanBeReadOnceIsAnError() async {
        let rest = Rest(.serviceUnavailable, .ok)
        let body = ClientBody(["Emily"], isReplayable: false)
        let middleware = Middleware { upstream in
            upstream.modified { request, upstream in
                _ = try await upstream.send(request)
                return try await upstream.send(request)
            }
        }
        let error = await #expect(throws: NetworkingError.self) {
            try await middleware.intercept(put, body: body, baseURL: url, operationID: "putUser", next: rest.next)
        }
        #expect(error?.kind == .bodyNotReplayable)
        #expect(error?.reason.contains("iteration behavior .multiple") == true)
        #expect(rest.arrivals.count == 1)
        #expect(body.timesRead == 1)
    }

    @Test func secondNextWithAReplayableBodyReadsItAgain() async throws {
        let rest = Rest(.serviceUnavailable, .ok)
        let body = ClientBody(["Emily"])
        let (head, _) = try await Middleware { $0.retry().environment(\.clock, .immediate()) }
            .intercept(put, body: body, baseURL: url, operationID: "putUser", next: rest.next)
        #expect(head.status == .ok)
        #expect(rest.arrivals.allSatisfy { $0.body === body })
    }

    @Test func retryDoesNotRepeatABodyThatCanBeReadOnce() async throws {
        let rest = Rest(.serviceUnavailable, .ok)
        let body = ClientBody(["Emily"], isReplayable: false)
        let (head, _) = try await Middleware { $0.retry().environment(\.clock, .immediate()) }
            .intercept(put, body: body, baseURL: url, operationID: "putUser", next: rest.next)
        #expect(head.status == .serviceUnavailable)
        #expect(rest.arrivals.count == 1)
    }

    @Test func stateOfAModifierIsSharedByOperations() async throws {
        let rest = Rest(.ok)
        let middleware = Middleware { $0.cached() }
        let fresh = HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=60"])
        let cacheable = Rest([.success((fresh, ClientBody(["Hello"])))])
        for next in [cacheable.next, rest.next] {
            let (_, body) = try await middleware.intercept(
                get,
                body: nil,
                baseURL: url,
                operationID: "getUsers",
                next: next
            )
            #expect(try await body?.text == "Hello")
        }
        #expect(rest.arrivals.isEmpty)
    }

    @Test func cancellationReachesTheRestOfTheClient() async throws {
        let (started, signal) = AsyncStream<Void>.makeStream()
        let middleware = Middleware { $0.retry() }
        let task = Task { [get, url] in
            try await middleware.intercept(get, body: nil, baseURL: url, operationID: "getUsers") { _, _, _ in
                signal.yield()
                try await Task.sleep(for: .seconds(1_000_000))
                return (HTTPResponse(status: .ok), nil)
            }
        }
        var starts = started.makeAsyncIterator()
        await starts.next()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    /// A modifier may leave a call behind, which either runs before the operation returns, or is refused.
    @Test func nextIsNotUsedAfterTheOperation() async throws {
        let running = Mutex(0)
        let late = Mutex<[Task<HTTPResponseData, any Error>]>([])
        let middleware = Middleware { upstream in
            upstream.modified { request, upstream in
                let task = Task {
                    var request = request
                    request.sink = nil
                    return try await upstream.send(request)
                }
                late.withLock { $0.append(task) }
                return try await upstream.send(request)
            }
        }
        for number in 0..<200 {
            let (head, _) = try await middleware.intercept(
                get,
                body: nil,
                baseURL: url,
                operationID: "getUsers"
            ) { _, _, _ in
                running.withLock { $0 += 1 }
                defer { running.withLock { $0 -= 1 } }
                for _ in 0..<(number % 8) {
                    await Task.yield()
                }
                return (HTTPResponse(status: .ok), ClientBody(["Hello"]))
            }
            #expect(head.status == .ok)
            #expect(running.withLock { $0 } == 0)
        }
        for task in late.withLock({ $0 }) {
            switch await task.result {
            case .success(let response): #expect(response.data == Data("Hello".utf8))
            case .failure(let error): #expect(error.networkingError?.kind == .rejected)
            }
        }
    }

    @Test func requestOfAnotherOriginHasNoTransport() async {
        let middleware = Middleware { upstream in
            upstream.modified { _, upstream in
                try await upstream.send(HTTPRequestData(url: URL(string: "https://login.example.com/token")!))
            }
        }
        let error = await #expect(throws: NetworkingError.self) {
            try await middleware.intercept(get, body: nil, baseURL: url, operationID: "getUsers", next: Rest().next)
        }
        #expect(error?.kind == .unimplemented)
    }

    @Test func restOfTheClientHasNoDiagnostics() {
        let middleware = Middleware { upstream in
            #expect(upstream.diagnostics.isEmpty)
            return upstream.retry()
        }
        _ = middleware
    }
}
