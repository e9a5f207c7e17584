#if TestServer && URLSession && AsyncHTTPClient && os(Linux)
import Foundation
import TestSupport
import Testing

extension Loopback {
    /// The transports against lighttpd, as a server of files and as a proxy.
    @Suite(.requires(.peer(.lighttpd)), .peer(.lighttpd), .timeLimit(.minutes(20)))
    struct LighttpdTests {
        @Test(arguments: PeerCase.all(of: .lighttpd))
        func agreesWithTheTransport(on peerCase: PeerCase) async throws {
            try await peerCase.check()
        }
    }
}

extension PeerKind {
    /// Compression and TLS are in packages of their own, and no variable has the port of the client.
    static let lighttpd = PeerKind(
        name: "lighttpd",
        program: program("lighttpd"),
        versions: [.http1],
        lacks: [.keptConnection, .limitedConnection, .compression, .refusedUpload]
    ) { site in
        let configuration = try site.write(
            "lighttpd.conf",
            """
            server.modules = ("mod_proxy")
            server.bind = "127.0.0.1"
            server.port = \(site.port)
            server.document-root = "\(site.folder.path)/files"
            server.upload-dirs = ("\(site.folder.path)")
            index-file.names = ("index.html")
            mimetype.assign = (".txt" => "text/plain", ".html" => "text/html", "" => "application/octet-stream")
            $HTTP["url"] =~ "^/app/" {
                proxy.server = ("" => (("host" => "127.0.0.1", "port" => \(site.origin))))
            }

            """
        )
        return ["-D", "-f", configuration]
    }
}
#endif
