public import HTTPTypes
public import Networking

extension NetworkingComponent {
    /// Gives each exchange a field with the number of its trace.
    public func vendorTraced() -> some NetworkingComponent {
        modified(VendorTraced())
    }
}

extension HTTPField.Name {
    /// The field that contains the number of a trace.
    public static let vendorTrace = HTTPField.Name("X-Vendor-Trace")!
}

/// A tracer of another vendor, in place of `traced`.
public struct VendorTraced: NetworkingModifier, CustomStringConvertible {
    /// Creates the modifier.
    public init() {}

    /// Starts a trace, unless a modifier further out has started one.
    public func send(
        _ request: HTTPRequestData,
        upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        guard request.trace == nil else { return try await upstream.send(request) }
        var traced = request
        VendorTrace.start(on: &traced)
        return try await upstream.send(traced)
    }

    /// The role of the modifier, which selects the rules that apply to it.
    public var stackPart: StackPart { StackPart(roles: [.tracing]) }

    /// The modifier in an outline.
    public var description: String {
        "vendorTraced"
    }
}

private struct VendorTrace: RequestTrace, NetworkEventObserver {
    let number: UInt64

    static func start(on request: inout HTTPRequestData) {
        var random = NetworkEnvironment.current.random
        let trace = VendorTrace(number: .random(in: 1...999_999, using: &random))
        request.mark(asTracedBy: trace)
        request.addObserver(trace)
    }

    var id: (any CustomStringConvertible & Sendable)? {
        number
    }

    func startNewTrace(_ request: inout HTTPRequestData) {
        Self.start(on: &request)
    }

    var observesEvents: Bool {
        false
    }

    func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {}

    func headerFields(forAttempt request: HTTPRequestData) -> HTTPFields {
        [.vendorTrace: "\(number)"]
    }
}
