#if Crypto
import Networking

/// What a server wants in a digest (RFC 7616 section 3.3).
struct DigestChallenge: Sendable {
    let realm: String
    /// The server's nonce, which may be replaced by the next.
    var nonce: String
    let opaque: String?
    let algorithm: DigestAlgorithm
    /// The algorithm as the server named it, if it did.
    let algorithmName: String?
    /// What the digest may cover; empty for a server that knows no more than RFC 2069 did.
    let qualities: [DigestQuality]
    /// Whether the server wants a hash in place of the user's name.
    let hidesUser: Bool
    /// Whether there is nothing wrong but that the nonce has run out.
    let isStale: Bool
    /// What else the answer is good for, besides the request that was asked.
    let domain: String?

    /// The most characters that may have to be sent back with each request.
    static let longest = 8_192

    /// Reads a challenge; nil for one that cannot be answered.
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

    /// The challenges that can be answered, the strongest first; of equally strong ones the one that the server names
    /// first.
    static func byStrength(_ challenges: [AuthenticationChallenge]) -> [DigestChallenge] {
        // The sort is stable.
        challenges.compactMap { DigestChallenge($0) }.sorted { $0.algorithm.strength > $1.algorithm.strength }
    }

    /// Whether values that a server has sent may be part of a header field, and are not too long for that.
    static func canBeSentBack(_ values: String...) -> Bool {
        values.joined().utf8.allSatisfy { $0 >= 32 && $0 != 127 } && values.reduce(0) { $0 + $1.utf8.count } <= longest
    }

    /// Whether a digest may cover the body.
    var allowsBody: Bool {
        qualities.contains(.bodyToo)
    }

    /// Returns what a digest covers; `nil` for a server that knows RFC 2069 only.
    ///
    /// - Parameter coversBody: Whether the body is covered if the server leaves that open.
    /// - Returns: The quality of protection.
    func quality(coversBody: Bool) -> DigestQuality? {
        guard qualities.count > 1 else { return qualities.first }
        return coversBody ? .bodyToo : .head
    }
}

/// What a digest covers, the quality of protection (RFC 7616 section 3.4).
enum DigestQuality: String, Sendable {
    /// Method and target.
    case head = "auth"
    /// The body too.
    case bodyToo = "auth-int"

    /// Reads a list of qualities, each once; nil when none of those that are named is known.
    fileprivate static func all(in list: String?) -> [DigestQuality]? {
        let names = list?.split { $0 == "," || $0 == " " || $0 == "\t" }.map { $0.lowercased() } ?? []
        let qualities = [.head, .bodyToo].filter { (quality: DigestQuality) in names.contains(quality.rawValue) }
        return qualities.isEmpty && !names.isEmpty ? nil : qualities
    }
}
#endif
