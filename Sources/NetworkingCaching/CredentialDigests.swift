import HTTPTypes
import NetworkingCore

/// Digests of a request's credentials, with which a cache separates users without storing their secrets.
struct CredentialDigests: Sendable, Hashable {
    /// The digest of each credential field, by the field's name in lower case.
    private(set) var byName: [String: String] = [:]

    /// The digests of a request without credentials.
    static let none = CredentialDigests()

    private init() {}

    /// Creates the digests of a request's credentials.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - key: The digest key of the store that has the entries to compare with.
    init(_ request: HTTPRequestData, key: CacheDigestKey) {
        for field in request.headerFields where field.isCredential {
            let name = field.name.canonicalName
            guard byName[name] == nil else { continue }
            // Each text follows its length, so that no two lists of values have the same bytes.
            var bytes = Self.length(name.utf8.count) + name.utf8
            for field in request.headerFields[fields: field.name] {
                // Bytes instead of a string, in which all bytes that are not UTF-8 would be the same.
                field.withUnsafeBytesOfValue { bytes += Self.length($0.count) + $0 }
            }
            byName[name] = Self.mark + key.digest(of: bytes)
        }
    }

    /// Whether the request has no credentials.
    var isEmpty: Bool {
        byName.isEmpty
    }

    /// Returns the digests among the header fields that selected an entry.
    static func digests(in varying: [String: String]) -> [String: String] {
        varying.filter { isDigest($0.value) }
    }

    /// Whether a value is the digest of a credential.
    static func isDigest(_ value: String) -> Bool {
        value.hasPrefix(mark)
    }

    /// Whether a request has credentials.
    static func areNeeded(for request: HTTPRequestData) -> Bool {
        request.headerFields.contains { $0.isCredential }
    }

    /// The prefix of a digest.
    ///
    /// No header value in ``CachedEntry/varying`` starts with it, because a blank follows each comma there. A request
    /// that sends a digest as a field value therefore matches no entry.
    private static let mark = ",digest "

    private static func length(_ count: Int) -> [UInt8] {
        withUnsafeBytes(of: UInt64(count).littleEndian) { Array($0) }
    }
}
