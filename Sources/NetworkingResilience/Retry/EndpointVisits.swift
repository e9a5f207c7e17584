public import NetworkingCore
import Synchronization

/// The endpoints that the attempts of one call have used, so that each attempt moves on to another one.
///
/// `retry` sets it on a request before the second attempt, and `server(endpoints:)` before the first on a request that
/// may not be sent to two endpoints. A modifier of yours that sends a request several times at once, such as one that
/// hedges, sets it before the first:
///
/// ```swift
/// request.endpointVisits = request.endpointVisits ?? EndpointVisits()
/// ```
public final class EndpointVisits: Sendable {
    fileprivate struct Visit: Sendable {
        let authority: String
        var isInFlight: Bool
        /// Whether the endpoint may have processed the request.
        var mayHaveSent = false
    }

    private let visits = Mutex<[Visit]>([])

    /// Creates the visits of a call that has made no attempt.
    public init() {}

    /// Records an attempt that has ended.
    func note(_ authority: String, mayHaveSent: Bool) {
        visits.withLock { $0.append(Visit(authority: authority, isInFlight: false, mayHaveSent: mayHaveSent)) }
    }

    /// Chooses an endpoint for the next attempt, and records its start.
    ///
    /// - Parameters:
    ///   - members: The authorities of the endpoints.
    ///   - choose: Returns the index of an endpoint, or `nil` if there is none to use.
    package func begin(of members: [String], _ choose: (Tried) -> Int?) {
        visits.withLock { visits in
            guard let index = choose(Tried(visits, of: members)) else { return }
            // One entry for each endpoint, so that the list stays as short as that of the endpoints.
            let known = visits.firstIndex { $0.authority == members[index] }
            var visit = known.map { visits.remove(at: $0) } ?? Visit(authority: members[index], isInFlight: true)
            visit.isInFlight = true
            visits.append(visit)
        }
    }

    /// Records the end of an attempt.
    package func end(_ authority: String, mayHaveSent: Bool) {
        visits.withLock { visits in
            guard let index = visits.lastIndex(where: { $0.authority == authority }) else { return }
            visits[index].isInFlight = false
            if mayHaveSent { visits[index].mayHaveSent = true }
        }
    }

    /// The endpoints that the attempts so far have used, as bits.
    package struct Tried {
        package private(set) var all: UInt64 = 0
        package private(set) var inUse: UInt64 = 0
        /// The last endpoint that may have processed the request.
        package private(set) var last: Int?

        fileprivate init(_ visits: [Visit], of members: [String]) {
            for visit in visits {
                guard let index = members.firstIndex(of: visit.authority) else { continue }
                all |= 1 << UInt64(index)
                if visit.isInFlight { inUse |= 1 << UInt64(index) }
                if visit.mayHaveSent { last = index }
            }
        }
    }
}

extension HTTPRequestData {
    /// The endpoints that the attempts of the call have used; `nil` if none were recorded yet.
    public var endpointVisits: EndpointVisits? {
        get { self[.endpointVisits] }
        set { self[.endpointVisits] = newValue }
    }

    /// Lets the next attempt use another endpoint than an attempt that has failed.
    mutating func moveOn(after attempt: Attempt) {
        guard endpointVisits == nil else { return }
        endpointVisits = attempt.endpointVisits
        guard endpointVisits == nil, let authority = attempt.endpoint else { return }
        let visits = EndpointVisits()
        visits.note(authority, mayHaveSent: !attempt.showsThatNothingWasSent)
        endpointVisits = visits
    }
}

extension RequestOptionKey {
    fileprivate static let endpointVisits = RequestOption<EndpointVisits?>(
        "endpointVisits",
        default: nil,
        affects: .nothing,
        isSetByStack: true
    )
}

extension Attempt {
    /// The endpoint that the attempt was sent to; `nil` if it was not sent through `server(endpoints:)`.
    fileprivate var endpoint: String? {
        switch result {
        case .success(let response): response.endpoint
        case .failure(let error): (error as? NetworkingError)?.endpoint ?? refusedResponse?.endpoint
        }
    }

    /// The endpoints that the attempt and its extra attempts have used; `nil` if there was no extra attempt.
    fileprivate var endpointVisits: EndpointVisits? {
        switch result {
        case .success(let response): response.endpointVisits
        case .failure(let error): (error as? NetworkingError)?.endpointVisits
        }
    }
}
