import FoundationForNetworking
import HTTPTypes
import NetworkingCore

/// The body of a QUERY and the fields that describe it, which are part of its cache key (RFC 10008 section 2.7).
struct QueryContent: Sendable {
    /// The maximum size of a body in a key, because its digest is computed for each request.
    static let maximumBytes = 1 << 20
    /// The size up to which a digest is computed on the caller's actor; it takes about a tenth of a millisecond.
    private static let inlineBytes = 64 << 10

    /// The metadata of the representation (RFC 9110 section 8).
    private static let metadata: [HTTPField.Name] = [
        .contentType, .contentEncoding, .contentLanguage, .contentLocation,
    ]

    private let body: Data
    private let description: [UInt8]

    /// Creates the content of a QUERY; `nil` for a body that is not in memory or too large.
    ///
    /// A file or a stream may have other bytes when it is sent than when its digest is computed.
    init?(_ request: HTTPRequestData) {
        guard let body = request.body == nil ? Data() : request.body?.data, body.count <= Self.maximumBytes else {
            return nil
        }
        self.body = body
        var bytes: [UInt8] = []
        // Each text follows its length, so that no two lists of values have the same bytes.
        func append(_ text: String) {
            withUnsafeBytes(of: UInt64(text.utf8.count).littleEndian) { bytes += $0 }
            bytes += text.utf8
        }
        for name in Self.metadata {
            var values = request.headerFields[values: name]
            if name == .contentType, values.isEmpty, let type = request.body?.contentType {
                values = [type]
            }
            append("\(values.count)")
            for value in values {
                append(value)
            }
        }
        description = bytes
    }

    /// Returns the digest for a key, as 32 hexadecimal digits.
    ///
    /// The key of the store makes collisions unpredictable, and a body that contains a secret cannot be guessed.
    func digest(with key: CacheDigestKey) async -> String {
        body.count <= Self.inlineBytes ? key.digest(of: description + body) : await largeDigest(with: key)
    }

    @concurrent
    private func largeDigest(with key: CacheDigestKey) async -> String {
        key.digest(of: description + body)
    }
}

extension HTTPRequest.Method {
    /// Whether a stored response may answer a request with this method (RFC 9110 section 9.2.3, RFC 10008 section 2.7).
    var mayUseStored: Bool {
        self == .get || self == .head || self == .query
    }

    /// Whether a response to a request with this method may be stored as a representation, and may be a part of one.
    var isStorable: Bool {
        self == .get || self == .query
    }
}

extension HTTPRequestData {
    /// Whether the request has a body that is not part of its cache key.
    var hasUnkeyedBody: Bool {
        method == .query ? QueryContent(self) == nil : body != nil
    }
}
