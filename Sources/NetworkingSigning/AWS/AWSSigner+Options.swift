#if Crypto
public import HTTPTypes

extension AWSSigner {
    /// The options of an ``AWSSigner``; `nil` selects the default of the service.
    public struct Options: Sendable, Hashable {
        /// The placement of the signature; the Authorization field by default.
        public var placement: Placement
        /// The part of the body to sign: its digest by default, and nothing in the query form for S3.
        public var payload: Payload?
        /// Whether `X-Amz-Content-Sha256` is sent even if it is optional; by default only for S3.
        public var sendsPayloadDigest: Bool?
        /// Whether `.`, `..` and empty segments are removed from the signed path; by default for all services except
        /// S3.
        public var normalizesPath: Bool?
        /// Whether the signed path is percent-encoded once more; by default for all services except S3.
        public var encodesPathTwice: Bool?
        /// Additional fields that are not signed.
        public var unsignedFields: Set<HTTPField.Name>

        /// Creates options.
        ///
        /// - Parameters:
        ///   - placement: The placement of the signature.
        ///   - payload: The part of the body to sign.
        ///   - sendsPayloadDigest: Whether `X-Amz-Content-Sha256` is sent.
        ///   - normalizesPath: Whether `.`, `..` and empty segments are removed from the signed path.
        ///   - encodesPathTwice: Whether the signed path is percent-encoded once more.
        ///   - unsignedFields: Additional fields that are not signed.
        public init(
            placement: Placement = .header,
            payload: Payload? = nil,
            sendsPayloadDigest: Bool? = nil,
            normalizesPath: Bool? = nil,
            encodesPathTwice: Bool? = nil,
            unsignedFields: Set<HTTPField.Name> = []
        ) {
            self.placement = placement
            self.payload = payload
            self.sendsPayloadDigest = sendsPayloadDigest
            self.normalizesPath = normalizesPath
            self.encodesPathTwice = encodesPathTwice
            self.unsignedFields = unsignedFields
        }
    }

    /// The placement of a signature.
    public enum Placement: Sendable, Hashable {
        /// In the Authorization field.
        case header
        /// In the query, valid for one second to seven days.
        case query(lifetime: Duration)
    }

    /// The part of a body that is signed.
    public enum Payload: Sendable, Hashable {
        /// Its digest, for which it is read an additional time; a body that can be read only once cannot be sent.
        case digest
        /// Nothing over https, for services that allow it: `UNSIGNED-PAYLOAD`.
        ///
        /// Over http, the digest is signed, except in links for S3.
        case unsigned
        /// As ``unsigned`` for a body that can be read only once, otherwise as ``digest``.
        case unsignedIfReadOnce
    }
}
#endif
