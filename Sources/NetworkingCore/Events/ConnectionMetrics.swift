/// What a transport knows of the connection that an exchange had, as far as its platform tells.
///
/// URLSession tells all of it on Apple's platforms and nothing on Linux; AsyncHTTPClient tells the protocol.
public struct ConnectionMetrics: Sendable, Hashable {
    /// The version of HTTP, as OpenTelemetry writes it: `1.1`, `2`, `3`.
    public var protocolVersion: String?
    /// Whether the connection had served another exchange before.
    public var isReused: Bool?
    /// The address at the other end: the server's, or a proxy's.
    public var peerAddress: String?
    /// The port at the other end.
    public var peerPort: Int?
    /// How long the name's address was looked for.
    public var nameResolution: Duration?
    /// How long it took to connect, with TLS.
    public var connecting: Duration?
    /// How much of that TLS took.
    public var securing: Duration?
    /// The bytes that went out, header fields included and bodies as they were encoded.
    public var bytesSent: Int64?
    /// The bytes that came in, header fields included and bodies as they were encoded.
    public var bytesReceived: Int64?

    /// Creates metrics that tell nothing.
    public init() {}
}

extension ConnectionMetrics: CustomStringConvertible {
    /// What is known, in a line: `HTTP/2, reused, 127.0.0.1:443`.
    public var description: String {
        var parts: [String] = []
        if let protocolVersion { parts.append("HTTP/\(protocolVersion)") }
        if let isReused { parts.append(isReused ? "reused" : "new") }
        if let peerAddress { parts.append(peerPort.map { "\(peerAddress):\($0)" } ?? peerAddress) }
        return parts.joined(separator: ", ")
    }
}
