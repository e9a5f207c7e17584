#if TestServer
import FlyingSocks
import Foundation
import NetworkingTestServer
import TestSupport
import Testing

/// Connections that break before the server sends anything.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct ConnectionEffectTests {
    /// Connects and returns whether the server resets the connection.
    ///
    /// The reset can arrive while the client still connects.
    private func isNextConnectionReset(of server: TestServer) async throws -> Bool {
        do {
            var client = try await RawClient(connectedAtOnceTo: server)
            let (text, isReset) = try await client.receiveToTheVeryEnd()
            #expect(text.isEmpty)
            await client.close()
            return isReset
        } catch SocketError.failed(_, ECONNRESET, _) {
            return true
        }
    }

    @Test(arguments: [(.close, false), (.reset, true), (.halfClose, false)] as [(TestServer.ConnectionEffect, Bool)])
    func endsAnAcceptedConnection(effect: TestServer.ConnectionEffect, isReset: Bool) async throws {
        try await withTestServer { server in
            server.route("/") { _ in .text("served") }
            server.enqueueConnections(effect)
            #expect(try await isNextConnectionReset(of: server) == isReset)
            try await server.waitForOpenConnections(0)
            let received = try await response(of: server, to: get("/"))
            #expect(received.hasSuffix("served"))
            #expect(server.requests.map(\.connection) == [2])
        }
    }

    @Test func stalledConnectionStaysOpenUntilTheClientDisconnects() async throws {
        try await withTestServer { server in
            server.enqueueConnections(.stall)
            try await withClient(of: server) { client in
                try await client.send(get("/"))
                // A client is connected before its server has accepted the connection.
                try await eventually("server.openConnections != 0") { server.openConnections != 0 }
            }
            try await server.waitForOpenConnections(0)
            #expect(server.requests.isEmpty)
        }
    }

    /// The bytes of a TLS alert: its record type, version, two bytes of length, fatal, handshake_failure.
    @Test func failsATLSHandshake() async throws {
        try await withTestServer { server in
            server.enqueueConnections(.failHandshake)
            try await withClient(of: server) { client in
                try await client.send("\u{16}\u{3}\u{1}")
                #expect(Array(try await client.receiveToEnd().utf8) == [21, 3, 3, 0, 2, 2, 40])
            }
            try await server.waitForOpenConnections(0)
        }
    }

    @Test func effectOfANumberedConnectionPrecedesTheQueue() async throws {
        try await withTestServer { server in
            server.route("/") { _ in .ok }
            server.onConnection(2, .close)
            server.enqueueConnections(.serve, .reset)
            let first = try await response(of: server, to: get("/"))
            #expect(first.hasPrefix("HTTP/1.1 200"))
            for isReset in [false, true] {
                #expect(try await isNextConnectionReset(of: server) == isReset)
            }
            #expect(server.acceptedConnections == 3)
        }
    }
}
#endif
