import HTTPTypes
public import NetworkingCore

/// The transport of a ``Simulation``, which models the network and the servers.
///
/// Like a real transport, it ends an exchange at its time limit and when its caller is cancelled. The server continues
/// with the request.
public struct SimulatedTransport: NetworkingTransport, CustomStringConvertible {
    let servers: [String: ServerModel]
    let clock: SimulationClock
    let record: SimulationRecord

    /// Makes one exchange with the model of the server.
    public func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        guard let server = servers[request.authority ?? ""] ?? servers[""] else {
            throw NetworkingError(.nameResolution, request: request)
        }
        record.addRequest(at: clock.now)
        let reply = ServerModel.Reply()
        server.process(request, replyingTo: reply)
        return HTTPResponseData(request: request, status: try await reply.value(until: request.exchangeLimit))
    }

    /// Returns `true`.
    public func enforcesLimit(of request: HTTPRequestData) -> Bool {
        true
    }

    /// The line in an outline of the stack.
    public var description: String {
        "SimulatedTransport"
    }
}
