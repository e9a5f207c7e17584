#if Valkey
public import Crypto
public import FoundationForNetworking
public import NetworkingCaching
public import NetworkingCore

/// A cache store in Valkey or Redis, which the machines of a service share.
///
/// ```swift
/// let store = ValkeyCacheStore(valkey, namespace: "shop", key: key)
/// let network = URLSession.shared.cached(in: ResponseCache(in: store))
/// ```
///
/// Each machine reads what another one has stored. A removal on one machine, such as that by a `POST`, applies to all
/// of them after one round trip, and outdates their requests in flight. One machine at a time revalidates a stale
/// response in the background. Entries are encrypted (AES-GCM) with the key; the server sees the namespace, digests
/// of the URLs and of the principals, and the sizes of the entries.
///
/// Responses to requests with credentials are shared if the credentials name their user, as a `Session` with a `userID`
/// does. Others, such as `BearerCredentials`, have a random principal in each process.
///
/// **If the server cannot be used**, nothing is found and nothing is stored, `cached` reports a `CacheEvent`, and the
/// request is sent to its origin. Each command takes at most the time limit. A ``ValkeyClient`` sends a server that
/// does not answer only one command at a time. A removal that has failed is repeated before this machine reads the URL
/// again; other machines may use the old response in that time.
///
/// **The size.** Every key expires, and an index has at most `countLimit` keys. Give the server a `maxmemory` and the
/// policy `allkeys-lru` or `volatile-ttl`. It may evict any key; the entries are then not found, and responses in
/// flight are not stored. With `noeviction`, a full server stores nothing more. An entry is one value, so that a hit
/// takes one round trip, and the server evicts an entry as a whole. A larger one would delay the other commands of the
/// connection, and exceed the time limit.
public struct ValkeyCacheStore: CacheStore {
    /// The maximum number of variants of a key, as in the other stores.
    private static let maximumVariants = 32
    /// The number of keys that a command of ``removeAll(where:)`` concerns.
    private static let batch = 256
    /// The time for which the server knows the state of a URL for a request in flight.
    private static let fetchLimit = Duration.seconds(600)
    /// The maximum number of removed groups that the server knows for an origin.
    private static let maximumGroups = 4_096
    /// The time after which another process revalidates an entry, if the first one does not store its successor.
    private static let claimLimit = Duration.seconds(10)

    /// The maximum cost of an entry, in bytes.
    public let entryCostLimit: Int
    private let commands: any ValkeyCommands
    private let vault: CacheVault
    private let countLimit: Int
    private let lifetime: Duration
    private let timeout: Duration

    /// Creates a store.
    ///
    /// - Parameters:
    ///   - commands: The client of the server.
    ///   - namespace: The start of all keys, which separates services that use one server.
    ///   - key: A secret of at least 16 random bytes, the same one in all processes, from which the keys of the
    ///     encryption and of the digests are derived. Processes with another key have a cache of their own.
    ///   - entryCostLimit: The maximum cost of one entry, in bytes; 1 MiB by default, and at most 8 MiB. All variants
    ///     of a key have at most four times the limit.
    ///   - countLimit: The approximate maximum number of keys in the cache; one million by default. The index has about
    ///     100 bytes for each of them.
    ///   - lifetime: The time after which the server removes entries that were not stored again; seven days by default.
    ///   - timeout: The time limit of each command; 50 milliseconds by default.
    /// - Precondition: `namespace` is not empty and contains no brace.
    public init(
        _ commands: any ValkeyCommands,
        namespace: String,
        key: SymmetricKey,
        entryCostLimit: Int = 1 << 20,
        countLimit: Int = 1_000_000,
        lifetime: Duration = .seconds(7 * 86_400),
        timeout: Duration = .milliseconds(50)
    ) {
        self.commands = commands
        vault = CacheVault(namespace: namespace, key)
        self.entryCostLimit = max(0, min(entryCostLimit, 8 << 20))
        self.countLimit = max(1, countLimit / CacheVault.partCount)
        self.lifetime = max(.milliseconds(1), lifetime)
        self.timeout = timeout
    }

    /// Returns the key for the digests of credentials, which is derived from the key of the store.
    public func digestKey() async -> CacheDigestKey? {
        vault.digestKey
    }

    // MARK: Entries

    /// Returns all entries of a key; those that cannot be decrypted are missing.
    ///
    /// - Parameter key: The key.
    /// - Returns: The entries, in any order.
    /// - Throws: A ``ValkeyError``, the error of another client, or `CancellationError`.
    public func entries(for key: CacheKey) async throws -> [CachedEntry] {
        let place = vault.place(of: key)
        let reply = try await evaluate(CacheScript.read, place.keys, place.name)
        guard let fields = reply.array else { throw ValkeyError(.malformedReply) }
        let entries = stride(from: 0, to: fields.count - 1, by: 2)
            .compactMap { index -> (entry: CachedEntry, state: GroupState?)? in
                guard let name = fields[index].bytes, let value = fields[index + 1].bytes else { return nil }
                return vault.entry(value, named: name, at: place)
            }
        guard entries.contains(where: { !$0.entry.groups.isEmpty }) else { return entries.map(\.entry) }
        return try await members(entries, of: key)
    }

