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
    /// The encoding of an identity, for a transport of your own.
    ///
    /// It contains the key, so no description or dump shows its contents.
    public enum Source: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
        /// The contents of a PKCS#12 file, and the password of the file.
        case pkcs12(Data, password: String)
        /// The certificates and the private key in PEM, and the password of the key if it is encrypted.
        case pem(chain: String, key: String, password: String?)

        /// The encoding without its contents: `pkcs12` or `pem`.
        public var description: String {
            switch self {
            case .pkcs12: "pkcs12"
            case .pem: "pem"
            }
        }

        /// The description.
        public var debugDescription: String {
            description
        }

        /// The contents of a dump: nothing.
        public var customMirror: Mirror {
            Mirror(self, children: [:])
        }
    }

    /// The certificate and the private key, as they were passed to the initializer.
    public let source: Source

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
