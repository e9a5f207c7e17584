import NetworkingCore

extension MockTransport {
    /// The error for a request that does not match the next expectation.
    func outOfOrder(
        _ request: HTTPRequestData,
        _ expectation: MockBoard.Expectation,
        _ index: Int
    ) -> NetworkingError {
        let count = board.read { $0.expectations.count }
        var reading = RequestReading(request)
        let why = expectation.matcher.misses(in: &reading).map(\.sentence).joined(separator: " ")
        return NetworkingError(
            .unimplemented,
            request: request,
            reason: "MockTransport expects \(expectation.matcher) next, as request \(index + 1) of \(count). \(why) "
                + "Send the expected request, or add a stub for requests in any order with on(_:uses:respond:)."
        )
    }

    /// The error for a request without a response.
    func noResponse(to request: HTTPRequestData) -> NetworkingError {
        let board = board.read { $0 }
        return NetworkingError(
            .unimplemented,
            request: request,
            reason: board.usedUp(for: request) ?? board.nearestMiss(of: request)
        )
    }
}

extension MockBoard {
    /// Why a matching stub cannot be used; nil if no stub matches.
    func usedUp(for request: HTTPRequestData) -> String? {
        var reading = RequestReading(request)
        guard let index = stubs.firstIndex(where: { $0.matcher.test(&reading) }) else { return nil }
        let (stub, uses) = (stubs[index], uses[index])
        let last = sources.lastIndex(of: .stub(index))
        let user = last.map { ", and was last used for \(requests[$0])" } ?? ""
        return "The stub \(stub.matcher) matches, but it may be used \(stub.uses)\(user). Give it uses: "
            + ".exactly(\(uses + 1)) or .any to use it again, or add another stub after it."
    }

    /// A description of the nearest stub and why it does not match.
    func nearestMiss(of request: HTTPRequestData) -> String {
        var reading = RequestReading(request)
        var nearest: (stub: Stub, misses: [RequestMiss])?
        for stub in stubs {
            let misses = stub.matcher.misses(in: &reading)
            if misses.weight < nearest?.misses.weight ?? .infinity { nearest = (stub, misses) }
        }
        let script = expectations.isEmpty ? "" : ", and its script is used up"
        guard let nearest else {
            return expectations.isEmpty
                ? "MockTransport has no responses. Add one with on(_:uses:respond:), or to its script."
                : "MockTransport has no response left: all responses of its script (\(expectations.count)) are used. "
                    + "Add one to the script, or add a stub for several requests with on(_:uses:respond:)."
        }
        let others = stubs.count == 1 ? "Its only stub" : "The closest of its \(stubs.count) stubs"
        let why = nearest.misses.map(\.sentence).joined(separator: " ")
        return "MockTransport has no stub that matches\(script). \(others) is \(nearest.stub.matcher): \(why) "
            + "Add a stub with on(_:uses:respond:), or correct the request."
    }
}
