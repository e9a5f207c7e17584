#if Crypto
import FoundationForNetworking
import NetworkingCore
import Synchronization

/// The known challenges of servers, so that requests can be signed in advance (RFC 7616 section 3.6).
final class DigestSessions: Sendable {
    /// The maximum number of sessions.
    ///
    /// After a session is dropped, the server sends a new challenge.
    static let capacity = 32

    /// The sessions, in the order in which they started.
    private let sessions = Mutex<[DigestSession]>([])

    /// Starts a session with the challenge to a request, and replaces the session with the same protection space.
    func begin(_ challenge: DigestChallenge, to request: HTTPRequestData) {
        let session = DigestSession(challenge, to: request)
        sessions.withLock { sessions in
            sessions.removeAll { $0.domain == session.domain }
            sessions.append(session)
            sessions.removeFirst(max(0, sessions.count - Self.capacity))
        }
    }

    /// Returns the session for a request, with its nonce counted; `nil` if the request must wait for a challenge.
    func next(for request: HTTPRequestData) -> DigestSession? {
        let place = ProtectionSpace(of: request)
        return sessions.withLock { sessions in
            // Prefers the most specific protection space, then the latest session.
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

    /// Returns the number of requests with a nonce; `nil` if its session is gone.
    func count(of nonce: String) -> UInt32? {
        sessions.withLock { sessions in sessions.first { $0.challenge.nonce == nonce }?.count }
    }

    /// Ends the session of a nonce.
    func end(_ nonce: String) {
        sessions.withLock { sessions in sessions.removeAll { $0.challenge.nonce == nonce } }
    }

    /// Replaces the nonce of a session, if a session still uses it.
    func replace(_ nonce: String, by next: String) {
        sessions.withLock { sessions in
            for index in sessions.indices where sessions[index].challenge.nonce == nonce {
                sessions[index].challenge.nonce = next
                sessions[index].count = 0
            }
        }
    }
}

/// A challenge, its protection space and the number of requests that were signed for it.
struct DigestSession: Sendable {
    /// The maximum number of URLs in a challenge's `domain`.
    private static let maximumPlaces = 32

    var challenge: DigestChallenge
    /// The number of requests with the nonce.
    var count: UInt32 = 0
    /// The client's nonce, which the key of a session is derived from.
    let clientNonce = String.digestNonce()
    /// The protection space of the challenge.
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
            // The requested URL is covered even if the server does not list it.
            domain = Set(places + [asked])
        }
    }

    /// Returns the length of the most specific match; `nil` if the place is outside the protection space.
    fileprivate func closeness(to place: ProtectionSpace) -> Int? {
        domain.filter { place.lies(in: $0) }.map(\.target.utf8.count).max()
    }
}

/// An origin, and the prefix of the targets in it.
struct ProtectionSpace: Sendable, Hashable {
    let origin: [String]
    let target: String

    private init(origin: [String], target: String) {
        self.origin = origin
        self.target = target
    }

    /// Creates the place of one request.
    init(of request: HTTPRequestData) {
        self.init(origin: request.origin, target: request.requestTarget)
    }

    /// Creates the whole origin of a request.
    init(originOf request: HTTPRequestData) {
        self.init(origin: request.origin, target: "")
    }

    /// Parses a URL in a challenge's `domain`, or a path at the origin of the request.
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
    /// Returns a client nonce: 264 random bits.
    static func digestNonce() -> String {
        Data(NetworkEnvironment.current.secureRandom.bytes(33)).base64EncodedString()
    }
}
#endif
