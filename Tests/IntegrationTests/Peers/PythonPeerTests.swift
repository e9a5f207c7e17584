#if TestServer && URLSession && AsyncHTTPClient && os(Linux)
import Foundation
import TestSupport
import Testing

extension Loopback {
    /// The transports against Hypercorn, which speaks HTTP/1.1 with h11 and HTTP/2 with h2.
    @Suite(.requires(.peer(in: "hypercorn")), .peer(.hypercorn), .timeLimit(.minutes(20)))
    struct HypercornTests {
        @Test(arguments: PeerCase.all(of: .hypercorn))
        func agreesWithTheTransport(on peerCase: PeerCase) async throws {
            try await peerCase.check()
        }
    }

    /// The transports against Gunicorn.
    @Suite(.requires(.peer(in: "gunicorn")), .peer(.gunicorn), .timeLimit(.minutes(20)))
    struct GunicornTests {
        @Test(arguments: PeerCase.all(of: .gunicorn))
        func agreesWithTheTransport(on peerCase: PeerCase) async throws {
            try await peerCase.check()
        }
    }
}

extension PeerKind {
    private static let python =
        ProcessInfo.processInfo.environment["TESTS_PYTHON"].map { URL(filePath: $0) }
        ?? program("python3")

    static let hypercorn = PeerKind(
        name: "hypercorn",
        program: python,
        lacks: [.limitedConnection, .trailers, .compression, .redirect, .refusedUpload]
    ) { site in
        try site.write(
            "peer_site.py",
            #"""
            import asyncio, re
            film, text = open("files/film.bin", "rb").read(), open("files/text.txt", "rb").read()

            async def app(scope, receive, send):
                if scope["type"] != "http":
                    return
                path, fields = scope["path"], dict(scope["headers"])
                port = (b"x-port", str(scope["client"][1]).encode())

                async def respond(chunks, status=200, added=(), trailers=False):
                    start = {"type": "http.response.start", "status": status, "headers": [port, *added]}
                    await send({**start, "trailers": trailers})
                    for chunk in chunks:
                        await send({"type": "http.response.body", "body": chunk, "more_body": True})
                        await asyncio.sleep(0.03 if path == "/app/slow" else 0)
                    await send({"type": "http.response.body", "body": b""})
                    if trailers:
                        await send({"type": "http.response.trailers", "headers": [(b"x-checksum", b"1")]})

                if path == "/app/echo":
                    chunks, more = [], True
                    while more:
                        message = await receive()
                        chunks, more = [*chunks, message.get("body", b"")], message.get("more_body", False)
                    return await respond(chunks)
                if path == "/app/slow":
                    return await respond([b"first ", b"second ", b"third"])
                if path == "/app/large":
                    return await respond([b"large"], added=[(b"x-large-%d" % n, b"v" * 900) for n in range(1, 9)])
                if path == "/app/trailers":
                    return await respond([b"with ", b"trailers"], trailers=True)
                if path == "/app/hints":
                    if "http.response.early_hint" in scope.get("extensions", {}):
                        await send({"type": "http.response.early_hint", "links": [b"</style.css>; rel=preload"]})
                    return await respond([b"page"])
                file = {"/film.bin": film, "/text.txt": text}.get(path) or open("files/ready.txt", "rb").read()
                if fields.get(b"if-none-match") == b'"1"':
                    return await respond([], 304, [(b"etag", b'"1"')])
                range_ = re.fullmatch(rb"bytes=(\d+)-", fields.get(b"range", b""))
                start = int(range_[1]) if range_ else 0
                added = [(b"etag", b'"1"'), (b"content-length", b"%d" % (len(file) - start))]
                if range_:
                    added.append((b"content-range", b"bytes %d-%d/%d" % (start, len(file) - 1, len(file))))
                chunks = [file[n:n + 65536] for n in range(start, len(file), 65536)]
                await respond([] if scope["method"] == "HEAD" else chunks, 206 if range_ else 200, added)
            """#
        )
        return [
            "-m", "hypercorn", "--workers", "0", "--insecure-bind", "127.0.0.1:\(site.port)", "--bind",
            "127.0.0.1:\(site.securePort)", "--certfile", site.identity.chain, "--keyfile", site.identity.key,
            "peer_site:app",
        ]
    }

    /// The process that a crash ends has a worker, which ends a second later and keeps the port until then.
    static let gunicorn = PeerKind(
        name: "gunicorn",
        program: python,
        versions: [.http1],
        lacks: [
            .limitedConnection, .trailers, .earlyHints, .compression, .redirect, .refusedUpload, .resumedDownload,
        ]
    ) { site in
        try site.write(
            "peer_site.py",
            #"""
            import re, time
            film, text = open("files/film.bin", "rb").read(), open("files/text.txt", "rb").read()

            def app(environ, start_response):
                path = environ["PATH_INFO"]
                port = ("X-Port", environ["REMOTE_PORT"])

                def slow():
                    for chunk in [b"first ", b"second ", b"third"]:
                        yield chunk
                        time.sleep(0.03)

                if path == "/app/echo":
                    body = environ["wsgi.input"].read()
                    start_response("200 OK", [port])
                    return [body]
                if path == "/app/slow":
                    start_response("200 OK", [port])
                    return slow()
                if path == "/app/large":
                    start_response("200 OK", [port, *[("X-Large-%d" % n, "v" * 900) for n in range(1, 9)]])
                    return [b"large"]
                file = {"/film.bin": film, "/text.txt": text}.get(path) or open("files/ready.txt", "rb").read()
                if environ.get("HTTP_IF_NONE_MATCH") == '"1"':
                    start_response("304 Not Modified", [port, ("ETag", '"1"')])
                    return []
                found = re.fullmatch(r"bytes=(\d+)-", environ.get("HTTP_RANGE", ""))
                start = int(found[1]) if found else 0
                fields = [port, ("ETag", '"1"'), ("Content-Length", str(len(file) - start))]
                if found:
                    fields.append(("Content-Range", "bytes %d-%d/%d" % (start, len(file) - 1, len(file))))
                start_response("206 Partial Content" if found else "200 OK", fields)
                return [] if environ["REQUEST_METHOD"] == "HEAD" else [file[start:]]
            """#
        )
        return [
            "-m", "gunicorn", "--threads", "16", "--keep-alive", "60", "--bind", "127.0.0.1:\(site.port)",
            "peer_site:app",
        ]
    }
}
#endif
