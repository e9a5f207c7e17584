#if TestServer && URLSession && AsyncHTTPClient && os(Linux)
import Foundation
import TestSupport
import Testing

extension Loopback {
    /// The transports against the servers of Node.
    @Suite(.requires(.peer(.node)), .peer(.node), .timeLimit(.minutes(20)))
    struct NodeTests {
        @Test(arguments: PeerCase.all(of: .node))
        func agreesWithTheTransport(on peerCase: PeerCase) async throws {
            try await peerCase.check()
        }
    }
}

extension PeerKind {
    static let node = PeerKind(name: "node", program: program("node"), lacks: [.redirect, .refusedUpload]) { site in
        let program = try site.write(
            "server.js",
            #"""
            const [port, securePort, chain, key] = process.argv.slice(2);
            const fs = require("fs"), http = require("http"), http2 = require("http2"), zlib = require("zlib");
            const film = fs.readFileSync("files/film.bin"), text = fs.readFileSync("files/text.txt");
            const hints = { link: "</style.css>; rel=preload" };
            let count = 0;
            function respond(request, response) {
              response.setHeader("X-Port", request.socket.remotePort);
              if (request.url == "/app/echo") return request.pipe(response);
              if (request.url == "/app/slow") {
                response.write("first ");
                setTimeout(() => response.write("second "), 30);
                return setTimeout(() => response.end("third"), 60);
              }
              if (request.url == "/app/large") {
                for (let number = 1; number <= 8; number++) response.setHeader("X-Large-" + number, "v".repeat(900));
                return response.end("large");
              }
              if (request.url == "/app/trailers") {
                response.write("with ");
                response.addTrailers({ "X-Checksum": "1" });
                return response.end("trailers");
              }
              if (request.url == "/app/hints") return response.writeEarlyHints(hints), response.end("page");
              if (request.url == "/closing/ready.txt" && ++count % 2 == 0) {
                if (request.httpVersionMajor == 1) response.setHeader("Connection", "close");
                else response.stream.session.close();
              }
              const file = request.url == "/film.bin" ? film
                : request.url == "/text.txt" ? text : fs.readFileSync("files/ready.txt");
              response.setHeader("ETag", '"1"');
              if (request.headers["if-none-match"] == '"1"') return response.writeHead(304), response.end();
              const range = /^bytes=(\d+)-$/.exec(request.headers.range || "");
              if (range) {
                const start = Number(range[1]);
                response.writeHead(206, {
                  "Content-Range": `bytes ${start}-${file.length - 1}/${file.length}`,
                  "Content-Length": file.length - start,
                });
                return response.end(file.subarray(start));
              }
              if (file == text && /gzip/.test(request.headers["accept-encoding"] || "")) {
                response.setHeader("Content-Encoding", "gzip");
                return response.end(zlib.gzipSync(file));
              }
              response.setHeader("Content-Length", file.length);
              response.end(request.method == "HEAD" ? undefined : file);
            }
            http.createServer(respond).listen(port, "127.0.0.1");
            const tls = { cert: fs.readFileSync(chain), key: fs.readFileSync(key), allowHTTP1: true };
            http2.createSecureServer(tls, respond).listen(securePort, "127.0.0.1");
            """#
        )
        return [program, "\(site.port)", "\(site.securePort)", site.identity.chain, site.identity.key]
    }
}
#endif
