#if TestServer
public import Networking
package import NetworkingTestServer

/// One thing that every transport owes its stack, tried over real sockets on loopback.
///
/// The checks are the same for every transport, so what one can do that another cannot is a name in a list:
///
/// ```swift
/// @Test(arguments: TransportCheck.all)
/// func conforms(check: TransportCheck) async throws {
///     try await check.run(on: MyTransport())
/// }
/// ```
///
/// Where RFC 9110 or RFC 9112 leaves a choice, a check accepts both.
public struct TransportCheck: Sendable, CustomStringConvertible {
    /// What it looks at, such as `incomplete body`; unique among ``all``.
    public let name: String

    /// Whether it looks at bytes on the wire, at connections or at content codings.
    ///
    /// Such a check says nothing about a transport without a network.
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

    /// Every check, grouped by what it is about.
    public static let all: [TransportCheck] =
        messages + requestBodies + responseBodies + framing + coding + redirects + sinks + reports + limits + stalls
        + cancellation + connections + garbage

    /// The ``name``.
    public var description: String {
        name
    }

    /// Tries it on a transport, against a server of its own.
    ///
    /// It ends within three minutes, whatever the transport does.
    ///
    /// - Parameter transport: The transport, or a stack that ends in it.
    /// - Throws: ``ConformanceFailure``, which says what was expected and what came; `CancellationError` when the
    ///   caller is cancelled.
    public func run(on transport: some NetworkingComponent) async throws {
        let transport = AnyNetworkingComponent(transport)
        try await run { _ in transport }
    }

    /// Tries it on a transport that knows the server.
    package func run(on makeTransport: @escaping @Sendable (TestServer) -> AnyNetworkingComponent) async throws {
        let end = Suspension<Void>()
        // Unstructured, because a transport that never returns must not keep its caller.
        let trial = Task { end.resume(with: await attempt(on: makeTransport)) }
        let guardian = Task {
            try await ContinuousClock().sleep(for: .seconds(180))
            let failure = ConformanceFailure("an end within three minutes", came: "none")
            end.resume(with: .failure(failure.of(self)))
            trial.cancel()
        }
        defer { guardian.cancel() }
        try await end.value { trial.cancel() }
    }

    private func attempt(
        on makeTransport: @Sendable (TestServer) -> AnyNetworkingComponent
    ) async -> Result<Void, any Error> {
        do {
            try await withTestServer { server in
                try await body(CheckBench(server: server, transport: makeTransport(server)))
            }
            return .success(())
        } catch let failure as ConformanceFailure {
            return .failure(failure.of(self))
        } catch {
            return .failure(ConformanceFailure("a response", came: describe(error)).of(self))
        }
    }
}
#endif
