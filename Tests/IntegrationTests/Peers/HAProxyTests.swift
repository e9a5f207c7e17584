#if TestServer && URLSession && AsyncHTTPClient && os(Linux)
import Foundation
import TestSupport
import Testing

extension Loopback {
    /// The transports against HAProxy, which passes everything to the origin.
    @Suite(.requires(.peer(.haproxy)), .peer(.haproxy), .timeLimit(.minutes(20)))
    struct HAProxyTests {
        @Test(arguments: PeerCase.all(of: .haproxy))
        func agreesWithTheTransport(on peerCase: PeerCase) async throws {
            try await peerCase.check()
        }
    }
}

extension PeerKind {
    static let haproxy = PeerKind(
        name: "haproxy",
        program: program("haproxy"),
        lacks: [.limitedConnection, .notModified, .redirect, .refusedUpload]
    ) { site in
        let identity = try [site.identity.chain, site.identity.key]
            .map { try String(contentsOfFile: $0, encoding: .utf8) }
        let configuration = try site.write(
            "haproxy.cfg",
            """
            defaults
                mode http
                timeout connect 5s
                timeout client 30s
                timeout server 30s
            frontend site
                bind 127.0.0.1:\(site.port)
                bind 127.0.0.1:\(site.securePort) ssl crt \(try site.write("identity.pem", identity.joined())) alpn h2,http/1.1
                http-after-response set-header X-Port %[src_port]
                http-request return status 200 content-type text/plain string \(site.token) if { path /ready.txt }
                compression algo gzip
                compression type text/plain
                default_backend origin
            backend origin
                server origin 127.0.0.1:\(site.origin)

            """
        )
        return ["-db", "-f", configuration]
    }
}
#endif
