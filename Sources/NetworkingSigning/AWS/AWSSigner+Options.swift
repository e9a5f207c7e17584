#if Crypto
public import HTTPTypes

extension AWSSigner {
    /// What an ``AWSSigner`` does other than by default; nil leaves it to what the service is.
    public struct Options: Sendable, Hashable {
        /// Where the signature goes; the Authorization field by default.
        public var placement: Placement
        /// What of the body is signed: its digest by default, and nothing in the query form for S3.
        public var payload: Payload?
        /// Whether `X-Amz-Content-Sha256` is sent besides where it has to be; for S3 by default.
        public var sendsPayloadDigest: Bool?
        /// Whether the path is signed without `.`, `..` and empty segments; by default for all but S3.
        public var normalizesPath: Bool?
        /// Whether the path is percent-encoded once more for the signature; by default for all but S3.
        public var encodesPathTwice: Bool?
        /// Fields that are not signed, besides those that never are.
        public var unsignedFields: Set<HTTPField.Name>

        /// Creates options.
        ///
        /// - Parameters:
        ///   - placement: Where the signature goes.
        ///   - payload: What of the body is signed.
        ///   - sendsPayloadDigest: Whether `X-Amz-Content-Sha256` is sent.
        ///   - normalizesPath: Whether the path is signed without `.`, `..` and empty segments.
        ///   - encodesPathTwice: Whether the path is percent-encoded once more for the signature.
        ///   - unsignedFields: Fields that are not signed.
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

    /// Where a signature goes.
    public enum Placement: Sendable, Hashable {
        /// Into the Authorization field.
        case header
        /// Into the query, good for a second to seven days.
        case query(lifetime: Duration)
    }

    /// What of a body is signed.
    public enum Payload: Sendable, Hashable {
        /// Its digest, for which it is read once more; a body that can be read only once cannot be sent.
        case digest
        /// Nothing over https, for services that allow it: `UNSIGNED-PAYLOAD`; over http, its digest, but for
        /// links for S3.
        case unsigned
        /// As ``unsigned`` for a body that can be read only once, else as ``digest``.
        case unsignedIfReadOnce
    }
}
#endif
