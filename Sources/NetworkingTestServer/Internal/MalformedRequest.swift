#if TestServer
/// Says that bytes are not a request that this server understands, and where it noticed.
struct MalformedRequest: Error, CustomStringConvertible {
    private let excerpt: String

    init(_ excerpt: String) {
        self.excerpt = excerpt
    }

    var description: String {
        "This is not an HTTP/1.1 request: \(excerpt)"
    }
}
#endif
