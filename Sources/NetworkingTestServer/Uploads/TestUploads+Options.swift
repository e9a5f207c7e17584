#if TestServer
public import FoundationForNetworking

extension TestUploads {
    /// A protocol for resumable uploads.
    public enum UploadProtocol: Sendable, Hashable, CaseIterable {
        /// Resumable Uploads for HTTP: draft-ietf-httpbis-resumable-upload, interop version 8.
        case ietf

        /// tus 1.0.0.
        case tus
    }

    /// The properties of the server for ``TestServer/routeUploads(_:options:completion:)``.
    public struct Options: Sendable {
        /// The protocols that the server supports; both by default.
        ///
        /// Without ``UploadProtocol/ietf``, a request that is not for tus is an ordinary request.
        public var protocols: Set<UploadProtocol>

        /// The limits that the server announces and enforces; none by default.
        public var limits: Limits

        /// Whether the server sends `104 Upload Resumption Supported` while it receives a request; `true` by default.
        ///
        /// As the draft requires, a client without `Upload-Draft-Interop-Version: 8` gets none.
        public var sendsInterimResponses = true

        /// The number of stored bytes between two interim responses with the offset; `nil`, the default, sends none.
        public var progressInterval: Int64?

        /// The number of bytes that are stored at once; 1 by default.
        ///
        /// A request that breaks off loses the bytes of its last incomplete block, so that the client sends them again.
        public var blockSize: Int

        /// The directory for the bytes, one file for each upload; `nil`, the default, drops them.
        public var directory: URL?

        /// Whether `Location` is a path instead of a whole URL; `false` by default.
        public var usesRelativeLocations = false

        /// Creates options.
        ///
        /// - Parameters:
        ///   - protocols: The protocols that the server supports.
        ///   - limits: The limits that the server announces and enforces.
        ///   - blockSize: The number of bytes that are stored at once.
        ///   - directory: The directory for the bytes; `nil` drops them.
        /// - Precondition: `blockSize` is greater than zero.
        public init(
            protocols: Set<UploadProtocol> = [.ietf, .tus],
            limits: Limits = Limits(),
            blockSize: Int = 1,
            directory: URL? = nil
        ) {
            precondition(blockSize > 0, "blockSize must be greater than zero (is \(blockSize))")
            self.protocols = protocols
            self.limits = limits
            self.blockSize = blockSize
            self.directory = directory
        }
    }

    /// The limits of a server: `Upload-Limit` of the draft, and `Tus-Max-Size` and `Upload-Expires` of tus.
    public struct Limits: Sendable, Hashable {
        /// The maximum length of a representation, in bytes; `nil` for no limit.
        public var maximumSize: Int64?

        /// The minimum length of a representation, in bytes; `nil` for no limit.
        ///
        /// Only the draft has it.
        public var minimumSize: Int64?

        /// The maximum number of bytes in one request; `nil` for no limit.
        ///
        /// Only the draft has it.
        public var maximumAppendSize: Int64?

        /// The minimum number of bytes in one request; `nil` for no limit.
        ///
        /// Only the draft has it. It applies neither to the last request of an upload nor to an empty request that
        /// creates one.
        public var minimumAppendSize: Int64?

        /// The time from the creation of an upload until it expires, on the server's clock; `nil` for no limit.
        public var maximumAge: Duration?

        /// Creates limits.
        ///
        /// - Parameters:
        ///   - maximumSize: The maximum length of a representation, in bytes.
        ///   - minimumSize: The minimum length of a representation, in bytes.
        ///   - maximumAppendSize: The maximum number of bytes in one request.
        ///   - minimumAppendSize: The minimum number of bytes in one request.
        ///   - maximumAge: The time from the creation of an upload until it expires.
        public init(
            maximumSize: Int64? = nil,
            minimumSize: Int64? = nil,
            maximumAppendSize: Int64? = nil,
            minimumAppendSize: Int64? = nil,
            maximumAge: Duration? = nil
        ) {
            self.maximumSize = maximumSize
            self.minimumSize = minimumSize
            self.maximumAppendSize = maximumAppendSize
            self.minimumAppendSize = minimumAppendSize
            self.maximumAge = maximumAge
        }
    }
}

extension TestUploads.Limits {
    /// Returns the value of `Upload-Limit`, or `nil` without a limit.
    ///
    /// The remaining time is that until the upload expires.
    func field(remaining: Duration?) -> String? {
        let members: [(String, Int64?)] = [
            ("max-size", maximumSize), ("min-size", minimumSize), ("max-append-size", maximumAppendSize),
            ("min-append-size", minimumAppendSize), ("max-age", remaining.map { max(0, $0.components.seconds) }),
        ]
        let texts = members.compactMap { key, value in value.map { "\(key)=\($0)" } }
        return texts.isEmpty ? nil : texts.joined(separator: ", ")
    }
}
#endif
