import NetworkingCore

#if Crypto
import Crypto
import FoundationForNetworking
#endif

/// A digest function with which a server checks the bytes of an upload.
///
/// An upload by the IETF draft sends `Repr-Digest` for the whole body and `Content-Digest` for each request (RFC 9530).
/// An upload by tus sends `Upload-Checksum`, if the server supports it with this function or with SHA-1.
///
/// ```swift
/// var options = UploadOptions()
/// options.digest = .sha256   // with the trait Crypto
/// ```
public struct UploadDigest: Sendable, Hashable {
    /// The name of the function in the fields of RFC 9530.
    let name: String
    /// The names of the functions that a tus server may support instead, the preferred one first.
    let namesInTus: [String]
    /// Returns a new function for one of the names.
    let makeFunction: @Sendable (_ name: String) -> (any ChecksumFunction)?

    /// Compares the functions.
    public static func == (lhs: UploadDigest, rhs: UploadDigest) -> Bool {
        lhs.name == rhs.name
    }

    /// Hashes the name of the function.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
    }
}

#if Crypto
extension UploadDigest {
    /// SHA-256 (FIPS 180-4).
    public static let sha256 = UploadDigest(name: "sha-256", namesInTus: ["sha256", "sha1"], makeFunction: function)

    /// SHA-512 (FIPS 180-4).
    public static let sha512 = UploadDigest(name: "sha-512", namesInTus: ["sha512", "sha1"], makeFunction: function)

    private static let function: @Sendable (String) -> (any ChecksumFunction)? = { name in
        switch name {
        case "sha-256", "sha256": Function(function: SHA256())
        case "sha-512", "sha512": Function(function: SHA512())
        // Only against transmission errors: the only function that every tus server with checksums has.
        case "sha1": Function(function: Insecure.SHA1())
        default: nil
        }
    }

    private struct Function<Hash: HashFunction>: ChecksumFunction {
        var function: Hash

        mutating func update(_ bytes: Data) {
            function.update(data: bytes)
        }

        func finish() -> Data {
            Data(function.finalize())
        }
    }
}
#endif
