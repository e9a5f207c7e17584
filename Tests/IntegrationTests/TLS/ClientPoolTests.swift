#if AsyncHTTPClient && SecureTestServer
import AsyncHTTPClient
import Foundation
import Networking
import NetworkingTestServer
import NIOCore
import NIOPosix
import NIOSSL
import TestSupport
import Testing

@testable import NetworkingAsyncHTTPClient
@testable import NetworkingCore

extension Loopback {
    /// The clients of users and of hosts with pins or identities, and AsyncHTTPClient's configuration under a trust.
    @Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
    struct ClientPoolTests {
        static let pins = HostPins(
            "*.example.com",
            pins: ["sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]
        )

        private static func clients(
            _ trust: ServerTrust = ServerTrust(pins: [pins]),
            configuration: HTTPClient.Configuration = .networking
        ) throws -> ClientPool {
            try ClientPool(
                configuration,
                reuse: .always,
                trust: trust,
                eventLoopGroup: MultiThreadedEventLoopGroup.singleton
            )
        }

        /// Otherwise the exchange would create a client that is never shut down, which traps when it is released.
        @Test func exchangeAfterTheShutdownCreatesNoClient() async throws {
            let clients = try Self.clients()
            let request = HTTPRequestData(scheme: "https", authority: "api.example.com:1", path: "/")
            try await clients.shutdown()
            let error = await #expect(throws: NetworkingError.self) {
                try await clients.respond(to: request)
            }
            #expect(error?.kind == .rejected)
            #expect(clients.separateCount == 0)
        }

        @Test func clientsOfUnusedHostsAreLimited() async throws {
            var configuration = HTTPClient.Configuration.networking
            let hosts = (0..<ClientPool.maximumIdle + 8).map { "a\($0).example.com" }
            for host in hosts {
                configuration.dnsOverride[host] = "127.0.0.1"
            }
            let clients = try Self.clients(configuration: configuration)
            for host in hosts {
                // No server listens on the port, which does not matter here.
                let request = HTTPRequestData(scheme: "https", authority: "\(host):1", path: "/")
                await #expect(throws: NetworkingError.self) {
                    try await clients.respond(to: request)
                }
            }
            #expect(clients.separateCount == ClientPool.maximumIdle)
            try await clients.shutdown()
            #expect(clients.separateCount == 0)
        }

        /// A server may be replaced by one without HTTP/2.
        @Test func protocolOfTheLastResponseDecidesWhetherUsersShareAConnection() {
            let servers = MultiplexedServers()
            let request = HTTPRequestData(scheme: "https", authority: "api.example.com", path: "/")
            #expect(!servers.contains(request))
            servers.record(isMultiplexed: true, of: request)
            #expect(servers.contains(request))
            #expect(servers.contains(request.with(\.authority, "API.example.com:443")))
            #expect(!servers.contains(request.with(\.authority, "api.example.com:8443")))
            #expect(!servers.contains(request.with(\.scheme, "http")))
            servers.record(isMultiplexed: false, of: request.with(\.authority, "other.example.com"))
            #expect(servers.contains(request))
            servers.record(isMultiplexed: false, of: request)
            #expect(!servers.contains(request))
            servers.record(isMultiplexed: true, of: request.with(\.scheme, "http"))
            #expect(!servers.contains(request.with(\.scheme, "http")))
            #expect(!servers.contains(request))
        }

        @Test func eventLoopsThatDoNotShowCertificatesAreRefused() {
            let error = #expect(throws: ServerTrustError.self) {
                try AsyncHTTPClientTransport(trust: ServerTrust(), eventLoopGroup: ForeignGroup())
            }
            #expect(error?.reason.contains("MultiThreadedEventLoopGroup.singleton") == true)
        }

        /// The stricter of the two minimum versions applies.
        @Test(arguments: [ServerTrust.TLSVersion.v12, .v13], ["1.2", "1.3"])
        func configurationKeepsAStricterMinimumVersion(
            minimum: ServerTrust.TLSVersion,
            maximumOfServer: String
        ) async throws {
            let options = SecureOrigin.Options(maximumVersion: maximumOfServer)
            try await SecureOrigin.run(with: .trusted, options: options) { origin in
                for ownMinimum in ["1.1", "1.3"] {
                    var configuration = HTTPClient.Configuration.networking
                    configuration.tlsConfiguration = .makeClientConfiguration()
                    configuration.tlsConfiguration?.minimumTLSVersion = ownMinimum == "1.3" ? .tlsv13 : .tlsv11
                    let roots = ServerTrust.Roots.only([try TestCertificates.certificate("authority")])
                    let transport = try AsyncHTTPClientTransport(
                        configuration: configuration,
                        trust: ServerTrust(roots: roots, minimumTLSVersion: minimum)
                    )
                    let request = HTTPRequestData(
                        scheme: "https",
                        authority: "127.0.0.1:\(origin.port)",
                        path: "/version"
                    )
                    let isAccepted = maximumOfServer == "1.3" || minimum == .v12 && ownMinimum == "1.1"
                    let status = try? await transport.data(request).status
                    #expect(status == (isAccepted ? .ok : nil), "\(ownMinimum)")
                    try await transport.shutdown()
                }
            }
        }
    }
}

/// A group of event loops that bootstraps of NIOPosix do not know.
private final class ForeignGroup: EventLoopGroup {
    private let base = MultiThreadedEventLoopGroup.singleton

    func next() -> any EventLoop {
        base.next()
    }

    func makeIterator() -> EventLoopIterator {
        base.makeIterator()
    }

    func shutdownGracefully(queue: DispatchQueue, _ callback: @escaping @Sendable ((any Error)?) -> Void) {
        queue.async { callback(nil) }
    }
}
#endif
