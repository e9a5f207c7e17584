#if Crypto
import Crypto
import FoundationForNetworking
import HTTPTypes
public import NetworkingCore
import RawStructuredFieldValues

/// A hash algorithm for a Content-Digest field (RFC 9530).
public typealias ContentDigestAlgorithm = HTTPDigestAlgorithm

extension HTTPRequestData {
    /// Sets the Content-Digest field to the digest of the body (RFC 9530), also if there is no body.
    ///
    /// ```swift
    /// var request = HTTPRequestData(method: .put, path: "report", body: .file(report))
    /// try await request.setContentDigest()
    /// ```
    ///
    /// ``MessageSigner`` does this automatically. A file or a stream is read for the digest, and again when it is sent.
    ///
    /// - Parameter algorithm: The algorithm.
    /// - Throws: `NetworkingError.Kind.bodyNotReplayable` for a body that can be read only once, and the errors of a
    ///   body that cannot be sent.
    public mutating func setContentDigest(_ algorithm: ContentDigestAlgorithm = .sha256) async throws {
        let digest = try await digest(algorithm)
        headerFields[.contentDigest] = "\(algorithm.rawValue)=:\(digest.base64EncodedString()):"
    }

    /// Compares the body with the Content-Digest field (RFC 9530).
    ///
    /// - Throws: `NetworkingError.Kind.checksumMismatch` if they differ, `NetworkingError.Kind.invalidRequest` if the
    ///   field is missing or unreadable, and the errors of ``bodyDigest(using:)``.
    public func verifyContentDigest() async throws {
        do {
            try await SignableMessage.request(self).checkContentDigest()
        } catch let fault as SignatureFault {
            throw SignableMessage.request(self).error(for: fault)
        }
    }

    fileprivate func digest(_ algorithm: ContentDigestAlgorithm) async throws -> Data {
        switch algorithm {
        case .sha256: Data(try await bodyDigest(using: SHA256.self))
        case .sha512: Data(try await bodyDigest(using: SHA512.self))
        }
    }
}

extension HTTPResponseData {
    /// Compares the body with the Content-Digest field (RFC 9530).
    ///
    /// The digest covers the bytes on the wire. If the transport has decompressed the body, its digest is different:
    /// send `Accept-Encoding: identity`.
    ///
    /// - Throws: `NetworkingError.Kind.checksumMismatch` if they differ, and `NetworkingError.Kind.invalidResponse` if
    ///   the field is missing or unreadable, or if the body went to a sink.
    public func verifyContentDigest() async throws {
        do {
            try await SignableMessage.response(self).checkContentDigest()
        } catch let fault as SignatureFault {
            throw SignableMessage.response(self).error(for: fault)
        }
    }
}

extension SignableMessage {
    /// Whether there is a body to compute a digest of.
    var hasBody: Bool {
        switch self {
        case .request(let request): request.body != nil && request.body?.length != 0
        case .response(let response): response.body.count > 0
        }
    }

    /// Returns the message with the length that its body has now, so that reading it does not wait for the disk.
    func measured() async throws -> SignableMessage {
        guard case .request(var request) = self, let body = request.body, body.isOnDisk else { return self }
        request.body = try await body.measuredOnce()
        return .request(request)
    }

    /// Compares the body with each digest of a supported algorithm; at least one is required.
    func checkContentDigest() async throws {
        let lines = lines(of: .contentDigest)
        guard !lines.isEmpty else { throw SignatureFault("It has no Content-Digest field.") }
        guard let members = try? OrderedMap(lines: lines) else {
            throw SignatureFault("Its Content-Digest field is malformed: it is not a dictionary (RFC 9651).")
        }
        let stated = members.compactMap { name, value in ContentDigestAlgorithm(rawValue: name).map { ($0, value) } }
        guard !stated.isEmpty else {
            throw SignatureFault(
                "Its Content-Digest field has neither sha-256 nor sha-512, so the body cannot be checked."
            )
        }
        for (algorithm, value) in stated {
            guard case .item(let item) = value, case .undecodedByteSequence(let text) = item.rfc9651BareItem,
                let digest = Data(base64Encoded: text)
            else {
                throw SignatureFault("The \(algorithm.rawValue) of its Content-Digest field is not a byte sequence.")
            }
            guard try await self.digest(algorithm) == digest else {
                throw SignatureFault(
                    "The body does not match its Content-Digest field (\(algorithm.rawValue)). It was changed in "
                        + "transit, or decompressed by the transport, which Accept-Encoding: identity prevents.",
                    kind: .checksumMismatch
                )
            }
        }
    }

    private func digest(_ algorithm: ContentDigestAlgorithm) async throws -> Data {
        switch self {
        case .request(let request):
            return try await request.digest(algorithm)
        case .response(let response):
            guard let data = response.body.data else {
                throw SignatureFault(
                    "Its body went to a sink, so it cannot be compared with its Content-Digest field. Collect the "
                        + "body, or turn the check off."
                )
            }
            return try await data.digest(algorithm)
        }
    }

    /// Returns the error for a fault of this message.
    func error(for fault: SignatureFault) -> NetworkingError {
        switch self {
        case .request(let request):
            NetworkingError(fault.kind ?? .invalidRequest, request: request, reason: fault.reason)
        case .response(let response):
            NetworkingError(
                fault.kind ?? .invalidResponse,
                request: response.sentRequest,
                response: response,
                reason: fault.reason
            )
        }
    }
}

extension Data {
    fileprivate func digest(_ algorithm: ContentDigestAlgorithm) async throws -> Data {
        switch algorithm {
        case .sha256: Data(try await digest(using: SHA256.self))
        case .sha512: Data(try await digest(using: SHA512.self))
        }
    }
}
#endif
