import FoundationForNetworking
import HTTPTypes
import NetworkingCore

/// Replaces the credentials of a request's URL in the keys and entries that a store receives.
///
/// A credential in a query is part of the URL, and a server may repeat it in header fields such as Location. A store
/// may write both to a disk. Digests with the store's key replace them, and the entry of the same URL gets the
/// credentials of its next request back.
final class CacheSeal: Sendable {
    /// The names of the fields that contain URLs.
    private static let references: Set<String> = ["location", "content-location", "link", "refresh"]

    private let redaction: Redaction
    /// The key of the store; `nil` if the query contains no credentials.
    private let key: CacheDigestKey?
    /// The credentials in the query, longest first, with the marks that replace them.
    private let secrets: [(text: String, mark: String)]
    /// Whether the path or the authority contains a secret, which cannot be replaced.
    let isUnstorable: Bool

    /// Creates the seal of a request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - digestKey: Returns the key of the store; called only if the query contains credentials.
    /// - Throws: The error of `digestKey`.
    init(_ request: HTTPRequestData, digestKey: () async throws -> CacheDigestKey) async throws {
        let redaction = Redaction.standard.redactingSecrets(of: request)
        self.redaction = redaction
        let (path, query) = RequestTarget.split(request.closedTarget)
        isUnstorable =
            redaction.redactingValues(in: String(path)) != path
            || request.authority?.utf8.contains(UInt8(ascii: "@")) == true
        guard let query, redaction.target("?\(query)") != "?\(query)" else {
            (key, secrets) = (nil, [])
            return
        }
        let key = try await digestKey()
        self.key = key
        var texts: Set<String> = []
        for part in query.utf8.split(separator: UInt8(ascii: "&")) {
            let pair = Substring(part)
            guard let equals = pair.utf8.firstIndex(of: UInt8(ascii: "=")), redaction.target("?\(pair)") != "?\(pair)"
            else { continue }
            let value = pair[pair.utf8.index(after: equals)...]
            texts.formUnion([String(value), PercentEncoding.decode(value)])
        }
        secrets = texts.filter { !$0.isEmpty }.sorted { ($1.utf8.count, $0) < ($0.utf8.count, $1) }
            .map { ($0, Self.mark(of: $0, key)) }
    }

    private static func mark(of text: some StringProtocol, _ key: CacheDigestKey) -> String {
        "~digest-\(key.digest(of: Array(text.utf8)))~"
    }

    // MARK: Keys

    /// Returns the key that the store receives.
    func sealed(_ key: CacheKey) -> CacheKey {
        guard let digestKey = self.key else { return key }
        return CacheKey(principal: key.principal, url: Self.sealed(key.url, with: digestKey), query: key.query)
    }

    /// Returns a URL with a digest in place of its query.
    ///
    /// The digest is that of the whole query, so that a removal by URL needs no list of the names of credentials.
    static func sealed(_ url: String, with key: CacheDigestKey) -> String {
        let (path, query) = RequestTarget.split(url)
        guard let query else { return url }
        return "\(path)?\(mark(of: query, key))"
    }

    /// Whether the query of a URL has a name that indicates a credential.
    static func hasCredentials(_ url: String) -> Bool {
        guard let query = RequestTarget.split(url).query else { return false }
        return Redaction.standard.target("?\(query)") != "?\(query)"
    }

    // MARK: Entries

    /// Returns an entry without the credentials of the URL; `nil` if it contains other ones that cannot be restored.
    func sealed(_ entry: CachedEntry) -> CachedEntry? {
        // A field that the response varies by, such as Referer.
        guard !entry.varying.values.contains(where: { !CredentialDigests.isDigest($0) && hasSecret($0) }) else {
            return nil
        }
        var fields = HTTPFields()
        for field in entry.response.headerFields {
            let value = secrets.reduce(field.value) { $0.replacing($1.text, with: $1.mark) }
            if Self.references.contains(field.name.canonicalName), hasSecret(value) {
                // The client sends its next request to the URLs in the other ones.
                let isUnused =
                    field.name == .contentLocation
                    || field.name == .location && entry.response.status.kind != .redirection
                guard isUnused else { return nil }
                continue
            }
            fields.append(value == field.value ? field : field.with(value))
        }
        return fields == entry.response.headerFields ? entry : entry.with(fields)
    }

    /// Returns an entry with the credentials of the URL.
    func opened(_ entry: CachedEntry) -> CachedEntry {
        guard !secrets.isEmpty else { return entry }
        let fields = entry.response.headerFields.map { field in
            let value = secrets.reduce(field.value) { $0.replacing($1.mark, with: $1.text) }
            return value == field.value ? field : field.with(value)
        }
        return entry.with(HTTPFields(fields))
    }

    /// Whether a text with URLs contains a credential, other than the marks of this seal.
    private func hasSecret(_ text: String) -> Bool {
        guard redaction.redactingValues(in: text) == text else { return true }
        return text.utf8.split(whereSeparator: { "?&;#<>,\"' \t".utf8.contains($0) })
            .contains { part in
                let words = part.split(separator: UInt8(ascii: "="), omittingEmptySubsequences: false)
                    .map { Substring($0) }
                let value = words.last ?? ""
                let names = value.isEmpty || secrets.contains { $0.mark == value } ? [] : words.dropLast()
                if names.contains(where: { redaction.redactsQueryItem(PercentEncoding.decode($0)) }) { return true }
                // The userinfo of a URL.
                guard let slashes = part.firstRange(of: "//".utf8) else { return false }
                return part[slashes.upperBound...].prefix { $0 != UInt8(ascii: "/") }.contains(UInt8(ascii: "@"))
            }
    }
}

extension HTTPField {
    /// Returns the field with another value and the same mark as a secret.
    fileprivate func with(_ value: String) -> HTTPField {
        var field = HTTPField(name: name, value: value)
        field.indexingStrategy = indexingStrategy
        return field
    }
}

extension CachedEntry {
    fileprivate func with(_ fields: HTTPFields) -> CachedEntry {
        var response = response
        response.headerFields = fields
        return CachedEntry(
            id: id,
            response: response,
            body: body,
            part: part,
            varying: varying,
            requestDate: requestDate,
            responseDate: responseDate
        )
    }
}
