import HTTPTypes
import NetworkingCore

/// The credentials of a request as digests, by which a cache tells users apart without keeping their secrets.
struct CredentialDigests: Sendable, Hashable {
    /// The digest of each field that is a credential, by the field's name in lower case.
    private(set) var byName: [String: String] = [:]

    /// The digests of a request without credentials.
    static let none = CredentialDigests()

    private init() {}

    /// Creates the digests of a request's credentials.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - key: The key of the store whose entries the digests are compared with.
    init(_ request: HTTPRequestData, key: CacheDigestKey) {
        for field in request.headerFields where field.isCredential {
            let name = field.name.canonicalName
            guard byName[name] == nil else { continue }
            // Lengths before the texts: no two lists of values have the same bytes.
            var bytes = Self.length(name.utf8.count) + name.utf8
            for field in request.headerFields[fields: field.name] {
                // The bytes and not a text, in which all bytes that are no UTF-8 would be the same.
                field.withUnsafeBytesOfValue { bytes += Self.length($0.count) + $0 }
            }
            byName[name] = Self.mark + key.digest(of: bytes)
        }
    }

    /// Whether there are none.
    var isEmpty: Bool {
        byName.isEmpty
    }

    /// The digests among the header fields by which an entry was chosen.
    static func digests(in varying: [String: String]) -> [String: String] {
        varying.filter { isDigest($0.value) }
    }

    /// Whether a text stands for a credential.
    static func isDigest(_ value: String) -> Bool {
        value.hasPrefix(mark)
    }

    /// Whether a request has a credential.
    static func areNeeded(for request: HTTPRequestData) -> Bool {
        request.headerFields.contains { $0.isCredential }
    }

    /// No field's value in ``CachedEntry/varying`` begins so, because a blank follows each comma there: a request that
    /// sends a digest as a value gets nothing for it.
    private static let mark = ",digest "

    private static func length(_ count: Int) -> [UInt8] {
        withUnsafeBytes(of: UInt64(count).littleEndian) { Array($0) }
    }
}
