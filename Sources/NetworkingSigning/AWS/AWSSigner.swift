#if Crypto
import Crypto
import FoundationForNetworking
import HTTPTypes
public import NetworkingCore

/// Signs requests to AWS and compatible services with AWS Signature Version 4.
///
/// ```swift
/// let network = URLSession.shared
///     .timeout(.seconds(10))
///     .signed(with: AWSSigner(credentials, region: "eu-central-1", service: "s3"))
///     .retry()
///     .server(authority: "bucket.s3.eu-central-1.amazonaws.com")
/// ```
///
/// The signature covers the method, path, query, body and header fields, except fields that transports and proxies
/// change. Repeated fields are sent as one. An existing `X-Amz-Date` is replaced. The value of an existing
/// `X-Amz-Content-Sha256` is signed as the digest of the body. A request with an Authorization field or an
/// `X-Amz-Signature` in its query is not signed, unless a redirect has brought back the signer's own signature.
///
/// If the service rejects a signature and its clock differs by four minutes or more, the signer uses that clock for
/// this host from then on. The request is signed and sent again. Credentials of a provider are renewed if the service
/// reports that they have expired. Both require a body that can be sent twice.
///
/// Files and streams are read for their digest, and again to be sent; see ``Payload`` for bodies that can be read only
/// once.
public struct AWSSigner: RequestSigner {
    static let algorithm = "AWS4-HMAC-SHA256"

    let provider: AWSCredentialProvider
    let region: String
    let service: String
    let options: Options
    /// The differences between the clocks of hosts and the local clock.
    let offsets = ClockOffsets()

    /// Creates a signer with fixed credentials.
    ///
    /// - Parameters:
    ///   - credentials: The credentials.
    ///   - region: The region: `eu-central-1`. Use `us-east-1` for services without one.
    ///   - service: The name of the service in signatures: `s3`, `execute-api`, `dynamodb`.
    ///   - options: The options.
    public init(_ credentials: AWSCredentials, region: String, service: String, options: Options = Options()) {
        self.init(AWSCredentialProvider(credentials), region: region, service: service, options: options)
    }

    /// Creates a signer with a provider that fetches and renews the credentials.
    ///
    /// - Parameters:
    ///   - provider: The provider of the credentials.
    ///   - region: The region.
    ///   - service: The name of the service in signatures.
    ///   - options: The options.
    public init(_ provider: AWSCredentialProvider, region: String, service: String, options: Options = Options()) {
        self.provider = provider
        self.region = region
        self.service = service
        self.options = options
    }

    /// The ID of the access key, or the name of the provider.
    public var keyID: String {
        provider.keyID
    }

    /// The scheme `AWS4-HMAC-SHA256`; `nil` if the signature is in the query.
    public var scheme: String? {
        options.placement == .header ? Self.algorithm : nil
    }

    /// Signs the request.
    ///
    /// - Parameter request: The request.
    /// - Throws: `NetworkingError.Kind.invalidRequest` if the credentials, the region or the lifetime are invalid, or
    ///   if a signature in the query would be sent over plain http to another machine;
    ///   `NetworkingError.Kind.bodyNotReplayable` if the body can be read only once; the errors of a body that cannot
    ///   be sent; and the reason why there are no credentials.
    public func sign(_ request: inout HTTPRequestData) async throws {
        // Requests of the provider's own closure are not signed, because they would wait for their own credentials.
        guard !provider.isFetching, !request.isPresigned || isRepeated(in: request) else { return }
        switch options.placement {
        case .header:
            try await signHeader(of: &request)
        case .query(let lifetime):
            try request.refusePlaintext(of: "Its signature")
            try await signQuery(of: &request, for: lifetime)
        }
    }

    /// Requests a new signature if the clocks differ or the credentials have expired.
    public func signsAgain(after response: HTTPResponseData) async throws -> Bool {
        if AWSRefusal.isExcluded(by: response.status) {
            provider.accept(response)
        }
        guard let refusal = AWSRefusal(response) else { return false }
        if refusal.mayBeSkew, offsets.learn(from: response) { return true }
        return refusal.isOfCredentials ? try await provider.renew(after: response) : false
    }

    /// Whether the signature in the query is this signer's own, brought back by a redirect to the same query.
    private func isRepeated(in request: HTTPRequestData) -> Bool {
        options.placement != .header && provider.hasSigned(request)
    }

    // MARK: The two forms

    private func signHeader(of request: inout HTTPRequestData) async throws {
        let credentials = try await credentials(for: request)
        let payload = try await payload(of: request, isPresigned: false)
        let scope = scope(for: &request)
        request.headerFields[.amzDate] = scope.date
        if let token = credentials.sessionToken {
            request.setCredential(token, for: .amzSecurityToken)
        }
        if payload.isSent {
            request.headerFields[.amzContentSHA256] = payload.digest
        }
        let canonical = canonical(&request, payload: payload)
        let field = [
            "\(Self.algorithm) Credential=\(credentials.accessKeyID)/\(scope)",
            "SignedHeaders=\(canonical.signedFields)",
            "Signature=\(scope.signature(of: canonical, with: credentials))",
        ]
        request.setCredential(field.joined(separator: ", "), for: .authorization)
    }

