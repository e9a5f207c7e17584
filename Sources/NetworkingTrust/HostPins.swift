public import FoundationForNetworking

/// The pins of a host, or of the hosts that match a pattern.
///
/// ```swift
/// let pins = HostPins(
///     "*.example.com",
///     pins: [
///         "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",   // the key in use
///         "sha256/BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB=",   // the backup key, kept offline
///     ],
///     expires: Date(timeIntervalSince1970: 1_830_000_000)
/// )
/// ```
///
/// One of the pins must match. A server has one key, so a second pin is the backup for the day on which the key
/// changes; the stack's `diagnostics` warn if there is none.
public struct HostPins: Sendable, Hashable {
    /// The reaction if no pin matches.
    public enum Mode: String, Sendable, Hashable, CaseIterable {
        /// The connection is closed and the request fails, before any of it was sent.
        case enforced
        /// The request continues, and the listeners receive ``TrustEvent/mismatchReported(_:)``.
        case reportOnly
    }

    /// The certificates of a server that are compared with the pins.
    public enum Scope: String, Sendable, Hashable, CaseIterable {
        /// The server's own certificate.
        case leaf
        /// Every certificate of the chain that the platform has validated, up to the root.
        ///
        /// Only URLSession on Apple's platforms shows that chain. Another transport refuses the ``ServerTrust``; pin
        /// an authority there with ``ServerTrust/Roots/only(_:)``.
        case validatedChain
    }

    /// The hosts that the pins apply to.
    public let host: HostPattern
    /// The pins, of which one must match.
    public let pins: Set<CertificatePin>
    /// Hosts that match ``host``, but have no pins.
    public let exceptions: [HostPattern]
    /// The date from which the pins are not enforced; `nil` if they do not expire.
    public let expiration: Date?
    /// The reaction if no pin matches.
    public let mode: Mode
    /// The certificates that are compared with the pins.
    public let scope: Scope

    /// Creates pins for hosts.
    ///
    /// - Parameters:
    ///   - host: The hosts that the pins apply to. If several entries of a ``ServerTrust`` match a host, the most
    ///     specific one applies alone.
    ///   - pins: The pins, at least one, of which one must match.
    ///   - exceptions: Hosts that match `host`, but have no pins.
    ///   - expiration: The date from which the pins are not enforced, by the environment's clock. An app that is never
    ///     updated then keeps working. By default, the pins do not expire.
    ///   - mode: The reaction if no pin matches; the request fails by default.
    ///   - scope: The certificates that are compared with the pins; the server's own by default.
    public init(
        _ host: HostPattern,
        pins: [CertificatePin],
        except exceptions: [HostPattern] = [],
        expires expiration: Date? = nil,
        mode: Mode = .enforced,
        scope: Scope = .leaf
    ) {
        precondition(!pins.isEmpty, "HostPins needs at least one pin for \(host), and should have two")
        self.host = host
        self.pins = Set(pins)
        self.exceptions = exceptions
        self.expiration = expiration
        self.mode = mode
        self.scope = scope
    }

    /// Creates pins from certificates, by their public keys.
    ///
    /// - Parameters:
    ///   - host: The hosts that the pins apply to.
    ///   - certificates: The certificates, at least one. One of their public keys must match.
    ///   - exceptions: Hosts that match `host`, but have no pins.
    ///   - expiration: The date from which the pins are not enforced.
    ///   - mode: The reaction if no pin matches; the request fails by default.
    ///   - scope: The certificates that are compared with the pins; the server's own by default.
    public init(
        _ host: HostPattern,
        certificates: [Certificate],
        except exceptions: [HostPattern] = [],
        expires expiration: Date? = nil,
        mode: Mode = .enforced,
        scope: Scope = .leaf
    ) {
        self.init(
            host,
            pins: certificates.map(\.publicKeyPin),
            except: exceptions,
            expires: expiration,
            mode: mode,
            scope: scope
        )
    }

    /// Returns whether the pins are no longer enforced at a date.
    ///
    /// - Parameter date: The date.
    /// - Returns: `true` from ``expiration`` on.
    public func areExpired(at date: Date) -> Bool {
        expiration.map { $0 <= date } ?? false
    }

    /// Returns the mismatch with the certificates of a server.
    ///
    /// - Parameters:
    ///   - certificates: The certificates of the server, its own first. Only that one is compared if the scope is
    ///     ``Scope/leaf``.
    ///   - host: The host of the server.
    /// - Returns: The mismatch; `nil` if one of the pins matches.
    func mismatch(with certificates: [Certificate], of host: String) -> PinMismatch? {
        let compared = scope == .leaf ? Array(certificates.prefix(1)) : certificates
        var presented: [CertificatePin] = []
        for certificate in compared {
            presented.append(certificate.publicKeyPin)
            if pins.contains(where: { $0.subject == .certificate }) {
                presented.append(certificate.certificatePin)
            }
        }
        guard pins.isDisjoint(with: presented) else { return nil }
        return PinMismatch(host: host, presented: presented, expected: pins.sorted { "\($0)" < "\($1)" })
    }
}
