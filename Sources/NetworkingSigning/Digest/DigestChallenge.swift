#if Crypto
import NetworkingAuthentication

/// A server's Digest challenge (RFC 7616 section 3.3).
struct DigestChallenge: Sendable {
    let realm: String
    /// The server's nonce, which `nextnonce` in a response replaces.
    var nonce: String
    let opaque: String?
    let algorithm: DigestAlgorithm
    /// The algorithm as the server spelled it, if it did.
    let algorithmName: String?
    /// The qualities of protection that the server offers; empty for a server that supports only RFC 2069.
    let qualities: [DigestQuality]
    /// Whether the server wants a hash instead of the user's name.
    let hidesUser: Bool
    /// Whether only the nonce has expired.
    let isStale: Bool
    /// The URLs of the protection space, separated by spaces; `nil` for the whole origin.
    let domain: String?

    /// The maximum number of characters to send back with each request.
    static let maximumLength = 8_192

    /// Parses a challenge; `nil` if it is invalid or not supported.
    init?(_ challenge: AuthenticationChallenge) {
        guard challenge.isOf(scheme: "Digest"), let realm = challenge["realm"], let nonce = challenge["nonce"],
            let algorithm = DigestAlgorithm(challenge["algorithm"]),
            let qualities = DigestQuality.all(in: challenge["qop"]),
            Self.canBeSentBack(realm, nonce, challenge["opaque"] ?? "")
        else { return nil }
        self.realm = realm
        self.nonce = nonce
        opaque = challenge["opaque"]
        self.algorithm = algorithm
        algorithmName = challenge["algorithm"]
        self.qualities = qualities
        hidesUser = challenge["userhash"]?.lowercased() == "true"
        isStale = challenge["stale"]?.lowercased() == "true"
        domain = challenge["domain"]
    }

    /// Returns the supported challenges, the strongest first, and equally strong ones in the order of the server.
    static func byStrength(_ challenges: [AuthenticationChallenge]) -> [DigestChallenge] {
        // The sort is stable.
        challenges.compactMap { DigestChallenge($0) }.sorted { $0.algorithm.strength > $1.algorithm.strength }
    }

    /// Whether values from a server are valid and short enough for a header field.
    static func canBeSentBack(_ values: String...) -> Bool {
        values.joined().utf8.allSatisfy { $0 >= 32 && $0 != 127 }
            && values.reduce(0) { $0 + $1.utf8.count } <= maximumLength
    }

    /// Whether a digest may cover the body.
    var allowsBody: Bool {
        qualities.contains(.bodyToo)
    }

    /// Returns the quality of protection; `nil` for a server that supports only RFC 2069.
    ///
    /// - Parameter coversBody: Whether the body is covered if the server leaves that open.
    /// - Returns: The quality of protection.
    func quality(coversBody: Bool) -> DigestQuality? {
        guard qualities.count > 1 else { return qualities.first }
        return coversBody ? .bodyToo : .head
    }
}

/// The quality of protection: the parts of a request that a digest covers (RFC 7616 section 3.4).
enum DigestQuality: String, Sendable {
    /// Method and target.
    case head = "auth"
    /// The body too.
    case bodyToo = "auth-int"

    /// Parses a list of qualities without duplicates; `nil` if it names only unknown ones.
    fileprivate static func all(in list: String?) -> [DigestQuality]? {
        let names = list?.split { $0 == "," || $0 == " " || $0 == "\t" }.map { $0.lowercased() } ?? []
        let qualities = [.head, .bodyToo].filter { (quality: DigestQuality) in names.contains(quality.rawValue) }
        return qualities.isEmpty && !names.isEmpty ? nil : qualities
    }
}
#endif
