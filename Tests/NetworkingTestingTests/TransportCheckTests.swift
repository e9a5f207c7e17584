#if TestServer
import FoundationForNetworking
import HTTPTypes
import Networking
import NetworkingTestServer
@testable import NetworkingTesting
import TestSupport
import Testing

/// The checks run against transports with one defect each.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct TransportCheckTests {
    enum Defect: String, CaseIterable {
        case dropsBodies, dropsFields, changesMethods, returnsEmptyResponses, appendsBytes, renamesErrors, dropsSinks
        case offersTwice, neverOffers

        /// The checks that must detect the defect.
        var checks: [String] {
            switch self {
            case .dropsBodies:
                ["request body in memory", "1 MB echo", "stream of unknown length", "stress", "progress"]
            case .dropsFields: ["multi-value headers to the server", "empty header value", "ETag", "cookies"]
            case .changesMethods: ["methods", "request without a body"]
            case .returnsEmptyResponses:
                [
                    "statuses", "response bodies", "401 with its body", "basic redirects", "infinite redirects",
                    "concurrency",
                    "multi-value headers from the server", "maximum response bytes", "identity", "incomplete body",
                    "refused connection", "stall before the head", "cancel before the head", "cancel within the body",
                    "gzip", "under-read", "random bytes", "events",
                ]
            case .appendsBytes: ["response bodies", "empty chunked body", "redirects that are not followed"]
            case .renamesErrors: ["cancel before the head", "infinite redirects", "maximum response bytes"]
            case .dropsSinks: ["sink gets the body in order", "sink gets one chunk at a time"]
            case .offersTwice, .neverOffers: ["sink is offered each final head once"]
            }
        }

        func transport(for server: TestServer) -> AnyNetworkingComponent {
            let mock = MockTransport(respondingAs: server)
            switch self {
            case .dropsBodies: return AnyNetworkingComponent(mock.server(mutateRequest: { $0.body = nil }))
            case .dropsFields: return AnyNetworkingComponent(mock.server(mutateRequest: { $0.headerFields = [:] }))
            case .changesMethods: return AnyNetworkingComponent(mock.server(mutateRequest: { $0.method = .put }))
            case .dropsSinks: return AnyNetworkingComponent(mock.server(mutateRequest: { $0.sink = nil }))
            case .offersTwice: return AnyNetworkingComponent(OfferingTwice(upstream: mock))
            case .neverOffers: return AnyNetworkingComponent(NeverOffering(upstream: mock))
            case .returnsEmptyResponses: return AnyNetworkingComponent(MockTransport { _ in .ok() })
            case .appendsBytes:
                return AnyNetworkingComponent(
                    Altered(upstream: mock) { result in
                        var response = try result.get()
                        response.data += Data("!".utf8)
                        return response
                    }
                )
            case .renamesErrors:
                struct Renamed: Error {}
                return AnyNetworkingComponent(
                    Altered(upstream: mock) { result in
                        guard case .success(let response) = result else { throw Renamed() }
                        return response
                    }
                )
            }
        }
    }

    @Test(arguments: Defect.allCases)
    func reportsEachDefect(defect: Defect) async throws {
        for name in defect.checks {
            let check = try #require(TransportCheck.all.first { $0.name == name })
            let failure = await #expect(throws: ConformanceFailure.self, "\(name)") {
                try await check.run { server in defect.transport(for: server) }
            }
            #expect(failure?.check == name)
            #expect(failure?.description.hasPrefix("\(name): expected ") == true)
        }
    }

    /// Transports over sockets need not support this, but a transport can.
    @Test func acceptsATransportThatRespondsWhileItReads() async throws {
        let check = try #require(TransportCheck.all.first { $0.name == "interleaved echo" })
        try await check.run(on: EchoingTransport())
    }

    @Test func reportsAllFailuresTogether() async throws {
        let silent = MockTransport { _ in .ok() }
        let names = ["statuses", "ETag", "HEAD with length"]
        let others = Set(TransportCheck.all.map(\.name)).subtracting(names)
        let failures = await #expect(throws: ConformanceFailures.self) {
            try await checkConformance(of: silent, except: others)
        }
        #expect(failures?.failures.map(\.check) == names)
        #expect(failures?.description.split(separator: "\n").count == 3)
    }

    @Test func cancelledCheckThrowsCancellationError() async throws {
        let check = try #require(TransportCheck.all.first)
        let call = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await check.run(on: MockTransport { _ in .ok() })
        }
        let result = await call.result
        #expect(throws: CancellationError.self) { try result.get() }
    }
}

/// Delivers each chunk of the request's body to the sink before it reads the next one.
private struct EchoingTransport: NetworkingTransport {
    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        guard let body = request.body else { return HTTPResponseData(request: request) }
        return try await request.deliver(HTTPResponse(status: .ok)) { delivery in
            for try await chunk in body.chunks {
                try await delivery.receive(chunk)
            }
        }
    }
}

extension NetworkingComponent {
    /// Sends a request without its sink, so that the body of the response is collected.
    fileprivate func sendWithoutSink(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        var plain = request
        plain.sink = nil
        return try await send(plain)
    }
}

/// Offers the head to the sink itself and then returns a collected body, so that the stack offers it again.
private struct OfferingTwice<Upstream: NetworkingComponent>: NetworkingTransport {
    let upstream: Upstream

    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        let response = try await upstream.sendWithoutSink(request)
        if !response.http.isRedirect || request.redirects.limit == nil {
            _ = try await request.sink?.offer(response.http)
        }
        return HTTPResponseData(request: request, http: response.http, body: response.body)
    }
}

/// Reports bodies as delivered without offering them to the sink.
private struct NeverOffering<Upstream: NetworkingComponent>: NetworkingTransport {
    let upstream: Upstream

    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        let response = try await upstream.sendWithoutSink(request)
        guard request.sink != nil else { return response }
        return HTTPResponseData(request: request, http: response.http, body: .delivered(byteCount: response.body.count))
    }
}

private struct Altered<Upstream: NetworkingComponent>: NetworkingComponent {
    let upstream: Upstream
    let change: @Sendable (Result<HTTPResponseData, any Error>) throws -> HTTPResponseData

    func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        let result: Result<HTTPResponseData, any Error>
        do {
            result = .success(try await upstream.send(request))
        } catch {
            result = .failure(error)
        }
        return try change(result)
    }
}
#endif
