import Foundation
package import Networking
package import NetworkingTesting
package import Testing

/// A value of the environment, for tests.
package enum TenantKey: NetworkEnvironmentKey {
    package static let defaultValue = "public"
}

extension NetworkEnvironment {
    package var tenant: String {
        get { self[TenantKey.self] }
        set { self[TenantKey.self] = newValue }
    }
}

/// A modifier that sends requests for a user, or for none.
package struct SignedIn: NetworkingModifier {
    private let user: Principal?

    package init(as id: String?) {
        user = id.map { Principal(id: $0) }
    }

    package func principal(for request: HTTPRequestData, upstream: some NetworkingComponent) -> Principal? {
        user
    }
}

/// A modifier that is a closure.
package struct Sending: NetworkingModifier {
    package typealias Send = @Sendable (HTTPRequestData, AnyNetworkingComponent) async throws -> HTTPResponseData

    private let body: Send

    /// Creates a modifier that receives each request and the component that sends it.
    package init(_ send: @escaping Send) {
        body = send
    }

    package func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        try await body(request, AnyNetworkingComponent(upstream))
    }
}

/// A sink that requests the bytes after those it has received.
package struct ResumingSink: ForwardingSink {
    private let collector: CollectingSink

    package init(collector: CollectingSink) {
        self.collector = collector
    }

    package var sink: any ResponseSink {
        collector
    }

    package var canRestart: Bool {
        true
    }

    package func prepare(_ request: inout HTTPRequestData) {
        if !collector.data.isEmpty {
            request.headerFields[.range] = "bytes=\(collector.data.count)-"
        }
    }
}

/// Cancels a call while it waits on a clock, and expects that nothing is sent.
package func expectCancelledWaitSendsNothing(
    _ network: some NetworkingComponent,
    over transport: MockTransport,
    _ clock: ManualClock,
    sourceLocation: SourceLocation = #_sourceLocation
) async throws {
    let call = Task { try await network.data(.lawful) }
    try await clock.waitForSleepers()

    call.cancel()

    await #expect(throws: CancellationError.self, sourceLocation: sourceLocation) { try await call.value }
    #expect(transport.requests.isEmpty, sourceLocation: sourceLocation)
    #expect(clock.sleepers == 0, sourceLocation: sourceLocation)
}
