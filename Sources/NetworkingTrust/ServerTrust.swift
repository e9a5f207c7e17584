/// The servers that a transport trusts: authorities, pinned keys and TLS versions, and the client's identities.
///
/// ```swift
/// let trust = ServerTrust(pins: [HostPins("api.example.com", pins: [currentKey, backupKey])])
/// let transport = try AsyncHTTPClientTransport(trust: trust)
/// ```
///
/// The platform validates every certificate as usual: its chain, its dates and its host. Pins are an additional check,
/// never a replacement. Nothing of a request is sent before both have passed.
///
/// A transport throws a ``ServerTrustError`` from its initializer for a value that it cannot enforce.
public struct ServerTrust: Sendable {
    /// The authorities that may issue the certificates of servers.
    public enum Roots: Sendable, Hashable {
        /// The authorities of the system.
        case system
        /// The authorities of the system and additional ones, for example those of a company or a debugging proxy.
        case systemAnd([Certificate])
        /// Only these authorities.
        case only([Certificate])
    }

    /// A version of TLS.
    public enum TLSVersion: String, Sendable, Hashable, CaseIterable {
        /// TLS 1.2 (RFC 5246).
        case v12 = "1.2"
        /// TLS 1.3 (RFC 8446).
        case v13 = "1.3"
    }

    /// The versions of HTTP that a client offers during a handshake (ALPN, RFC 7301).
    public enum ApplicationProtocols: String, Sendable, Hashable, CaseIterable {
        /// The versions of the transport's configuration, usually HTTP/2 and HTTP/1.1.
        case automatic
        /// HTTP/1.1 alone.
        case http1
    }

    /// The authorities that may issue the certificates of servers.
    public var roots: Roots
    /// The pins of hosts.
    ///
    /// If several entries match a host, the most specific one applies alone.
    public var pins: [HostPins]
    /// The identities of the client.
    ///
    /// If several match a host, the most specific one is used. A server that asks for a certificate receives it during
    /// the handshake, before pins are compared; the key is never sent.
    public var clientIdentities: [ClientIdentity]
    /// The oldest version of TLS that is accepted.
    ///
    /// If the configuration of the transport requires a later version, that version applies.
    public var minimumTLSVersion: TLSVersion
    /// The versions of HTTP to offer.
    public var applicationProtocols: ApplicationProtocols

    /// Creates the trust of a transport; by default, that of the platform, over TLS 1.2 or later.
    ///
    /// - Parameters:
    ///   - roots: The authorities that may issue the certificates of servers.
    ///   - pins: The pins of hosts.
    ///   - clientIdentities: The identities of the client.
    ///   - minimumTLSVersion: The oldest version of TLS that is accepted.
    ///   - applicationProtocols: The versions of HTTP to offer.
    public init(
        roots: Roots = .system,
        pins: [HostPins] = [],
        clientIdentities: [ClientIdentity] = [],
        minimumTLSVersion: TLSVersion = .v12,
        applicationProtocols: ApplicationProtocols = .automatic
    ) {
        self.roots = roots
        self.pins = pins
        self.clientIdentities = clientIdentities
        self.minimumTLSVersion = minimumTLSVersion
        self.applicationProtocols = applicationProtocols
    }

    /// Returns the pins that apply to a host.
    ///
    /// - Parameter host: The host, without port and brackets.
    /// - Returns: The pins; `nil` if there are none, or the host is one of their exceptions.
    public func pins(for host: String) -> HostPins? {
        guard let index = HostPattern.bestMatch(for: host, in: pins, { [$0.host] }) else { return nil }
        return pins[index].exceptions.contains { $0.matches(host) } ? nil : pins[index]
    }

    /// Returns the index, within ``clientIdentities``, of the identity that is presented to a host.
    package func identityIndex(for host: String) -> Int? {
        HostPattern.bestMatch(for: host, in: clientIdentities) { $0.hosts }
    }
}
