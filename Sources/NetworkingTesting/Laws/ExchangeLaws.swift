import Networking

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Requests out, responses and errors back.
extension LawCheck {
    func sendsOnce() async throws {
        let probe = Probe { HTTPResponseData(request: $0, data: Data("body".utf8)) }
        let response: HTTPResponseData
        do {
            response = try await stack(around: probe).send(request)
        } catch {
            throw BrokenLaw("A request that is answered with 200 fails with \(type(of: error)).")
        }
        try require(probe.count == 1, "A request that is answered with 200 is sent \(probe.count) times, not once.")
        try require(response.status == .ok, "The response to a request does not come back: \(response.status).")
    }

    func answersItsCaller() async throws {
        guard let response = try? await stack(around: Probe { HTTPResponseData(request: $0) }).send(request) else {
            return
        }
        try require(response.isAnswer(to: request), "response.request is not the caller's own request.")
    }

    func resolvesPurely() throws {
        let stack = stack(around: Probe { HTTPResponseData(request: $0) })
        try stack.requirePureResolve(of: request)
    }

    func resolvesUpstreamOnce() async throws {
        let count = Counter()
        let counting = Probe { HTTPResponseData(request: $0) }.server { _ in count.increase() }
        let stack = AnyNetworkingComponent(stack(around: AnyNetworkingComponent(counting).modified(Absent?.none)))
        _ = try? await stack.modified(Absent?.none).send(request)
        try require(count.value == 1, "The chain upstream is resolved \(count.value) times a send, not once.")
    }

    func showsPrincipal() throws {
        let principal = Principal(id: "somebody")
        let stack = stack(around: Probe(principal: principal) { HTTPResponseData(request: $0) })
        try require(
            stack.principal(for: request) != nil,
            "The upstream's principal does not show: caches outside would mix up users."
        )
    }

    func passesErrorsOn() async throws {
        struct Foreign: Error {}
        do {
            _ = try await stack(around: Probe { _ in throw Foreign() }).send(request)
            throw BrokenLaw("An error of the upstream is swallowed.")
        } catch is Foreign {
        } catch let broken as BrokenLaw {
            throw broken
        } catch {
            throw BrokenLaw("Another component's error does not pass through as it is: \(type(of: error)).")
        }
        do {
            _ = try await stack(around: Probe { throw NetworkingError(.tls, request: $0) }).send(request)
            throw BrokenLaw("A NetworkingError of the upstream is swallowed.")
        } catch let error as NetworkingError {
            try require(error.kind == .tls, "A NetworkingError of kind tls becomes one of kind \(error.kind).")
            try require(!(error.underlying is NetworkingError), "A NetworkingError is wrapped in another one.")
        } catch let broken as BrokenLaw {
            throw broken
        } catch {
            throw BrokenLaw("A NetworkingError of the upstream becomes \(type(of: error)).")
        }
    }
}

private struct Absent: NetworkingModifier {}

extension NetworkingComponent {
    func requirePureResolve(of request: HTTPRequestData) throws {
        let (first, second) = (resolved(request), resolved(request))
        try require(first == second, "resolve is not pure: it gives different results for the same request.")
        let erased = AnyNetworkingComponent(self).modified(Absent?.none).resolved(request)
        try require(first == erased, "resolve gives something else through an erased component.")
    }

    private func resolved(_ request: HTTPRequestData) -> HTTPRequestData {
        var request = request
        resolve(&request)
        return request
    }
}

extension HTTPResponseData {
    func isAnswer(to request: HTTPRequestData) -> Bool {
        self.request.id == request.id && self.request == request
    }
}
