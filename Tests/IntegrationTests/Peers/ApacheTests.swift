#if TestServer && URLSession && AsyncHTTPClient && os(Linux)
import Foundation
import TestSupport
import Testing

extension Loopback {
    /// The transports against Apache, as a server of files and as a proxy.
    @Suite(.requires(.peer(.apache)), .peer(.apache), .timeLimit(.minutes(20)))
    struct ApacheTests {
        @Test(arguments: PeerCase.all(of: .apache))
        func agreesWithTheTransport(on peerCase: PeerCase) async throws {
            try await peerCase.check()
        }
    }
}

extension PeerKind {
    /// In one process, which is also the one that a crash ends.
    ///
    /// The limit of a body does not apply to its proxy.
    static let apache = PeerKind(
        name: "apache",
        program: program("apache2"),
        lacks: [.limitedConnection, .refusedUpload],
        storesUploads: true
    ) { site in
        // Apache does not start while the process exists that crashed, even if only as a zombie.
        try? FileManager.default.removeItem(at: site.folder.appending(path: "apache.pid"))
        let modules = [
            "mpm_event", "authz_core", "alias", "dir", "mime", "headers", "filter", "deflate", "dav", "dav_fs", "proxy",
            "proxy_http", "socache_shmcb", "ssl", "http2",
        ]
        let configuration = try site.write(
            "apache.conf",
            """
            \(modules.map { "LoadModule \($0)_module /usr/lib/apache2/modules/mod_\($0).so" }.joined(separator: "\n"))
            \(getuid() == 0 ? "User www-data\nGroup www-data" : "")
            ServerRoot \(site.folder.path)
            DefaultRuntimeDir \(site.folder.path)
            ServerName 127.0.0.1
            PidFile apache.pid
            ErrorLog /dev/stderr
            Listen 127.0.0.1:\(site.port)
            Listen 127.0.0.1:\(site.securePort)
            DocumentRoot \(site.folder.path)/files
            TypesConfig /dev/null
            AddType text/plain .txt
            AddType text/html .html
            AddOutputFilterByType DEFLATE text/plain
            Header always set X-Port "expr=%{REMOTE_PORT}"
            DavLockDB \(site.folder.path)/files/upload/lock
            <Location /upload>
                Dav On
            </Location>
            ProxyPass /app/ http://127.0.0.1:\(site.origin)/app/
            <VirtualHost 127.0.0.1:\(site.securePort)>
                SSLEngine on
                SSLCertificateFile \(site.identity.chain)
                SSLCertificateKeyFile \(site.identity.key)
                Protocols h2 http/1.1
            </VirtualHost>
            """
        )
        return ["-X", "-d", site.folder.path, "-f", configuration]
    }
}
#endif
