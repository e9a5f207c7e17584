#if TestServer
import HTTPTypes
import Networking
import NetworkingTestServer
import NetworkingTesting
import TestSupport
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The checks find what is wrong: transports with one defect each.
@Suite(.tags(.concurrency), .timeLimit(.minutes(5)))
struct TransportCheckTests {
    enum Defect: String, CaseIterable {
        case losesBodies, losesFields, losesMethods, bringsNothing, bringsTooMuch, renamesErrors, forgetsSinks
        case offersTwice, neverOffers

        /// What the defect must show in.
        var checks: [String] {
            switch self {
            case .losesBodies:
                ["request body in memory", "1 MB echo", "stream of unknown length", "stress", "progress"]
            case .losesFields: ["multi-value headers to the server", "empty header value", "ETag", "cookies"]
            case .losesMethods: ["methods", "request without a body"]
            case .bringsNothing:
                [
                    "statuses", "response bodies", "401 with its body", "basic redirects", "infinite redirects",
                    "concurrency",
                    "multi-value headers from the server", "maximum response bytes", "identity", "incomplete body",
                    "nobody listens", "stall before the head", "cancel before the head", "cancel within the body",
                    "gzip", "under-read", "random bytes", "events",
                ]
            case .bringsTooMuch: ["response bodies", "empty chunked body", "redirects that are not followed"]
            case .renamesErrors: ["cancel before the head", "infinite redirects", "maximum response bytes"]
            case .forgetsSinks: ["sink gets the body in order", "sink gets one chunk at a time"]
            case .offersTwice, .neverOffers: ["sink is offered each final head once"]
            }
        }

        func transport(for server: TestServer) -> AnyNetworkingComponent {
            let mock = MockTransport(answeringAs: server)
            switch self {
            case .losesBodies: return AnyNetworkingComponent(mock.server(mutateRequest: { $0.body = nil }))
            case .losesFields: return AnyNetworkingComponent(mock.server(mutateRequest: { $0.headerFields = [:] }))
            case .losesMethods: return AnyNetworkingComponent(mock.server(mutateRequest: { $0.method = .put }))
            case .forgetsSinks: return AnyNetworkingComponent(mock.server(mutateRequest: { $0.sink = nil }))
            case .offersTwice: return AnyNetworkingComponent(OfferingTwice(upstream: mock))
            case .neverOffers: return AnyNetworkingComponent(NeverOffering(upstream: mock))
            case .bringsNothing: return AnyNetworkingComponent(MockTransport { _ in .ok() })
            case .bringsTooMuch:
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
    func findsADefect(defect: Defect) async throws {
        for name in defect.checks {
            let check = try #require(TransportCheck.all.first { $0.name == name })
            let failure = await #expect(throws: ConformanceFailure.self, "\(name)") {
                try await check.run { server in defect.transport(for: server) }
            }
            #expect(failure?.check == name)
            #expect(failure?.description.hasPrefix("\(name): expected ") == true)
        }
    }

    /// What a transport over sockets need not manage is still possible.
    @Test func aTransportThatSpeaksWhileItListensPasses() async throws {
        let check = try #require(TransportCheck.all.first { $0.name == "interleaved echo" })
        try await check.run(on: Parrot())
    }

    @Test func tellsAllFailuresAtOnce() async throws {
        let silent = MockTransport { _ in .ok() }
        let names = ["statuses", "ETag", "HEAD with length"]
        let others = Set(TransportCheck.all.map(\.name)).subtracting(names)
        let failures = await #expect(throws: ConformanceFailures.self) {
            try await checkConformance(of: silent, except: others)
        }
        #expect(failures?.failures.map(\.check) == names)
        #expect(failures?.description.split(separator: "\n").count == 3)
    }

    @Test func aCheckOfACancelledCallerEnds() async throws {
        let check = try #require(TransportCheck.all.first)
        let call = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await check.run(on: MockTransport { _ in .ok() })
        }
        let result = await call.result
        #expect(throws: CancellationError.self) { try result.get() }
    }
}

/// Brings each chunk of the request's body to the sink before it asks for the next.
private struct Parrot: NetworkingTransport {
    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        guard let body = request.body else { return HTTPResponseData(request: request) }
        return try await request.deliver(HTTPResponse(status: .ok)) { delivery in
            for try await chunk in body.chunks {
                try await delivery.receive(chunk)
            }
        }
    }
}

/// Asks the sink itself and then leaves a collected body to the stack, which asks it again.
private struct OfferingTwice<Upstream: NetworkingComponent>: NetworkingTransport {
    let upstream: Upstream

    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        var plain = request
        plain.sink = nil
        let response = try await upstream.send(plain)
        if !response.http.isRedirect || request.redirects.limit == nil {
            _ = try await request.sink?.offer(response.http)
        }
        return HTTPResponseData(request: request, http: response.http, body: response.body)
    }
}

/// Drops bodies and reports them as delivered.
private struct NeverOffering<Upstream: NetworkingComponent>: NetworkingTransport {
    let upstream: Upstream

    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        var plain = request
        plain.sink = nil
        let response = try await upstream.send(plain)
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
