#if TestServer && URLSession && AsyncHTTPClient && os(Linux)
import Testing

/// The cases of the matrix that fail, with the reason.
///
/// A case that passes although it is listed fails its test. The numbers are those of
/// `Documentation/Architecture/ClientDefects.md`.
enum PeerDifferences {
    /// The cases that fail.
    static let known: [String: String] = [
        "lighttpd, AsyncHTTPClient, HTTP/1.1, trailers": "lighttpd 1.4.69 sends trailers that are not valid HTTP",
        "nginx, URLSession, HTTP/2, limitedConnection": nginxLimit,
        "nginx, AsyncHTTPClient, HTTP/2, limitedConnection": nginxLimit,
        "node, AsyncHTTPClient, HTTP/2, concurrentRequests": "a stream of the first connection is lost, at random",
    ]

    /// The cases that fail at random.
    static let intermittent: Set = ["node, AsyncHTTPClient, HTTP/2, concurrentRequests"]

    private static let nginxLimit = "nginx ignores the limit of a location over HTTP/2, and keeps the connection"

    private static let http2Head =
        "SwiftNIO does not send a head that needs several frames, and the call waits for its timeout"

    /// The reason why a case is not tried, because it would crash the process or wait for a timeout.
    static func untried(_ peerCase: PeerCase) -> String? {
        switch (peerCase.client, peerCase.version, peerCase.capability) {
        case (.urlSession, _, .trailers): "L10: trailers crash the process"
        case (.asyncHTTPClient, .http2, .tooLargeRequestFields)
        where ["apache", "haproxy", "node"].contains(peerCase.kind):
            http2Head
        default: nil
        }
    }
}
#endif
