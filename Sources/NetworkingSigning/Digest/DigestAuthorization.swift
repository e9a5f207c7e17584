#if Crypto
import NetworkingAuthentication
import NetworkingCore

/// The value of the Authorization field that responds to a challenge (RFC 7616 section 3.4).
struct DigestAuthorization: Sendable {
    let algorithm: DigestAlgorithm
    let realm: String
    let nonce: String
    let target: String
    /// The quality of protection; `nil` for a server that supports only RFC 2069.
    var quality: DigestQuality?
    /// The number of requests with this nonce, including this one, in eight hexadecimal digits.
    let count: String
    let clientNonce: String

    /// Creates the value for the challenge of a session.
    init(_ session: DigestSession, for request: HTTPRequestData, covering quality: DigestQuality?) {
        let challenge = session.challenge
        algorithm = challenge.algorithm
        realm = challenge.realm
        nonce = challenge.nonce
        target = request.requestTarget
        self.quality = quality
        count = session.count.hexadecimal
        // The key of a session is computed once; any other request has a separate nonce.
        clientNonce = algorithm.isSession ? session.clientNonce : .digestNonce()
    }

    /// Parses the Authorization field of a sent request; `nil` if it has no Digest credentials.
    init?(in request: HTTPRequestData) {
        guard let field = request.headerFields[.authorization],
            let authorization = AuthenticationChallenge.challenges(in: field).first,
            authorization.isOf(scheme: "Digest"),
            let algorithm = DigestAlgorithm(authorization["algorithm"]), let realm = authorization["realm"],
            let nonce = authorization["nonce"], let target = authorization["uri"]
        else { return nil }
        self.algorithm = algorithm
        self.realm = realm
        self.nonce = nonce
        self.target = target
        quality = authorization["qop"].flatMap { DigestQuality(rawValue: $0) }
        count = authorization["nc"] ?? ""
        clientNonce = authorization["cnonce"] ?? ""
    }

    /// Returns the digest that proves knowledge of the password.
    ///
    /// - Parameters:
    ///   - user: The user.
    ///   - password: The password.
    ///   - method: The method of the request; empty for the server's own proof.
    ///   - body: The hash of the body, if the digest covers the body.
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

    /// Returns the value of the Authorization field.
    ///
    /// - Parameters:
    ///   - digest: The digest that proves knowledge of the password.
    ///   - user: The user.
    ///   - challenge: The challenge.
    /// - Returns: The value; RFC 7616 section 3.4 defines which parameters are quoted.
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
    /// The parameters for the user's name: hashed, quoted, or encoded if it cannot be quoted (RFC 8187).
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
        // Compares bytes, because a quotation mark with an accent is a single character.
        let escaped = utf8.flatMap { $0 == .quote || $0 == .backslash ? [.backslash, $0] : [$0] }
        return "\"\(String(decoding: escaped, as: UTF8.self))\""
    }
}

extension UInt8 {
    fileprivate static let quote = UInt8(ascii: "\"")
    fileprivate static let backslash = UInt8(ascii: "\\")
}
#endif
