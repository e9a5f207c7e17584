#if TestServer && URLSession && AsyncHTTPClient && os(Linux)
import Foundation
import TestSupport
import Testing

extension Loopback {
    /// The transports against nginx, as a server of files and as a proxy.
    @Suite(.requires(.peer(.nginx)), .peer(.nginx), .timeLimit(.minutes(20)))
    struct NginxTests {
        @Test(arguments: PeerCase.all(of: .nginx))
        func agreesWithTheTransport(on peerCase: PeerCase) async throws {
            try await peerCase.check()
        }
    }
}

extension PeerKind {
    static let nginx = PeerKind(
        name: "nginx",
        program: program("nginx"),
        lacks: [.earlyHints],
        storesUploads: true
    ) { site in
        let configuration = try site.write(
            "nginx.conf",
            """
            daemon off;
            master_process off;
            pid nginx.pid;
            error_log stderr;
            events { worker_connections 256; }
            http {
                access_log off;
                client_body_temp_path body;
                proxy_temp_path proxy;
                fastcgi_temp_path fastcgi;
                uwsgi_temp_path uwsgi;
                scgi_temp_path scgi;
                default_type application/octet-stream;
                types { text/plain txt; text/html html; }
                gzip on;
                gzip_types text/plain;
                gzip_vary on;
                client_max_body_size 8m;
                proxy_http_version 1.1;
                proxy_buffer_size 32k;
                proxy_buffers 8 32k;
                server {
                    listen 127.0.0.1:\(site.port);
                    listen 127.0.0.1:\(site.securePort) ssl http2;
                    ssl_certificate \(site.identity.chain);
                    ssl_certificate_key \(site.identity.key);
                    root files;
                    add_header X-Port $remote_port always;
                    location /app/ { proxy_pass http://127.0.0.1:\(site.origin); }
                    location /limited/ {
                        client_max_body_size 1k;
                        proxy_pass http://127.0.0.1:\(site.origin)/app/;
                    }
                    location /closing/ { alias files/; keepalive_requests 2; }
                    location /upload/ { dav_methods PUT; }
                }
            }
            """
        )
        return ["-p", site.folder.path, "-c", configuration, "-e", "stderr"]
    }
}
#endif
