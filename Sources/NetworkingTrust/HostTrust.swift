/// The parts of a ``ServerTrust`` that apply to the connections of one host.
///
/// A transport of your own gets it from ``ServerTrust/hostTrust(for:)`` before each exchange, and compares the
/// certificates of each new connection with ``mismatch(with:)``:
///
/// ```swift
/// func check(_ certificates: [Certificate], for request: HTTPRequestData, under trust: ServerTrust) throws {
///     if let host = try trust.hostTrust(for: request), let mismatch = host.mismatch(with: certificates) {
///         throw NetworkingError(mismatch, request: request)
///     }
/// }
/// ```
///
/// A transport also uses it as a key for connections: a connection may serve only requests with an equal value. A
/// connection for another value was not compared with these pins, or presented another identity.
public struct HostTrust: Sendable, Hashable {
    /// The host of the connection, in lower case and without port and brackets.
    public let host: String
    /// The pins that the connection has to match; `nil` if none apply.
    public let pins: HostPins?
    /// The index, within ``ServerTrust/clientIdentities``, of the identity to present; `nil` if there is none.
    ///
    /// With an index, a transport can read the keys of all identities once, when it is created.
    public let identityIndex: Int?

    /// Returns the mismatch with the certificates of a server.
    ///
    /// The transport validates the certificates as well: pins do not replace the validation.
    ///
    /// - Parameter certificates: The certificates of the server, its own first. Only that one is compared, unless the
    ///   scope of the pins is ``HostPins/Scope/validatedChain``.
    /// - Returns: The mismatch; `nil` if one of the pins matches, or there are no pins.
    public func mismatch(with certificates: [Certificate]) -> PinMismatch? {
        pins?.mismatch(with: certificates, of: host)
    }

    /// Hashes the host and whether there are pins.
    ///
    /// Hashing all pins would cost more than the comparison of equal values.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(host)
        hasher.combine(pins == nil)
    }
}
