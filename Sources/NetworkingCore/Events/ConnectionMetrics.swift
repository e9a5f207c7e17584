/// The measurements of an exchange's connection.
///
/// URLSession provides all of them on Apple's platforms and none on Linux. AsyncHTTPClient provides the protocol
/// version.
public struct ConnectionMetrics: Sendable, Hashable {
    /// The version of HTTP, as OpenTelemetry writes it: `1.1`, `2`, `3`.
    public var protocolVersion: String?
    /// Whether the connection had served another exchange before.
    public var isReused: Bool?
    /// The address of the peer: the server or a proxy.
    public var peerAddress: String?
    /// The port of the peer.
    public var peerPort: Int?
    /// The duration of the name resolution.
    public var nameResolution: Duration?
    /// The time to connect, including TLS.
    public var connecting: Duration?
    /// The part of `connecting` that TLS took.
    public var securing: Duration?
    /// The bytes that were sent, including header fields, with bodies in their encoded form.
    public var bytesSent: Int64?
    /// The bytes that were received, including header fields, with bodies in their encoded form.
    public var bytesReceived: Int64?

    /// Creates metrics without measurements.
    public init() {}
}

extension ConnectionMetrics: CustomStringConvertible {
    /// The known measurements in one line: `HTTP/2, reused, 127.0.0.1:443`.
    public var description: String {
        var parts: [String] = []
        if let protocolVersion { parts.append("HTTP/\(protocolVersion)") }
        if let isReused { parts.append(isReused ? "reused" : "new") }
        if let peerAddress { parts.append(peerPort.map { "\(peerAddress):\($0)" } ?? peerAddress) }
        return parts.joined(separator: ", ")
    }
}
