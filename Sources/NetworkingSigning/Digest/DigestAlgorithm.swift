#if Crypto
import Crypto
import CryptoExtras
import FoundationForNetworking
import NetworkingCore

/// The hash function of a challenge, and whether its key belongs to a session (RFC 7616 section 3.4.2).
struct DigestAlgorithm: Sendable, Hashable {
    /// The hash functions, weakest first.
    enum Function: String, CaseIterable {
        case md5 = "md5"
        case sha256 = "sha-256"
        /// Not registered, but used by some servers.
        case sha512 = "sha-512"
        case sha512256 = "sha-512-256"
    }

    let hashFunction: Function
    /// Whether the key also depends on the first nonces and is computed once for a session.
    let isSession: Bool

    /// Parses the name of an algorithm; the default is MD5.
    init?(_ name: String?) {
        let name = name?.lowercased() ?? "md5"
        let suffix = "-sess"
        isSession = name.hasSuffix(suffix)
        guard let function = Function(rawValue: isSession ? String(name.dropLast(suffix.count)) : name) else {
            return nil
        }
        hashFunction = function
    }

    /// The relative strength, compared with other algorithms.
    var strength: Int {
        Function.allCases.firstIndex(of: hashFunction) ?? 0
    }

    /// Returns the hash of texts joined by colons, in hexadecimal digits.
    func hash(_ texts: String...) -> String {
        hash(Data(texts.joined(separator: ":").utf8))
    }

    private func hash(_ bytes: Data) -> String {
        hash(bytes, by: hashFunction.type)
    }

    /// Returns the hash of a request's body, in hexadecimal digits.
    func hashBody(of request: HTTPRequestData) async throws -> String {
        try await hashBody(of: request, by: hashFunction.type)
    }

    /// Returns the hash of a response's body, in hexadecimal digits.
    func hashBody(_ body: Data) async throws -> String {
        try await hashBody(body, by: hashFunction.type)
    }

    private func hash<Hash: HashFunction>(_ bytes: Data, by function: Hash.Type) -> String {
        function.hash(data: bytes).hexadecimal
    }

    private func hashBody<Hash: HashFunction & SendableMetatype>(
        of request: HTTPRequestData,
        by function: Hash.Type
    ) async throws -> String {
        try await request.bodyDigest(using: function).hexadecimal
    }

    private func hashBody<Hash: HashFunction & SendableMetatype>(
        _ body: Data,
        by function: Hash.Type
    ) async throws -> String {
        try await body.digest(using: function).hexadecimal
    }
}

extension DigestAlgorithm.Function {
    fileprivate var type: any HashFunction.Type {
        switch self {
        case .md5: Insecure.MD5.self
        case .sha256: SHA256.self
        case .sha512: SHA512.self
        case .sha512256: SHA512256.self
        }
    }
}
#endif