    /// Returns the entries of a key of which no group was removed after their requests.
    private func members(
        _ entries: [(entry: CachedEntry, state: GroupState?)],
        of key: CacheKey
    ) async throws -> [CachedEntry] {
        let names = Set(entries.flatMap(\.entry.groups))
        let fields = names.map { name in
            [.all, .principal(key.principal?.withoutCookies)].map { vault.field(ofGroup: name, in: $0) }
        }
        let reply = try await evaluate(
            CacheScript.groupRemovals,
            [vault.groups(at: key.origin)],
            fields.flatMap { $0 }.map { Array($0.utf8) }
        )
        guard let values = reply.array, values.count == 1 + 2 * names.count else { throw ValkeyError(.malformedReply) }
        // The server has evicted the state.
        guard let epoch = values[0].bytes.map({ String(decoding: $0, as: UTF8.self) }) else {
            return entries.filter(\.entry.groups.isEmpty).map(\.entry)
        }
        var latest: [String: Int64] = [:]
        for (index, name) in names.enumerated() {
            for value in values[1 + 2 * index...2 + 2 * index] {
                guard let digits = value.bytes else { continue }
                guard let number = Int64(String(decoding: digits, as: UTF8.self)) else {
                    throw ValkeyError(.malformedReply)
                }
                latest[name] = max(number, latest[name] ?? 0)
            }
        }
        return
            entries.filter { entry, state in
                guard !entry.groups.isEmpty else { return true }
                guard let state, state.epoch == epoch else { return false }
                return entry.groups.allSatisfy { latest[$0] ?? 0 <= state.removals }
            }
            .map(\.entry)
    }

    /// Stores an entry, unless its cost exceeds ``entryCostLimit`` or its URL is removed at the same time.
    ///
    /// If the cost exceeds the limit, a stored entry with the same id is removed. A key has at most 32 variants; the
    /// oldest one is removed.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - key: Its key.
    /// - Returns: The number of variants of the key, and of other keys, that were evicted by the limits of the store.
    /// - Throws: A ``ValkeyError``, the error of another client, or `CancellationError`.
    @discardableResult
    public func store(_ entry: CachedEntry, for key: CacheKey) async throws -> Int {
        guard let change = try await changeNumber(of: key.url) else { return 0 }
        return try await store(entry, for: key, ifUnchangedSince: change) ?? 0
    }

    /// Stores an entry like ``store(_:for:)``, unless any process has removed its URL since a change.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - key: Its key.
    ///   - change: A number that ``changeNumber(of:)`` has returned for the URL.
    /// - Returns: The number of evicted entries; `nil` if the entry is not stored, because its URL was removed, because
    ///   the number is older than ten minutes and the URL has no entries, or because the server has evicted its state.
    /// - Throws: A ``ValkeyError``, the error of another client, or `CancellationError`; then it is not known whether
    ///   the entry is stored.
    public func store(_ entry: CachedEntry, for key: CacheKey, ifUnchangedSince change: Int64) async throws -> Int? {
        guard entry.cost <= entryCostLimit else {
            try await remove(entry.id, for: key)
            return 0
        }
        let place = vault.place(of: key)
        // A removal of groups that follows makes the entry invalid, because it has the state from before.
        let state = try await groupState(at: key.origin, for: entry.groups.isEmpty ? Self.fetchLimit : lifetime)
        let reply = try await evaluate(
            CacheScript.store,
            place.keys,
            [
                Self.digits(of: change ^ vault.number(of: state.text)), Array(place.name.utf8),
                try vault.seal(key, at: place.entries), Array(entry.id.name.utf8),
                try vault.seal(entry, at: place, entry.groups.isEmpty ? nil : state), lifetime.millisecondDigits,
                Array("\(Self.maximumVariants)".utf8), Array("\(4 * entryCostLimit)".utf8),
                Array("\(countLimit)".utf8),
            ]
        )
        guard reply != .null else { return nil }
        guard let evicted = reply.integer else { throw ValkeyError(.malformedReply) }
        return Int(clamping: evicted)
    }

    /// Removes an entry, or all entries of a key.
    ///
    /// - Parameters:
    ///   - id: The id; `nil` for all entries.
    ///   - key: The key.
    /// - Throws: A ``ValkeyError``, the error of another client, or `CancellationError`.
    public func remove(_ id: CachedEntry.ID?, for key: CacheKey) async throws {
        let names = id.map { [Array($0.name.utf8)] } ?? []
        _ = try await evaluate(CacheScript.removeEntry, [vault.place(of: key).entries], names)
    }