    func signQuery(of request: inout HTTPRequestData, for lifetime: Duration) async throws {
        guard (.seconds(1) ... .seconds(604_800)).contains(lifetime) else {
            throw NetworkingError(
                .invalidRequest,
                request: request,
                reason:
                    "A signature in the query can be valid for one second to seven days (is \(lifetime))."
            )
        }
        let credentials = try await credentials(for: request)
        let payload = try await payload(of: request, isPresigned: true)
        let scope = scope(for: &request)
        request.query[QueryItem.signature] = nil
        request.headerFields[.amzDate] = nil
        if payload.isSent {
            request.headerFields[.amzContentSHA256] = payload.digest
        }
        request.setQueryItem(QueryItem.algorithm, Self.algorithm)
        request.setQueryItem(QueryItem.credential, "\(credentials.accessKeyID)/\(scope)", isSecret: true)
        request.setQueryItem(QueryItem.date, scope.date)
        request.setQueryItem(QueryItem.expires, String(lifetime.components.seconds))
        // The token of an earlier signature; a field that the caller set is signed unchanged.
        request.query[QueryItem.securityToken] = nil
        if let token = credentials.sessionToken {
            request.headerFields[.amzSecurityToken] = nil
            request.setQueryItem(QueryItem.securityToken, token, isSecret: true)
        }
        request.setQueryItem(QueryItem.signedFields, canonical(&request, payload: payload).signedFields)
        let signature = scope.signature(of: canonical(&request, payload: payload), with: credentials)
        request.setQueryItem(QueryItem.signature, signature, isSecret: true)
    }

    private func canonical(_ request: inout HTTPRequestData, payload: SignedPayload) -> AWSCanonicalRequest {
        AWSCanonicalRequest(
            &request,
            payload: payload.digest,
            normalizesPath: options.normalizesPath ?? !isS3,
            encodesPathTwice: options.encodesPathTwice ?? !isS3,
            unsignedFields: options.unsignedFields
        )
    }

    private func scope(for request: inout HTTPRequestData) -> AWSScope {
        AWSScope(date: offsets.date(&request), region: region, service: service)
    }

    /// Whether the service is S3.
    ///
    /// Its objects may have any path, so paths are not normalised.
    private var isS3: Bool {
        service == "s3" || service == "s3express" || service.hasPrefix("s3-")
    }

    private func credentials(for request: HTTPRequestData) async throws -> AWSCredentials {
        let credentials = try await provider.credentials(for: request)
        guard ![region, service, credentials.accessKeyID, credentials.secretAccessKey].contains("") else {
            throw NetworkingError(
                .invalidRequest,
                request: request,
                reason:
                    "The region, the service or the access key for its signature is empty. Set all three."
            )
        }
        guard !credentials.secretAccessKey.utf8.contains(where: { $0 <= 32 }) else {
            throw NetworkingError(
                .invalidRequest,
                request: request,
                reason: "The secret access key for its signature contains a space or a line break. Remove it; "
                    + "a key that was read from a file often ends with a line break."
            )
        }
        return credentials
    }

    // MARK: The body

    /// The value that represents the body, and whether the service needs it in a field.
    private struct SignedPayload {
        let digest: String
        let isSent: Bool
    }

    private func payload(of request: HTTPRequestData, isPresigned: Bool) async throws -> SignedPayload {
        if let own = request.headerFields[.amzContentSHA256] {
            return SignedPayload(digest: own, isSent: false)
        }
        let isReadOnce = request.body?.isReplayable == false
        let wish = options.payload ?? (isPresigned && isS3 ? .unsigned : .digest)
        // S3 assumes it in the query form, whatever the scheme.
        let isGranted = isPresigned && isS3
        // For other services, an unsigned body is safe only if it cannot be modified in transit.
        if wish == .unsigned || wish == .unsignedIfReadOnce && isReadOnce, isGranted || request.scheme != "http" {
            return SignedPayload(digest: "UNSIGNED-PAYLOAD", isSent: !isGranted)
        }
        guard !isReadOnce else {
            throw NetworkingError(
                .bodyNotReplayable,
                request: request,
                reason: "Its signature covers the body, which can be read only once. Use a body that can be replayed, "
                    + "or leave it unsigned with the signer's option payload, "
                    + "over https and for a service that allows it."
            )
        }
        return SignedPayload(
            digest: try await request.bodyDigest(using: SHA256.self).hexadecimal,
            isSent: options.sendsPayloadDigest ?? isS3
        )
    }
}

extension AWSSigner: CustomStringConvertible, CustomReflectable {
    /// The region and the service.
    public var description: String {
        "AWSSigner(region: \(region), service: \(service))"
    }

    /// A dump without secrets.
    public var customMirror: Mirror {
        Mirror(self, children: ["region": region, "service": service])
    }
}

extension AWSSigner {
    /// The items of a signature in the query.
    enum QueryItem {
        static let algorithm = "X-Amz-Algorithm"
        static let credential = "X-Amz-Credential"
        static let date = "X-Amz-Date"
        static let expires = "X-Amz-Expires"
        static let signedFields = "X-Amz-SignedHeaders"
        static let securityToken = "X-Amz-Security-Token"
        static let signature = "X-Amz-Signature"
    }
}

extension HTTPField.Name {
    static let amzDate = HTTPField.Name("X-Amz-Date")!
    static let amzSecurityToken = HTTPField.Name("X-Amz-Security-Token")!
    static let amzContentSHA256 = HTTPField.Name("X-Amz-Content-Sha256")!
}

extension HTTPRequestData {
    /// Whether the query contains a signature, of this signer or another.
    fileprivate var isPresigned: Bool {
        query[AWSSigner.QueryItem.signature] != nil
    }

    /// Sets a query item, after the others and encoded so that all servers parse it the same way.
    fileprivate mutating func setQueryItem(_ name: String, _ value: String, isSecret: Bool = false) {
        if isSecret {
            // Sets the mark for secrets, which remains.
            setCredential("", forQueryItem: name)
        }
        query[name] = nil
        let others = query.encoded.map { $0.isEmpty ? "" : "\($0)&" } ?? ""
        path = "\(path ?? "/")?\(others)\(name)=\(PercentEncoding.unreserved.encode(value))"
    }
}
#endif
