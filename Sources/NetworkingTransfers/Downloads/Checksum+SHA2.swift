import NetworkingCore

#if Crypto
import Crypto
import FoundationForNetworking

extension Checksum {
    /// SHA-256 (FIPS 180-4), as `sha256sum` prints it.
    ///
    /// - Parameter hex: 64 hexadecimal digits, in either case. With other digits, the download fails with
    ///   ``NetworkingError/Kind/invalidRequest`` before anything is sent.
    /// - Returns: The checksum.
    public static func sha256(_ hex: String) -> Checksum {
        checksum(SHA256.self, hex, named: "SHA-256")
    }

    /// SHA-384 (FIPS 180-4).
    ///
    /// - Parameter hex: 96 hexadecimal digits, in either case. With other digits, the download fails with
    ///   ``NetworkingError/Kind/invalidRequest`` before anything is sent.
    /// - Returns: The checksum.
    public static func sha384(_ hex: String) -> Checksum {
        checksum(SHA384.self, hex, named: "SHA-384")
    }

    /// SHA-512 (FIPS 180-4).
    ///
    /// - Parameter hex: 128 hexadecimal digits, in either case. With other digits, the download fails with
    ///   ``NetworkingError/Kind/invalidRequest`` before anything is sent.
    /// - Returns: The checksum.
    public static func sha512(_ hex: String) -> Checksum {
        checksum(SHA512.self, hex, named: "SHA-512")
    }

    /// Creates the checksum that a digest field states.
    init(_ digest: StatedDigest) {
        switch digest.algorithm {
        case .sha256: self.init(expected: digest.bytes) { Hashing(function: SHA256()) }
        case .sha512: self.init(expected: digest.bytes) { Hashing(function: SHA512()) }
        }
    }

    private static func checksum<Function: HashFunction & Sendable>(
        _ function: Function.Type,
        _ hex: String,
        named name: String
    ) -> Checksum {
        Checksum(hex: hex, byteCount: Function.Digest.byteCount, of: name) { Hashing(function: Function()) }
    }
}

private struct Hashing<Function: HashFunction>: ChecksumFunction {
    var function: Function

    mutating func update(_ bytes: Data) {
        function.update(data: bytes)
    }

    func finish() -> Data {
        Data(function.finalize())
    }
}
#endif
