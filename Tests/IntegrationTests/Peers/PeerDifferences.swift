#if TestServer && URLSession && AsyncHTTPClient && os(Linux)
import Testing

/// The cases of the matrix that fail, with the reason.
///
/// A case that passes although it is listed fails its test. The numbers are those of
/// `Documentation/Architecture/ClientDefects.md`.
enum PeerDifferences {
    /// The cases that fail.
    static let known: [String: String] = [
        "apache, AsyncHTTPClient, HTTP/1.1, notModified": apacheTag,
        "apache, AsyncHTTPClient, HTTP/2, notModified": apacheTag,
        "caddy, URLSession, HTTP/1.1, refusedUpload": caddyLimit,
        "caddy, AsyncHTTPClient, HTTP/1.1, refusedUpload": caddyLimit,
        "caddy, AsyncHTTPClient, HTTP/2, refusedUpload": caddyLimit,
        "haproxy, URLSession, HTTP/1.1, earlyHints": haproxyHints,
        "haproxy, AsyncHTTPClient, HTTP/1.1, earlyHints": haproxyHints,
        "lighttpd, AsyncHTTPClient, HTTP/1.1, trailers": "lighttpd 1.4.69 sends trailers that are not valid HTTP",
        "nginx, URLSession, HTTP/2, limitedConnection": nginxLimit,
        "nginx, AsyncHTTPClient, HTTP/2, limitedConnection": nginxLimit,
    ]

    /// The cases that fail at random.
    static let intermittent: Set = [
        "haproxy, URLSession, HTTP/1.1, earlyHints", "haproxy, AsyncHTTPClient, HTTP/1.1, earlyHints",
    ]

    private static let apacheTag = "Apache adds -gzip to the entity tag of a compressed response, and then ignores it"
    private static let caddyLimit = "Caddy 2.6 responds to a body above the limit of a proxy with 502"
    private static let haproxyHints = "HAProxy 2.6 loses some bodies after a 103 if they do not arrive with the head"
    private static let nginxLimit = "nginx ignores the limit of a location over HTTP/2, and keeps the connection"

    /// The reason why a case is not tried, because it would crash the process or wait for a timeout.
    static func untried(_ peerCase: PeerCase) -> String? {
        switch (peerCase.client, peerCase.version, peerCase.capability) {
        case (.urlSession, _, .trailers): "L10: trailers crash the process"
        default: nil
        }
    }
}
#endif
