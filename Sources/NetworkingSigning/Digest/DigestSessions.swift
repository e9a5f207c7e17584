#if Crypto
import Networking
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The challenges that servers have made, for requests to answer before they are asked (RFC 7616 section 3.6).
final class DigestSessions: Sendable {
    /// The most that are remembered; who is forgotten is asked again.
    static let capacity = 32

    /// The last one to begin is the last.
    private let sessions = Mutex<[DigestSession]>([])

    /// Begins a session with the challenge to a request, in place of those for the same requests.
    func begin(_ challenge: DigestChallenge, to request: HTTPRequestData) {
        let session = DigestSession(challenge, to: request)
        sessions.withLock { sessions in
            sessions.removeAll { $0.domain == session.domain }
            sessions.append(session)
            sessions.removeFirst(max(0, sessions.count - Self.capacity))
        }
    }

    /// The session that a request is part of, with the count of its nonce; nil for one that has to wait to be asked.
    func next(for request: HTTPRequestData) -> DigestSession? {
        let place = ProtectionSpace(of: request)
        return sessions.withLock { sessions in
            // Of those that cover it, the one that names its place most closely; of equals, the latest.
            let candidates = sessions.indices.compactMap { index in
                sessions[index].closeness(to: place).map { (index: index, closeness: $0) }
            }
            guard let index = candidates.max(by: { ($0.closeness, $0.index) < ($1.closeness, $1.index) })?.index else {
                return nil
            }
            guard sessions[index].count < .max else {
                sessions.remove(at: index)
                return nil
            }
            sessions[index].count += 1
            return sessions[index]
        }
    }

    /// How many requests have had a nonce; nil for one that is forgotten.
    func count(of nonce: String) -> UInt32? {
        sessions.withLock { sessions in sessions.first { $0.challenge.nonce == nonce }?.count }
    }

    /// Ends the session of a nonce.
    func end(_ nonce: String) {
        sessions.withLock { sessions in sessions.removeAll { $0.challenge.nonce == nonce } }
    }

    /// Goes on with another nonce, where a session still has the one that it follows.
    func replace(_ nonce: String, by next: String) {
        sessions.withLock { sessions in
            for index in sessions.indices where sessions[index].challenge.nonce == nonce {
                sessions[index].challenge.nonce = next
                sessions[index].count = 0
            }
        }
    }
}

/// A challenge, and where and how often it was answered.
struct DigestSession: Sendable {
    /// The most places that a challenge may name.
    private static let maximumPlaces = 32

    var challenge: DigestChallenge
    /// How many requests have had the nonce.
    var count: UInt32 = 0
    /// The client's nonce, of which the key of a session is made once.
    let clientNonce = String.digestNonce()
    /// Where the answer is good.
    let domain: Set<ProtectionSpace>

    fileprivate init(_ challenge: DigestChallenge, to request: HTTPRequestData) {
        self.challenge = challenge
        let places = (challenge.domain ?? "").split(separator: " ").prefix(Self.maximumPlaces)
            .compactMap { ProtectionSpace($0, for: request) }
        let asked = ProtectionSpace(of: request)
        if places.isEmpty {
            domain = [ProtectionSpace(originOf: request)]
        } else if places.contains(where: { asked.lies(in: $0) }) {
            domain = Set(places)
        } else {
            // The request that was asked is covered whatever the server says.
            domain = Set(places + [asked])
        }
    }

    /// How much of a place its domain names; nil where that lies outside.
    fileprivate func closeness(to place: ProtectionSpace) -> Int? {
        domain.filter { place.lies(in: $0) }.map(\.target.utf8.count).max()
    }
}

/// An origin, and how the targets in it begin.
struct ProtectionSpace: Sendable, Hashable {
    let origin: [String]
    let target: String

    private init(origin: [String], target: String) {
        self.origin = origin
        self.target = target
    }

    /// The place of one request.
    init(of request: HTTPRequestData) {
        self.init(origin: request.origin, target: request.requestTarget)
    }

    /// All of the origin of a request.
    init(originOf request: HTTPRequestData) {
        self.init(origin: request.origin, target: "")
    }

    /// Reads a place that a challenge names: a URL, or a path at the origin of the request.
    init?(_ text: Substring, for request: HTTPRequestData) {
        if text.hasPrefix("/"), !text.hasPrefix("//") {
            self.init(origin: request.origin, target: HTTPRequestData(path: String(text)).requestTarget)
            return
        }
        guard let url = URL(string: String(text)), url.scheme == "https" || url.scheme == "http", url.host() != nil
        else {
            return nil
        }
        self.init(of: HTTPRequestData(url: url))
    }

    func lies(in other: ProtectionSpace) -> Bool {
        origin == other.origin && target.hasPrefix(other.target)
    }
}

extension String {
    /// A client's nonce: 264 bits by chance.
    static func digestNonce() -> String {
        Data(NetworkEnvironment.current.secureRandom.bytes(33)).base64EncodedString()
    }
}
#endif
