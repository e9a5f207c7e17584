import FoundationForNetworking
import NetworkingCore

/// Laws about requests sent upstream and the responses and errors returned.
extension LawCheck {
    func sendsOnce() async throws {
        let probe = Probe { HTTPResponseData(request: $0, data: Data("body".utf8)) }
        let response: HTTPResponseData
        switch try await result(of: request, around: probe) {
        case .success(let success): response = success
        case .failure(let error):
            throw BrokenLaw("A request with the response 200 fails with \(summary(of: error)).")
        }
        try require(probe.count == 1, "A request with the response 200 is sent \(probe.count) times, not once.")
        try require(response.status == .ok, "The caller does not get the response to its request: \(response.status).")
    }

    func returnsOwnResponse() async throws {
        switch try await result(of: request, around: Probe { HTTPResponseData(request: $0) }) {
        case .success(let response):
            try require(response.isResponse(to: request), "response.request is not the caller's own request.")
        case .failure(let error):
            throw BrokenLaw("The law could not be checked: the request fails with \(summary(of: error)).")
        }
    }

    func resolvesPurely() throws {
        let stack = stack(around: Probe { HTTPResponseData(request: $0) })
        try stack.requirePureResolve(of: request)
    }

    func resolvesUpstreamOnce() async throws {
        let count = Counter()
        let counting = Probe { HTTPResponseData(request: $0) }.server { _ in count.increase() }
        let stack = AnyNetworkingComponent(stack(around: AnyNetworkingComponent(counting).modified(Absent?.none)))
        _ = try await LawCall(request, over: stack.modified(Absent?.none)).finished()
        try require(count.value == 1, "The upstream chain is resolved \(count.value) times per send, not once.")
    }

    func showsPrincipal() async throws {
        let principal = Principal(id: "other-user")
        let stack = stack(around: Probe(principal: principal) { HTTPResponseData(request: $0) })
        try require(
            stack.principal(for: request) != nil,
            "The principal of the upstream is not visible: caches outside would mix up users."
        )
        let own = self.stack(around: Probe { HTTPResponseData(request: $0) })
        let resolved = own.resolved(request)
        guard let response = try? await LawCall(request, over: own).finished().get() else { return }
        try require(
            !response.hasCredentials(notIn: resolved) || own.principal(for: resolved) != nil,
            "A request is sent with a credential that names no principal: caches outside would mix up users."
        )
    }

    func passesOnErrors() async throws {
        struct Foreign: Error {}
        let foreign = Probe { _ in throw Foreign() }
        switch try await result(of: request, around: foreign) {
        case .failure(is Foreign): break
        // A component that responds by itself receives no errors.
        case _ where foreign.count == 0: break
        case .failure(let error):
            throw BrokenLaw("The error of another component is changed: \(type(of: error)).")
        case .success: throw BrokenLaw("An error of the upstream is swallowed.")
        }
        let own = Probe { throw NetworkingError(.tls, request: $0) }
        switch try await result(of: request, around: own) {
        case _ where own.count == 0: break
        case .failure(let error as NetworkingError):
            try require(error.kind == .tls, "A NetworkingError of kind tls becomes one of kind \(error.kind).")
            try require(!(error.underlying is NetworkingError), "A NetworkingError is wrapped in another one.")
        case .failure(let error):
            throw BrokenLaw("A NetworkingError of the upstream becomes \(type(of: error)).")
        case .success: throw BrokenLaw("A NetworkingError of the upstream is swallowed.")
        }
    }
}

private struct Absent: NetworkingModifier {}

extension NetworkingComponent {
    func requirePureResolve(of request: HTTPRequestData) throws {
        let (first, second) = (resolved(request), resolved(request))
        try require(first == second, "resolve is not pure: it returns different results for the same request.")
        let erased = AnyNetworkingComponent(self).modified(Absent?.none).resolved(request)
        try require(first == erased, "resolve returns a different result through an erased component.")
    }

    private func resolved(_ request: HTTPRequestData) -> HTTPRequestData {
        var request = request
        resolve(&request)
        return request
    }
}

extension HTTPResponseData {
    func isResponse(to request: HTTPRequestData) -> Bool {
        self.request.id == request.id && self.request == request
    }
}
