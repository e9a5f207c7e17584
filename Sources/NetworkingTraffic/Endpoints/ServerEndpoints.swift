import NetworkingCore
import NetworkingResilience

/// Several endpoints that serve one server, with the state of their health, for `server(endpoints:)`.
///
/// ```swift
/// let endpoints = ServerEndpoints(
///     "api.example.com",
///     groups: [
///         [.init("eu1.example.com", weight: 3), .init("eu2.example.com")],
///         ["us.example.com"],   // used while no endpoint of the first group is
///     ]
/// )
/// ```
///
/// Share one instance between stacks to share what they learn.
///
/// An endpoint is ejected, which means that it gets no requests, after 5 failures in succession, or if at least half of
/// at least 10 calls in 10 s fail. An ejection lasts 30 s times the number of ejections, at most 300 s, and up to a
/// tenth longer. That number falls by one for each 10 s in service. When an ejection is over, a single request probes
/// the endpoint: its success ends the ejection, and its failure starts the next one.
///
/// At most half of the endpoints are ejected at a time, and never the last one. More are ejected only if no other
/// endpoint of their group works and one of another group does. If no endpoint works, ejections do not count until one
/// responds.
///
/// Failures are: no connection, no such host, a failed TLS handshake, a lost connection, a truncated body, an attempt
/// that timed out, and the statuses 500, 502, 503 and 504. A device without a network, a certificate, a cancelled call,
/// a deadline and a limit of the stack say nothing about an endpoint.
public final class ServerEndpoints: Sendable {
    /// One of the endpoints.
    public struct Endpoint: Sendable, Hashable, ExpressibleByStringLiteral {
        /// The host, and the port if it is not the scheme's default.
        public let authority: String
        /// The share of the requests in relation to the other endpoints of the group.
        public let weight: Double

        /// Creates an endpoint.
        ///
        /// - Parameters:
        ///   - authority: The host, and the port if it is not the scheme's default.
        ///   - weight: The share of the requests in relation to the other endpoints of the group.
        /// - Precondition: `weight` is greater than zero and finite.
        public init(_ authority: String, weight: Double = 1) {
            precondition(
                weight > 0 && weight.isFinite,
                "weight must be greater than zero and finite (is \(weight))"
            )
            self.authority = authority
            self.weight = weight
        }

        /// Creates an endpoint with a weight of 1.
        public init(stringLiteral authority: String) {
            self.init(authority)
        }
    }

    /// The state of an endpoint at one moment.
    public struct Status: Sendable, Hashable {
        /// The host, and the port if it is not the scheme's default.
        public let authority: String
        /// The number of attempts in flight.
        public let inFlight: Int
        /// Whether the endpoint is ejected.
        public let isEjected: Bool
    }

    /// The maximum number of endpoints, because a set of them is stored in 64 bits.
    private static let maximumCount = 64

    let server: ServerMembers
    private let groups: [[Endpoint]]
    private let table: ClockedMutex<EndpointTable>

    /// Creates the endpoints of a server, in groups.
    ///
    /// - Parameters:
    ///   - authority: The authority under which the stack knows the server: the host of URLs, cache keys and cookies.
    ///     It may be that of an endpoint, and need not exist otherwise.
    ///   - groups: The groups. Requests go to the first group in which an endpoint is usable.
    /// - Precondition: There are 1 to 64 endpoints, each once, and no group is empty. Each authority is a host with an
    ///   optional port.
    public init(_ authority: String, groups: [[Endpoint]]) {
        let empty = groups.firstIndex(where: \.isEmpty)
        precondition(empty == nil, "a group must have at least one endpoint (group \(empty ?? 0) is empty)")
        let count = groups.joined().count
        precondition(
            1...Self.maximumCount ~= count,
            "there must be 1 to \(Self.maximumCount) endpoints (are \(count))"
        )
        server = ServerMembers(authority, members: groups.joined().map(\.authority))
        self.groups = groups
        table = ClockedMutex(EndpointTable(groups: groups.map { $0.map(\.weight) }))
    }

    /// Creates the endpoints of a server, in one group.
    ///
    /// - Parameters:
    ///   - authority: The authority under which the stack knows the server.
    ///   - endpoints: The endpoints.
    /// - Precondition: As in ``init(_:groups:)``.
    public convenience init(_ authority: String, endpoints: [Endpoint]) {
        self.init(authority, groups: [endpoints])
    }

    /// The states of the endpoints, in the order of their groups.
    public var statuses: [Status] {
        table.withLatest { [server] table, _ in
            zip(server.members, table.members)
                .map { authority, member in
                    Status(authority: authority, inFlight: member.inFlight, isEjected: member.ejectedUntil != nil)
                }
        }
    }

    // MARK: Picking

    /// Picks an endpoint for an attempt.
    ///
    /// - Parameters:
    ///   - visits: The endpoints that the attempts of the call have used.
    ///   - request: The request of the attempt.
    ///   - attemptLimit: The time limit of the attempt; `nil` if there is none.
    ///   - random: Random bits.
    ///   - clock: The clock of the caller.
    /// - Returns: The pick, and an ejection because of a probe that has not ended; no pick if each endpoint is in use
    ///   by another attempt of the call.
    func pick(
        after visits: EndpointVisits?,
        for request: HTTPRequestData,
        attemptLimit: Duration? = nil,
        random: UInt64,
        on clock: NetworkClock
    ) -> (pick: EndpointTable.Pick?, change: EndpointTable.Change?) {
        let probeLimit = max(attemptLimit ?? .zero, EndpointHealth.probeLimit)
        guard let visits else {
            return table.withValue(on: clock) { $0.pick(at: $1, probeLimit: probeLimit, random: random) }
        }
        let mayMoveOn = request.mayMoveOn
        return table.withValue(on: clock) { [server] table, now in
            var result: (pick: EndpointTable.Pick?, change: EndpointTable.Change?) = (nil, nil)
            visits.begin(of: server.members) { tried in
                result = table.pick(
                    after: tried,
                    mayMoveOn: mayMoveOn,
                    at: now,
                    probeLimit: probeLimit,
                    random: random
                )
                return result.pick?.index
            }
            return result
        }
    }

    /// Ends an attempt.
    func end(
        _ pick: EndpointTable.Pick,
        as outcome: EndpointTable.Outcome,
        jitter: UInt64,
        on clock: NetworkClock
    ) -> EndpointTable.Change? {
        table.withValue(on: clock) { $0.end(pick, as: outcome, at: $1, jitter: jitter) }
    }
}

extension ServerEndpoints: CustomStringConvertible {
    /// The name and the endpoints for the stack's outline: `api.example.com: eu1.example.com × 3, eu2.example.com; us`.
    public var description: String {
        let redaction = Redaction.standard
        let groups = groups.map { group in
            group.map { redaction.authority($0.authority) + ($0.weight == 1 ? "" : " × \($0.weight)") }
                .joined(separator: ", ")
        }
        return "\(redaction.authority(server.authority)): \(groups.joined(separator: "; "))"
    }
}

extension HTTPRequestData {
    /// Whether the request may be sent to another endpoint after one that may have processed it.
    ///
    /// An idempotent method is not enough: a PUT that arrives late at one endpoint could overwrite a later one at
    /// another.
    var mayMoveOn: Bool {
        method.isSafe || headerFields.contains(.idempotencyKey)
    }
}
