#if TestServer
import FlyingSocks
import Foundation
import NetworkingTestServer
import TestSupport
import Testing

/// Connections that break before anything was said.
@Suite(.tags(.concurrency), .timeLimit(.minutes(5)))
struct ConnectionEffectTests {
    /// Connects and tells how the connection ends; a reset may be there before connecting is over.
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
    func endsAConnectionThatWasAccepted(effect: TestServer.ConnectionEffect, isReset: Bool) async throws {
        try await withTestServer { server in
            server.route("/") { _ in .text("served") }
            server.enqueueConnections(effect)
            #expect(try await isNextConnectionReset(of: server) == isReset)
            try await server.waitForOpenConnections(0)
            let answer = try await response(of: server, to: get("/"))
            #expect(answer.hasSuffix("served"))
            #expect(server.requests.map(\.connection) == [2])
        }
    }

    @Test func aStalledConnectionSaysNothingUntilTheClientHangsUp() async throws {
        try await withTestServer { server in
            server.enqueueConnections(.stall)
            try await withClient(of: server) { client in
                try await client.send(get("/"))
                // A client is connected before its server has accepted.
                try await eventually("server.openConnections != 0") { server.openConnections != 0 }
            }
            try await server.waitForOpenConnections(0)
            #expect(server.requests.isEmpty)
        }
    }

    /// A record of TLS: an alert, its version, two bytes, fatal, handshake_failure.
    @Test func aHandshakeFails() async throws {
        try await withTestServer { server in
            server.enqueueConnections(.failHandshake)
            try await withClient(of: server) { client in
                try await client.send("\u{16}\u{3}\u{1}")
                #expect(Array(try await client.receiveToEnd().utf8) == [21, 3, 3, 0, 2, 2, 40])
            }
            try await server.waitForOpenConnections(0)
        }
    }

    @Test func aNumberedConnectionComesBeforeTheQueue() async throws {
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
