public import Networking

extension NetworkingComponent {
    /// Limits the time of each hop of a redirect, which `timeout` limits together.
    public func hopLimited(to limit: Duration) -> some NetworkingComponent {
        modified(HopLimited(limit: limit))
    }
}

/// A modifier that acts on each hop of a redirect and limits its time.
public struct HopLimited: NetworkingModifier, CustomStringConvertible {
    private let limit: Duration

    /// Creates a modifier that limits the time of each hop.
    public init(limit: Duration) {
        self.limit = limit
    }

    /// Sends the request and follows its redirects, each with its own time.
    public func send(
        _ request: HTTPRequestData,
        upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        let clock = NetworkEnvironment.current.clock
        let principal = { (hop: HTTPRequestData) in upstream.principal(for: hop) }
        return try await request.takingOverRedirects(for: principal, over: upstream) { hop in
            try await upstream.send(hop, until: clock.now + limit, on: clock) { error in
                NetworkingError(
                    .timeout,
                    request: hop,
                    underlying: error,
                    reason: "The server did not respond within \(limit). Try again later."
                )
            }
        }
    }

    /// The facts about the modifier, with a rule for places where the whole call has less time than a hop.
    public var stackPart: StackPart {
        StackPart(rules: [.notInside(.deadline, "is inside deadline, which may end a call sooner.")])
    }

    /// The modifier in an outline.
    public var description: String {
        "hopLimited(to: \(limit))"
    }
}
