#if Crypto
import Networking

/// An answer to a challenge, as the Authorization field has it (RFC 7616 section 3.4).
struct DigestAnswer: Sendable {
    let algorithm: DigestAlgorithm
    let realm: String
    let nonce: String
    let target: String
    /// What it covers; nil for a server that knows no more than RFC 2069 did.
    var quality: DigestQuality?
    /// How many requests have had the nonce, with this one, in eight hexadecimal digits.
    let count: String
    let clientNonce: String

    /// Answers a challenge.
    init(_ session: DigestSession, for request: HTTPRequestData, covering quality: DigestQuality?) {
        let challenge = session.challenge
        algorithm = challenge.algorithm
        realm = challenge.realm
        nonce = challenge.nonce
        target = request.requestTarget
        self.quality = quality
        count = session.count.hexadecimal
        // The key of a session is made once; any other request has a nonce of its own.
        clientNonce = algorithm.isSession ? session.clientNonce : .digestNonce()
    }

    /// Reads the answer that a request was sent with; nil for one that went without.
    init?(in request: HTTPRequestData) {
        guard let field = request.headerFields[.authorization],
            let answer = AuthenticationChallenge.challenges(in: field).first, answer.isOf(scheme: "Digest"),
            let algorithm = DigestAlgorithm(answer["algorithm"]), let realm = answer["realm"],
            let nonce = answer["nonce"], let target = answer["uri"]
        else { return nil }
        self.algorithm = algorithm
        self.realm = realm
        self.nonce = nonce
        self.target = target
        quality = answer["qop"].flatMap { DigestQuality(rawValue: $0) }
        count = answer["nc"] ?? ""
        clientNonce = answer["cnonce"] ?? ""
    }

    /// The digest that proves the password.
    ///
    /// - Parameters:
    ///   - user: Who wants in.
    ///   - password: The password.
    ///   - method: The method of the request; empty for the server's own proof.
    ///   - body: The hash of the body, where the digest covers that.
    /// - Returns: The digest, in hexadecimal digits.
    func digest(user: String, password: String, method: String, body: String?) -> String {
        var key = algorithm.hash(user, realm, password)
        if algorithm.isSession {
            key = algorithm.hash(key, nonce, clientNonce)
        }
        let message = body.map { algorithm.hash(method, target, $0) } ?? algorithm.hash(method, target)
        guard let quality else { return algorithm.hash(key, nonce, message) }
        return algorithm.hash(key, nonce, count, clientNonce, quality.rawValue, message)
    }

    /// The value of the Authorization field.
    ///
    /// - Parameters:
    ///   - digest: The digest that proves the password.
    ///   - user: Who wants in.
    ///   - challenge: What it answers.
    /// - Returns: The value; which parameters stand in quotes is by RFC 7616 section 3.4.
    func field(digest: String, user: String, to challenge: DigestChallenge) -> String {
        var parameters = user.digestParameters(in: realm, hashedBy: challenge.hidesUser ? algorithm : nil)
        parameters += [
            "realm=\(realm.quoted)", "nonce=\(nonce.quoted)", "uri=\(target.quoted)", "response=\(digest.quoted)",
        ]
        if let name = challenge.algorithmName {
            parameters.append("algorithm=\(name)")
        }
        if let opaque = challenge.opaque {
            parameters.append("opaque=\(opaque.quoted)")
        }
        if let quality {
            parameters += ["qop=\(quality.rawValue)", "nc=\(count)"]
        }
        if quality != nil || algorithm.isSession {
            parameters.append("cnonce=\(clientNonce.quoted)")
        }
        return "Digest \(parameters.joined(separator: ", "))"
    }
}

extension String {
    /// The parameters that name the user: hashed, as they are, or encoded where quotes cannot hold them (RFC 8187).
    fileprivate func digestParameters(in realm: String, hashedBy algorithm: DigestAlgorithm?) -> [String] {
        if let algorithm {
            return ["username=\(algorithm.hash(self, realm).quoted)", "userhash=true"]
        }
        guard utf8.allSatisfy({ 32..<127 ~= $0 }) else {
            return ["username*=UTF-8''\(PercentEncoding.unreserved.encode(self))"]
        }
        return ["username=\(quoted)"]
    }

    /// The text as a quoted string (RFC 9110 section 5.6.4).
    fileprivate var quoted: String {
        // By bytes: a quotation mark with an accent on it is one character.
        let escaped = utf8.flatMap { $0 == .quote || $0 == .backslash ? [.backslash, $0] : [$0] }
        return "\"\(String(decoding: escaped, as: UTF8.self))\""
    }
}

extension UInt8 {
    fileprivate static let quote = UInt8(ascii: "\"")
    fileprivate static let backslash = UInt8(ascii: "\\")
}
#endif
