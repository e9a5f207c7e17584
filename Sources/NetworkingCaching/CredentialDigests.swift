import HTTPTypes
import NetworkingCore

/// Digests of a request's credentials, with which a cache separates users without storing their secrets.
///
/// The values of the environment and of options that affect responses have a digest, too, because a component further
/// in may change the request with them.
struct CredentialDigests: Sendable, Hashable {
    /// The digest of each credential field, by the field's name in lower case, and that of the values.
    private(set) var byName: [String: String] = [:]

    /// The digests of a request without credentials.
    static let none = CredentialDigests()

    private init() {}

    /// Creates the digests of a request's credentials.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - values: The values of the environment and of options, as a text; `nil` if there are none.
    ///   - key: The digest key of the store that has the entries to compare with.
    init(_ request: HTTPRequestData, values: String?, key: CacheDigestKey) {
        if let values {
            byName[Self.valuesName] = Self.mark + key.digest(of: Array(values.utf8))
        }
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

    /// Returns the digests that select an entry, whatever its Vary names.
    ///
    /// A shared cache compares credentials only if Vary names them, because the responses state whether it may store
    /// them.
    func selecting(inSharedCache isShared: Bool) -> [String: String] {
        guard isShared else { return byName }
        return byName.filter { $0.key == Self.valuesName }
    }

    /// Returns the digests among the header fields that selected an entry.
    static func digests(in varying: [String: String]) -> [String: String] {
        varying.filter { isDigest($0.value) }
    }

    /// Returns the digest of values among the header fields that selected an entry.
    static func values(in varying: [String: String]) -> [String: String] {
        varying.filter { $0.key == valuesName }
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

    /// The name of the digest of values, which is not a valid name of a field.
    private static let valuesName = ":values"

    private static func length(_ count: Int) -> [UInt8] {
        withUnsafeBytes(of: UInt64(count).littleEndian) { Array($0) }
    }
}
