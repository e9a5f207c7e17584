#if TestServer
import NetworkingTestServer
public import NetworkingCore

/// A single requirement for every transport, checked over real sockets on loopback.
///
/// The checks are the same for every transport. Exclude a check to document a limit of the transport:
///
/// ```swift
/// @Test(arguments: TransportCheck.all)
/// func conforms(check: TransportCheck) async throws {
///     try await check.run(on: MyTransport())
/// }
/// ```
///
/// If RFC 9110 or RFC 9112 allows several behaviors, a check accepts all of them.
public struct TransportCheck: Sendable, CustomStringConvertible {
    /// The subject of the check, such as `incomplete body`; unique among ``all``.
    public let name: String

    /// Whether the check examines bytes on the wire, connections or content codings.
    ///
    /// Such a check does not apply to a transport without a network.
    public let needsSockets: Bool

    private let body: @Sendable (CheckBench) async throws -> Void

    init(
        _ name: String,
        needsSockets: Bool = true,
        body: @escaping @Sendable (CheckBench) async throws -> Void
    ) {
        self.name = name
        self.needsSockets = needsSockets
        self.body = body
    }

    /// All checks, grouped by subject.
    public static let all: [TransportCheck] =
        messages + requestBodies + responseBodies + framing + coding + redirects + sinks + reports + limits + stalls
        + cancellation + connections + garbage

    /// The ``name``.
    public var description: String {
        name
    }

    /// Runs the check on a transport, with its own server.
    ///
    /// It ends within three minutes, even if the transport never returns.
    ///
    /// - Parameter transport: The transport, or a stack that ends in it.
    /// - Throws: ``ConformanceFailure`` with the expected and the actual outcome; `CancellationError` if the caller is
    ///   cancelled.
    public func run(on transport: some NetworkingComponent) async throws {
        let transport = AnyNetworkingComponent(transport)
        try await run { _ in transport }
    }

    /// Runs the check on a transport that is created for the server.
    func run(on makeTransport: @escaping @Sendable (TestServer) -> AnyNetworkingComponent) async throws {
        try await run(servedBy: { try await withTestServer($0) }, on: makeTransport)
    }

    typealias Serve = @Sendable ((TestServer) async throws -> Void) async throws -> Void

    func run(
        servedBy serve: @escaping Serve,
        on makeTransport: @escaping @Sendable (TestServer) -> AnyNetworkingComponent
    ) async throws {
        // The trial might end before the wait for it begins.
        try Task.checkCancellation()
        let end = Suspension<Void>()
        // Unstructured, because a transport that never returns must not block its caller.
        let trial = Task { end.resume(with: await attempt(servedBy: serve, on: makeTransport)) }
        let guardian = Task {
            try await ContinuousClock().sleep(for: .seconds(180))
            let failure = ConformanceFailure("an end within three minutes", found: "none")
            end.resume(with: .failure(failure.of(self)))
            trial.cancel()
        }
        defer { guardian.cancel() }
        try await end.value(until: nil) { trial.cancel() }
    }

    private func attempt(
        servedBy serve: Serve,
        on makeTransport: @escaping @Sendable (TestServer) -> AnyNetworkingComponent
    ) async -> Result<Void, any Error> {
        do {
            try await serve { server in
                try await body(CheckBench(server: server, transport: makeTransport(server)))
            }
            return .success(())
        } catch let failure as ConformanceFailure {
            return .failure(failure.of(self))
        } catch {
            return .failure(ConformanceFailure("a response", found: describe(error)).of(self))
        }
    }
}
#endif
