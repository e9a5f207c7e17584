public import FoundationForNetworking

/// A certificate with its private key, with which a client identifies itself to some hosts (mutual TLS).
///
/// ```swift
/// let identity = ClientIdentity(pkcs12: data, password: password, for: "api.example.com")
/// ```
///
/// It is presented only to the hosts that it names, and only if they ask for a certificate. No description or dump
/// shows the key, the certificate or the password.
public struct ClientIdentity: Sendable {
    package enum Source: Sendable {
        case pkcs12(Data, password: String)
        case pem(chain: String, key: String, password: String?)
    }

    package let source: Source

    /// The hosts to which the identity is presented.
    public let hosts: [HostPattern]

    /// Creates an identity from a PKCS#12 file (`.p12`, `.pfx`), for any transport.
    ///
    /// - Parameters:
    ///   - data: The contents of the file.
    ///   - password: The password of the file.
    ///   - hosts: The hosts to which the identity is presented.
    public init(pkcs12 data: Data, password: String, for hosts: HostPattern...) {
        source = .pkcs12(data, password: password)
        self.hosts = hosts
    }

    /// Creates an identity from PEM, for AsyncHTTPClient.
    ///
    /// URLSession needs PKCS#12.
    ///
    /// - Parameters:
    ///   - chain: The certificates in PEM: the client's own first, then those of its authorities.
    ///   - key: The private key in PEM.
    ///   - password: The password of the key, if it is encrypted.
    ///   - hosts: The hosts to which the identity is presented.
    public init(pemChain chain: String, key: String, password: String? = nil, for hosts: HostPattern...) {
        source = .pem(chain: chain, key: key, password: password)
        self.hosts = hosts
    }
}

extension ClientIdentity: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The hosts, without the key.
    public var description: String {
        "ClientIdentity(for: \(hosts.map { "\($0)" }.joined(separator: ", ")))"
    }

    /// The description.
    public var debugDescription: String {
        description
    }

    /// The contents of a dump: the hosts.
    public var customMirror: Mirror {
        Mirror(self, children: ["hosts": hosts])
    }
}
