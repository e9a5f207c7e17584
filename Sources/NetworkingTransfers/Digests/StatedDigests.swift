#if Crypto
import Crypto
import FoundationForNetworking
import HTTPTypes
import NetworkingCore

/// A digest of a representation, as a field states it.
struct StatedDigest {
    let algorithm: HTTPDigestAlgorithm
    let bytes: Data
}

/// The digests of a response's representation that can be compared (RFC 9530 section 3).
enum StatedDigests {
    /// At least one.
    case known([StatedDigest])
    /// None, with the reason.
    case unknown(String)

    /// Reads the digests of a head.
    ///
    /// - Parameters:
    ///   - head: The head; one with a part of the representation has the digests of the whole.
    ///   - request: The request, as it was sent.
    init(of head: HTTPResponse, to request: HTTPRequestData) {
        guard let field = head.headerFields[.reprDigest] else {
            self = .unknown("The response has no Repr-Digest field.")
            return
        }
        guard let members = StructuredItem.dictionary(field) else {
            self = .unknown("The Repr-Digest field of the response is malformed.")
            return
        }
        let digests = HTTPDigestAlgorithm.allCases.compactMap { algorithm -> StatedDigest? in
            guard case .bytes(let bytes) = members[algorithm.rawValue]?.value else { return nil }
            return StatedDigest(algorithm: algorithm, bytes: Data(bytes))
        }
        guard !digests.isEmpty else {
            self = .unknown("The Repr-Digest field of the response has neither sha-256 nor sha-512.")
            return
        }
        // The digest covers the coded bytes, which are gone if the transport has decoded them.
        guard head.headerFields.contains(.contentEncoding) || request.acceptsOnlyIdentity else {
            self = .unknown(
                "Its Repr-Digest covers the bytes before the transport decodes them. Send Accept-Encoding: identity."
            )
            return
        }
        self = .known(digests)
    }
}

/// The hash of a body that arrives in chunks.
struct BodyHash {
    private enum Function {
        case sha256(SHA256)
        case sha512(SHA512)
    }

    private let digest: StatedDigest
    private var function: Function

    init(for digest: StatedDigest) {
        self.digest = digest
        switch digest.algorithm {
        case .sha256: function = .sha256(SHA256())
        case .sha512: function = .sha512(SHA512())
        }
    }

    mutating func update(_ bytes: Data) {
        switch function {
        case .sha256(var hash):
            hash.update(data: bytes)
            function = .sha256(hash)
        case .sha512(var hash):
            hash.update(data: bytes)
            function = .sha512(hash)
        }
    }

    /// Returns the algorithm if the body has another digest, and `nil` if it matches.
    func mismatch() -> HTTPDigestAlgorithm? {
        let actual =
            switch function {
            case .sha256(let hash): Data(hash.finalize())
            case .sha512(let hash): Data(hash.finalize())
            }
        return actual == digest.bytes ? nil : digest.algorithm
    }
}

extension HTTPRequestData {
    /// Whether no content coding is accepted.
    fileprivate var acceptsOnlyIdentity: Bool {
        guard let field = headerFields[.acceptEncoding] else { return false }
        let members = field.split(separator: ",").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
        return !members.isEmpty && members.allSatisfy { $0 == "identity" || $0.hasPrefix("identity;") }
    }

    /// Asks for digests of the representation, and for a body without a coding, unless the fields are set.
    mutating func askForDigests(_ algorithms: [HTTPDigestAlgorithm]) {
        if !headerFields.contains(.wantReprDigest), !algorithms.isEmpty {
            // Weights from 10, the most wanted, to 1 (RFC 9530 section 4).
            headerFields[.wantReprDigest] = algorithms.enumerated()
                .map { "\($1.rawValue)=\(max(10 - $0, 1))" }
                .joined(separator: ", ")
        }
        if !headerFields.contains(.acceptEncoding) {
            headerFields[.acceptEncoding] = "identity"
        }
    }
}

extension HTTPField.Name {
    static let wantReprDigest = HTTPField.Name("Want-Repr-Digest")!
}
#endif
