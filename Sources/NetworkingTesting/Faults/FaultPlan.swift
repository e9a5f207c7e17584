import HTTPTypes
import NetworkingCore

/// The faults of one request, by the step of the exchange in which they occur.
struct FaultPlan {
    enum Outcome {
        case failure(Failure)
        case status(HTTPResponse)
    }

    enum Failure {
        case error(NetworkingError.Kind)
        case foreign(any Error)
    }

    /// The faults that apply, in the order of the list.
    private(set) var faults: [Fault] = []
    /// The fault that replaces the exchange; the first one in the list applies.
    private(set) var outcome: Outcome?
    /// The delay before the request is sent.
    private(set) var latency = Duration.zero
    /// The faults in the body of the response.
    private(set) var body = BodyFaults()
    /// The error that is thrown although the server has responded.
    private(set) var lateFailure: Failure?

    init(_ drawn: [(fault: Fault, random: RandomSource)]) {
        // A fault that replaces the exchange excludes all others: a failing request is not delayed and has no body.
        let decisive = drawn.first { $0.fault.isInsteadOfExchange }
        for (fault, random) in decisive.map({ [$0] }) ?? drawn {
            var random = random
            faults.append(fault)
            take(fault.kind, &random)
        }
    }

    private mutating func take(_ kind: Fault.Kind, _ random: inout RandomSource) {
        switch kind {
        case .error(let kind, afterSending: false): outcome = .failure(.error(kind))
        case .error(let kind, afterSending: true): lateFailure = lateFailure ?? .error(kind)
        case .failure(let error, afterSending: false): outcome = .failure(.foreign(error))
        case .failure(let error, afterSending: true): lateFailure = lateFailure ?? .foreign(error)
        case .status(let head): outcome = .status(head)
        case .latency(let duration, let jitter):
            latency += duration + jitter * Double.random(in: -1...1, using: &random)
        case .corrupted(let bytes): body.corruption = BodyFaults.Corruption(bytes: bytes, seed: random.next())
        case .truncated(after: let count, let kind): body.end = min(body.end, BodyFaults.End(after: count, .cut(kind)))
        case .stalled(after: let count): body.end = min(body.end, BodyFaults.End(after: count, .stall))
        case .sliced(into: let size, every: let pause): body.slices = BodyFaults.Slices(size: size, pause: pause)
        }
    }
}

extension Fault {
    fileprivate var isInsteadOfExchange: Bool {
        switch kind {
        case .error(_, afterSending: false), .failure(_, afterSending: false), .status: true
        default: false
        }
    }
}
