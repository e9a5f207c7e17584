#if Valkey
public import Crypto
import FoundationForNetworking
import NetworkingAuthentication

/// A key with which ``ValkeySessionStorage`` encrypts sessions.
///
/// ```swift
/// let key = SessionSealingKey(id: "2026-11", SymmetricKey(data: sharedKey))
/// ```
///
/// To change the key, give all processes the new one as their second key, then as their first one. When all sessions
/// have been saved since then, remove the old key.
public struct SessionSealingKey: Sendable {
    /// The name of the key, which is stored with each session; no secret.
    public let id: String
    fileprivate let key: SymmetricKey

    /// Creates a key.
    ///
    /// - Parameters:
    ///   - id: The name of the key: another one for each key, and the same one in all processes. Its first 64 bytes
    ///     count.
    ///   - key: A secret of at least 16 random bytes. The key of the sessions is derived from it (HKDF-SHA256).
    public init(id: String, _ key: SymmetricKey) {
        self.id = id
        self.key = HKDF<SHA256>
            .deriveKey(inputKeyMaterial: key, info: Array("swift-networking session".utf8), outputByteCount: 32)
    }

    fileprivate var idBytes: [UInt8] {
        Array(id.utf8.prefix(64))
    }
}

extension SessionSealingKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The name of the key.
    public var description: String {
        "SessionSealingKey(\(id))"
    }

    /// The same as ``description``.
    public var debugDescription: String {
        description
    }

    /// A dump without the secret.
    public var customMirror: Mirror {
        Mirror(self, children: ["id": id])
    }
}

/// Encrypts sessions with AES-GCM, and decrypts them.
///
/// A sealed session is a byte with the version, one with the length of the key's name, the name, and the nonce, the
/// ciphertext and the tag. It is bound to its place: that of another user or another namespace cannot be opened.
struct SessionSeal: Sendable {
    private static let version: UInt8 = 1
    // A session has a few kilobytes; a larger value is not a session.
    private static let sizeLimit = 1 << 20

    /// The key that seals, and others that only open.
    let keys: [SessionSealingKey]

    func seal(_ session: Session, at place: String) throws -> [UInt8] {
        guard let key = keys.first else { throw SessionStorageError.unusable(reason: "The storage has no key.") }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let data = try encoder.encode(session)
        let head = [Self.version, UInt8(key.idBytes.count)] + key.idBytes
        guard let box = try? AES.GCM.seal(data, using: key.key, authenticating: head + Array(place.utf8)),
            let sealed = box.combined, head.count + sealed.count <= Self.sizeLimit
        else { throw SessionStorageError.unusable(reason: "The session is too large to be stored.") }
        return head + sealed
    }

    func open(_ bytes: [UInt8], of userID: String, at place: String) throws -> Session {
        guard bytes.count <= Self.sizeLimit, bytes.count >= 2, bytes[0] == Self.version else { throw Self.unreadable }
        let end = 2 + Int(bytes[1])
        guard end <= bytes.count else { throw Self.unreadable }
        let (head, id) = (bytes[..<end], Array(bytes[2..<end]))
        // Two keys may have the same name by mistake.
        for key in keys where key.idBytes == id {
            guard let box = try? AES.GCM.SealedBox(combined: bytes[end...]),
                let data = try? AES.GCM.open(box, using: key.key, authenticating: head + Array(place.utf8))
            else { continue }
            guard let session = try? JSONDecoder().decode(Session.self, from: data), session.userID ?? "" == userID
            else { throw Self.unreadable }
            return session
        }
        throw Self.unreadable
    }

    private static let unreadable = SessionStorageError.unusable(
        reason: "The stored session cannot be decrypted: it was sealed with a key that this process does not have, by "
            + "a newer version, or it was changed. Give all processes the same keys, or sign in again."
    )
}
#endif
