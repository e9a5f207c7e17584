public import NetworkingCore

/// The secret key of a ``CacheStore`` for the digests that replace credentials in its entries.
///
/// A cache stores a digest of each credential, and never the credential itself, so that no user gets another user's
/// response. Without a key, a short password or API key could be found by computing the digests of all candidates.
///
/// A store on disk keeps its key with the entries, readable only by the same user:
///
/// ```swift
/// let key = CacheDigestKey()
/// try save(Data(key.bytes))
/// ```
public struct CacheDigestKey: Sendable, Hashable {
    /// The number of bytes of a key.
    public static let byteCount = 16

    private let low: UInt64
    private let high: UInt64

    /// Creates a random key, from ``NetworkEnvironment/secureRandom``.
    public init() {
        // A random source for tests may return fewer bytes.
        let bytes = NetworkEnvironment.current.secureRandom.bytes(Self.byteCount)
        self = CacheDigestKey(bytes: bytes) ?? CacheDigestKey(bytes[...])
    }

    /// Creates a key from its bytes; `nil` unless there are 16.
    ///
    /// - Parameter bytes: The bytes of a key.
    public init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.init(bytes[...])
    }

    /// The 16 bytes of the key, for a store that saves it.
    ///
    /// The bytes are secret.
    public var bytes: [UInt8] {
        [low, high].flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) } }
    }

    private init(_ bytes: ArraySlice<UInt8>) {
        var words: [UInt64] = [0, 0]
        for (index, byte) in bytes.prefix(Self.byteCount).enumerated() {
            words[index / 8] |= UInt64(byte) << UInt64(index % 8 * 8)
        }
        (low, high) = (words[0], words[1])
    }

    /// Returns the digest of bytes, as 32 hexadecimal digits.
    package func digest(of bytes: [UInt8]) -> String {
        let hash = SipHash.hash(bytes, key: (low, high))
        return hash.0.byteSwapped.hexadecimal + hash.1.byteSwapped.hexadecimal
    }
}

extension CacheDigestKey: RedactedDescription {}