    // MARK: Changes

    /// Throws, because the store numbers the changes of each URL on its own; see ``changeNumber(of:)``.
    ///
    /// - Returns: Never.
    /// - Throws: A ``ValkeyError`` of the kind ``ValkeyError/Kind/unsupported``.
    public func changeNumber() async throws -> Int64? {
        throw ValkeyError(.unsupported)
    }

    /// Returns a random number that stands for the latest removal that concerns a URL, by any process.
    ///
    /// The server knows it for ten minutes, or as long as it has entries of the URL. A removal of groups at the origin
    /// changes the numbers of all its URLs.
    ///
    /// - Parameter url: The URL.
    /// - Returns: The number.
    /// - Throws: A ``ValkeyError``, the error of another client, or `CancellationError`.
    public func changeNumber(of url: String) async throws -> Int64? {
        let place = place(of: url)
        // The names of both may be in different slots.
        async let state = groupState(at: CacheKey(principal: nil, url: url).origin, for: Self.fetchLimit)
        let reply = try await evaluate(
            CacheScript.changeNumber,
            [place.index, place.url],
            [Self.newPartState, Self.newURLState, Self.fetchLimit.millisecondDigits]
        )
        guard let number = Self.number(reply) else { throw ValkeyError(.malformedReply) }
        return number ^ vault.number(of: try await state.text)
    }

    /// Returns the state of the groups at an origin.
    ///
    /// - Parameters:
    ///   - origin: The origin.
    ///   - time: The time for which the server keeps it at least.
    /// - Returns: The state.
    /// - Throws: The error of the command.
    private func groupState(at origin: String, for time: Duration) async throws -> GroupState {
        let reply = try await evaluate(
            CacheScript.groupState,
            [vault.groups(at: origin)],
            [Self.newEpoch, time.millisecondDigits]
        )
        guard let state = reply.bytes.flatMap({ GroupState(String(decoding: $0, as: UTF8.self)) }) else {
            throw ValkeyError(.malformedReply)
        }
        return state
    }

    /// Removes all entries of a URL, for all principals and all processes.
    ///
    /// - Parameter url: The URL.
    /// - Throws: A ``ValkeyError``, the error of another client, or `CancellationError`.
    public func remove(url: String) async throws {
        _ = try await evaluate(CacheScript.removeURL, [place(of: url).url], [])
    }

    /// Removes all entries of a URL, and checks whether any process has removed the URL since a change.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - change: A number that ``changeNumber(of:)`` has returned for the URL.
    /// - Returns: The number of this removal; `nil` if the URL was also removed after the change.
    /// - Throws: A ``ValkeyError``, the error of another client, or `CancellationError`.
    public func remove(url: String, checkingSince change: Int64) async throws -> Int64? {
        let place = place(of: url)
        let state = try await groupState(at: CacheKey(principal: nil, url: url).origin, for: Self.fetchLimit)
        let mask = vault.number(of: state.text)
        let reply = try await evaluate(
            CacheScript.removeUnchangedURL,
            [place.index, place.url],
            [Self.digits(of: change ^ mask), Self.newURLState, Self.fetchLimit.millisecondDigits]
        )
        return Self.number(reply).map { $0 ^ mask }
    }

    /// Removes the entries that belong to any of several groups, for all processes.
    ///
    /// It takes one command, and outdates the requests in flight to the origin. Entries of groups are also lost when
    /// the server evicts the state of the groups, and after 4,096 different groups of one origin.
    ///
    /// - Parameters:
    ///   - groups: The names of the groups.
    ///   - scope: The origin and the principals.
    /// - Throws: A ``ValkeyError``, the error of another client, or `CancellationError`.
    public func remove(groups: Set<String>, at scope: CacheGroupScope) async throws {
        let partitions = scope.principals?.map { CacheVault.GroupPartition.principal($0) } ?? [.all]
        let fields = groups.flatMap { group in partitions.map { vault.field(ofGroup: group, in: $0) } }
        _ = try await evaluate(
            CacheScript.removeGroups,
            [vault.groups(at: scope.origin)],
            [Self.newEpoch, lifetime.millisecondDigits, Array("\(Self.maximumGroups)".utf8)]
                + fields.map { Array($0.utf8) }
        )
    }

