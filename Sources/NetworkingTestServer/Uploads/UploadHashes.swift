#if TestServer
import FoundationForNetworking

#if Crypto
import Crypto
#endif

/// The running digests of bytes, which can be copied and read at any moment.
struct UploadHashes: Sendable {
    #if Crypto
    private var sha256: SHA256?
    private var sha512: SHA512?
    private var sha1: Insecure.SHA1?
    #endif

    /// The names of the algorithms in the fields of RFC 9530.
    static var names: [String] {
        #if Crypto
        ["sha-256", "sha-512"]
        #else
        []
        #endif
    }

    /// The names of the algorithms in tus.
    static var tusNames: [String] {
        #if Crypto
        ["sha1", "sha256", "sha512"]
        #else
        []
        #endif
    }

    /// Creates digests by their names in either protocol.
    ///
    /// Unknown names are ignored.
    init(_ names: some Sequence<String>) {
        #if Crypto
        for name in names {
            switch name {
            case "sha-256", "sha256": sha256 = SHA256()
            case "sha-512", "sha512": sha512 = SHA512()
            case "sha1": sha1 = Insecure.SHA1()
            default: break
            }
        }
        #endif
    }

    mutating func update(_ bytes: Data) {
        #if Crypto
        sha256?.update(data: bytes)
        sha512?.update(data: bytes)
        sha1?.update(data: bytes)
        #endif
    }

    /// Returns the digest of the bytes so far, or `nil` if it is not computed.
    func digest(_ name: String) -> Data? {
        #if Crypto
        switch name {
        case "sha-256", "sha256": sha256.map { Data($0.finalize()) }
        case "sha-512", "sha512": sha512.map { Data($0.finalize()) }
        case "sha1": sha1.map { Data($0.finalize()) }
        default: nil
        }
        #else
        nil
        #endif
    }

    /// Whether every expected digest that is computed is right.
    func match(_ expected: [String: Data]) -> Bool {
        expected.allSatisfy { name, value in digest(name).map { $0 == value } ?? true }
    }
}
#endif
