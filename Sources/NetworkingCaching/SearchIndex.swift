import FoundationForNetworking
import HTTPTypes
import NetworkingCore

/// The rules of `No-Vary-Search` that are known for the URLs with one path, the latest first.
///
/// A cache keeps the rules in its store, in an entry of their own. For each rule and user, further entries have the
/// URLs that are equivalent under the rule. The URLs of these entries have a fragment, which no URL of a request has.
/// So a lookup reads a bounded number of keys, whatever the server sends, and every store can keep them.
struct SearchIndex: Sendable {
    /// The maximum number of rules; servers should use one (section 6).
    static let maximumRules = 4
    /// The maximum number of URLs that are known to be equivalent under one rule, for one user.
    static let maximumURLs = 4

    /// A random name that is part of the keys of the equivalent URLs, so that they are lost with the index.
    private let name: String
    private(set) var rules: [SearchVariance] = []

    init() {
        name = NetworkEnvironment.current.secureRandom.bytes(16).hexadecimal
    }

    /// Adds a rule as the latest one; returns `false` if it was the latest one before.
    mutating func add(_ rule: SearchVariance) -> Bool {
        guard rules.first != rule else { return false }
        rules.removeAll { $0 == rule }
        rules.insert(rule, at: 0)
        rules.removeLast(max(0, rules.count - Self.maximumRules))
        return true
    }

    // MARK: Keys

    /// Returns the key of the index for a URL.
    ///
    /// All users share it, because a removal concerns the responses of every user.
    static func key(of url: String) -> CacheKey {
        CacheKey(principal: nil, url: "\(RequestTarget.split(url).path)#search")
    }

    /// The key of the URLs that are equivalent to a URL under a rule, for one user; `nil` if the query is too long.
    func key(of key: CacheKey, under rule: SearchVariance, _ digestKey: CacheDigestKey) -> CacheKey? {
        let (base, query) = RequestTarget.split(key.url)
        guard let bytes = rule.equivalenceClass(of: query) else { return nil }
        let digest = digestKey.digest(of: Array(name.utf8) + bytes)
        return CacheKey(principal: key.principal, url: "\(base)#search-\(digest)")
    }

    // MARK: Entries

    /// Creates the index from an entry of the store; `nil` if it is damaged.
    init?(_ entry: CachedEntry) {
        let lines = Self.lines(of: entry)
        guard let name = lines.first, !name.isEmpty else { return nil }
        self.name = name
        rules = lines.dropFirst().prefix(Self.maximumRules).compactMap { SearchVariance($0) }
    }

    var entry: CachedEntry {
        Self.entry([name] + rules.map(\.text))
    }

    static func lines(of entry: CachedEntry) -> [String] {
        entry.body.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns the entry with lines; a field value and a URL have no line breaks.
    static func entry(_ lines: [String]) -> CachedEntry {
        let now = NetworkEnvironment.current.clock.date
        return CachedEntry(
            id: CacheRules.id(of: [:]),
            response: HTTPResponse(status: .ok),
            body: Data(lines.joined(separator: "\n").utf8),
            requestDate: now,
            responseDate: now
        )
    }
}