    /// Removes the entries of all keys for which a closure returns `true`, and those whose keys cannot be decrypted.
    ///
    /// It reads the keys of the whole cache, in some hundred commands of which 16 are on their way at a time.
    ///
    /// - Parameter isUnwanted: The closure.
    /// - Throws: A ``ValkeyError``, the error of another client, or `CancellationError`; then some of the entries may
    ///   have been removed.
    public func removeAll(where isUnwanted: @Sendable (CacheKey) -> Bool) async throws {
        for first in stride(from: 0, to: CacheVault.partCount, by: 16) {
            try await withThrowingTaskGroup(of: (part: String, keys: [(name: String, key: CacheKey?)]).self) { group in
                for number in first..<first + 16 {
                    let part = vault.part(UInt8(number))
                    group.addTask { (part, try await changedKeys(of: part)) }
                }
                for try await (part, keys) in group {
                    let names = keys.filter { $0.key.map(isUnwanted) ?? true }.map(\.name)
                    for start in stride(from: 0, to: names.count, by: Self.batch) {
                        let names = names[start..<min(start + Self.batch, names.count)]
                        _ = try await evaluate(
                            CacheScript.removeKeys,
                            [part + "index"] + names.map { vault.entries(of: $0, in: part) },
                            [Self.newPartState] + names.map { Array($0.utf8) }
                        )
                    }
                }
            }
        }
    }

    /// Outdates the requests in flight of a part, and returns its keys; `nil` for a key that cannot be decrypted.
    private func changedKeys(of part: String) async throws -> [(name: String, key: CacheKey?)] {
        let reply = try await evaluate(CacheScript.changePart, [part + "index"], [Self.newPartState])
        guard let members = reply.array else { throw ValkeyError(.malformedReply) }
        let names = members.compactMap { $0.bytes.map { String(decoding: $0, as: UTF8.self) } }
        var keys: [(name: String, key: CacheKey?)] = []
        for start in stride(from: 0, to: names.count, by: Self.batch) {
            let names = names[start..<min(start + Self.batch, names.count)]
            let places = names.map { vault.entries(of: $0, in: part) }
            let values = try await evaluate(CacheScript.sealedKeys, places, []).array
            guard let values, values.count == names.count else { throw ValkeyError(.malformedReply) }
            for (index, (name, place)) in zip(names, places).enumerated() {
                // The others have expired.
                guard let value = values[index].bytes else { continue }
                keys.append((name, vault.key(value, at: place)))
            }
        }
        return keys
    }

    // MARK: Revalidation

    /// Returns whether this process may revalidate an entry in the background.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - key: Its key.
    /// - Returns: `false` if another process has asked for the same version of the entry in the last ten seconds.
    /// - Throws: A ``ValkeyError``, the error of another client, or `CancellationError`.
    public func claimRevalidation(of entry: CachedEntry, for key: CacheKey) async throws -> Bool {
        let name = vault.claim(of: entry, for: key)
        return try await run { try await $0.set(name, to: [1], ValkeySetOptions(.ifMissing, expiry: Self.claimLimit)) }
    }

    // MARK: Commands

    private func evaluate(_ script: ValkeyScript, _ keys: [String], _ arguments: String...) async throws -> ValkeyValue
    {
        try await evaluate(script, keys, arguments.map { Array($0.utf8) })
    }

    private func evaluate(
        _ script: ValkeyScript,
        _ keys: [String],
        _ arguments: [[UInt8]]
    ) async throws -> ValkeyValue {
        try await run { try await $0.evaluate(script, keys: keys, arguments: arguments) }
    }

    /// Runs a command within the time limit.
    private func run<Value: Sendable>(
        _ work: @escaping @Sendable (any ValkeyCommands) async throws -> Value
    ) async throws -> Value {
        do {
            return try await StoreWait.run(until: nil, atMost: timeout) { [commands] in try await work(commands) }
        } catch is StoreWait.Timeout {
            throw ValkeyError(.timedOut)
        }
    }

    private func place(of url: String) -> CacheVault.Place {
        vault.place(of: CacheKey(principal: nil, url: url))
    }

    /// A random negative number that Lua represents exactly.
    private static var newPartState: [UInt8] {
        let random = randomBytes.prefix(6).reduce(Int64(0)) { $0 << 8 | Int64($1) }
        return Array("-\(random + 1)".utf8)
    }

    /// The version of the state, and random digits.
    private static var newURLState: [UInt8] {
        Array("1\(randomBytes.hexadecimal)".utf8)
    }

    private static var newEpoch: [UInt8] {
        Array(randomBytes.hexadecimal.utf8)
    }

    private static var randomBytes: [UInt8] {
        NetworkEnvironment.current.secureRandom.bytes(16)
    }

    /// The digits of a number as the scripts compare them.
    private static func digits(of number: Int64) -> [UInt8] {
        Array(UInt64(bitPattern: number).hexadecimal.utf8.dropFirst())
    }

    private static func number(_ reply: ValkeyValue) -> Int64? {
        guard let digits = reply.bytes, digits.count == 15 else { return nil }
        return Hexadecimal.number(digits).map { Int64(bitPattern: $0) }
    }
}

extension ValkeyCacheStore: RedactedDescription {}
#endif
