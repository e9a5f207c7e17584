#if TestServer && URLSession && AsyncHTTPClient && os(Linux)
import Foundation
import TestSupport
import Testing

extension Loopback {
    /// The transports against Caddy, as a server of files and as a proxy.
    @Suite(.requires(.peer(.caddy)), .peer(.caddy), .timeLimit(.minutes(20)))
    struct CaddyTests {
        @Test(arguments: PeerCase.all(of: .caddy))
        func agreesWithTheTransport(on peerCase: PeerCase) async throws {
            try await peerCase.check()
        }
    }
}

extension PeerKind {
    static let caddy = PeerKind(
        name: "caddy",
        program: program("caddy"),
        lacks: [.limitedConnection]
    ) { site in
        let configuration = try site.write(
            "Caddyfile",
            """
            {
                admin off
                auto_https off
                skip_install_trust
                storage file_system \(site.folder.path)/storage
                servers {
                    protocols h1 h2
                }
            }
            (site) {
                bind 127.0.0.1
                root * \(site.folder.path)/files
                header X-Port {http.request.remote.port}
                encode gzip
                reverse_proxy /app/* 127.0.0.1:\(site.origin)
                handle_path /limited/* {
                    request_body {
                        max_size 1KB
                    }
                    rewrite * /app{path}
                    reverse_proxy 127.0.0.1:\(site.origin)
                }
                file_server
            }
            http://127.0.0.1:\(site.port) {
                import site
            }
            https://127.0.0.1:\(site.securePort) {
                tls \(site.identity.chain) \(site.identity.key)
                import site
            }

            """
        )
        return ["run", "--adapter", "caddyfile", "--config", configuration]
    }
}
#endif
