#if TestServer
/// The reason why bytes are not a request that this server understands.
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
