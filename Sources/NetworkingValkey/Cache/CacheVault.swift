#if Valkey
import Crypto
import FoundationForNetworking
import NetworkingCaching
import NetworkingCore

/// The names of the keys of a cache in the server, and the encryption of its values.
///
/// A value is a byte with the version, and the nonce, the ciphertext and the tag of AES-GCM. It is bound to its place,
/// so that a value of another key, or a changed one, cannot be opened. The names contain digests (HMAC-SHA256).
struct CacheVault: Sendable {
    private static let version: UInt8 = 1
    /// The version of a value that begins with the state of the groups at its origin.
    private static let groupedVersion: UInt8 = 2
    /// The number of parts of a cache, each of which has a slot in a cluster, and an index.
    static let partCount = 256

    private let namespace: KeyNamespace
    private let sealing: SymmetricKey
    private let naming: SymmetricKey
    /// The key for the digests of credentials, which all processes with the same key have without asking the server.
    let digestKey: CacheDigestKey?

    init(namespace: String, _ key: SymmetricKey) {
        self.namespace = KeyNamespace(namespace)
        func derived(_ purpose: String) -> SymmetricKey {
            HKDF<SHA256>
                .deriveKey(inputKeyMaterial: key, info: Array("swift-networking \(purpose)".utf8), outputByteCount: 32)
        }
        (sealing, naming) = (derived("cache"), derived("cache names"))
        digestKey = derived("cache credentials")
            .withUnsafeBytes { CacheDigestKey(bytes: Array($0.prefix(CacheDigestKey.byteCount))) }
    }

    // MARK: Names

    /// The names of what the server has for a URL, and for one of its keys.
    struct Place {
        /// The start of all names of the part, with the hash tag.
        let part: String
        let index: String
        /// The state of the URL.
        let url: String
        /// The name of the key in the index.
        let name: String
        /// The hash with the entries of the key.
        let entries: String

        var keys: [String] { [index, url, entries] }
    }

    func place(of key: CacheKey) -> Place {
        // All keys of a URL are in one part.
        let url = digest([Array(key.url.utf8)])
        let part = part(url[0])
        let name = digest([Array(key.url.utf8), key.ownerBytes]).hexadecimal
        return Place(
            part: part,
            index: part + "index",
            url: "\(part)url:\(url.hexadecimal)",
            name: name,
            entries: entries(of: name, in: part)
        )
    }

    /// Returns the name of the hash with the state of the groups at an origin, which may be in another part than its
    /// URLs.
    func groups(at origin: String) -> String {
        let origin = digest([origin])
        return "\(part(origin[0]))groups:\(origin.hexadecimal)"
    }

    /// Returns the field with the latest removal of a group for a principal; a scope with all principals has its own.
    func field(ofGroup name: String, in partition: GroupPartition) -> String {
        let owner: [UInt8] =
            switch partition {
            case .all: [2]
            case .principal(let principal): CacheKey(principal: principal, url: "").ownerBytes
            }
        return digest([Array(name.utf8), owner]).hexadecimal
    }

    /// The principals that a removal of groups concerns.
    enum GroupPartition {
        case all
        case principal(Principal?)
    }

    /// Returns a number of 60 bits that stands for a text.
    func number(of text: String) -> Int64 {
        Int64(digest([text]).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } >> 4)
    }

    func part(_ number: UInt8) -> String {
        namespace.key([number].hexadecimal, "")
    }

    func entries(of name: String, in part: String) -> String {
        "\(part)entries:\(name)"
    }

    /// Returns the name of the claim of a version of an entry.
    func claim(of entry: CachedEntry, for key: CacheKey) -> String {
        let place = place(of: key)
        let dates = [entry.requestDate, entry.responseDate].map { "\($0.timeIntervalSinceReferenceDate.bitPattern)" }
        return "\(place.part)claim:\(digest([place.name, entry.id.name] + dates).hexadecimal)"
    }

    private func digest(_ texts: [String]) -> [UInt8] {
        digest(texts.map { Array($0.utf8) })
    }

    private func digest(_ parts: [[UInt8]]) -> [UInt8] {
        var code = HMAC<SHA256>(key: naming)
        for part in parts {
            withUnsafeBytes(of: UInt64(part.count).littleEndian) { code.update(data: $0) }
            code.update(data: part)
        }
        return Array(code.finalize().prefix(16))
    }

    // MARK: Values

    /// Seals an entry.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - place: Its place.
    ///   - state: The state of the groups at its origin when its request was sent, if it belongs to any.
    /// - Returns: The value.
    /// - Throws: An error of the encryption.
    func seal(_ entry: CachedEntry, at place: Place, _ state: GroupState? = nil) throws -> [UInt8] {
        let head = EntryHead.encode(entry)
        let prefix = state.map { state in Self.length(of: state.text.utf8.count) + state.text.utf8 }
        var contents = (prefix ?? []) + Self.length(of: head.count)
        contents.reserveCapacity(contents.count + head.count + entry.body.count)
        contents += head
        contents += entry.body
        let version = state == nil ? Self.version : Self.groupedVersion
        return try seal(contents, at: place.entries + entry.id.name, version: version)
    }

    /// Opens an entry; `nil` if the value is damaged, of another version, or belongs elsewhere.
    ///
    /// Without a state, an entry that belongs to groups was stored by an older version of this library.
    func entry(
        _ value: [UInt8],
        named name: [UInt8],
        at place: Place
    ) -> (entry: CachedEntry, state: GroupState?)? {
        let text = String(decoding: name, as: UTF8.self)
        let isGrouped = value.first == Self.groupedVersion
        let version = isGrouped ? Self.groupedVersion : Self.version
        guard let id = UUID(name: text),
            var contents = open(value, at: place.entries + text, version: version)
        else { return nil }
        var state: GroupState?
        if isGrouped {
            guard let (prefix, rest) = Self.split(contents),
                let parsed = GroupState(String(decoding: prefix, as: UTF8.self))
            else { return nil }
            (state, contents) = (parsed, rest)
        }
        guard let (head, body) = Self.split(contents),
            let entry = head.withUnsafeBytes({ EntryHead.decode($0, id: id, body: body) })
        else { return nil }
        return (entry, state)
    }

    func seal(_ key: CacheKey, at place: String) throws -> [UInt8] {
        let owner = key.ownerBytes
        return try seal(Self.length(of: owner.count) + owner + key.url.utf8, at: place)
    }

    /// Opens a key; `nil` as for an entry.
    func key(_ value: [UInt8], at place: String) -> CacheKey? {
        guard let contents = open(value, at: place), let (owner, url) = Self.split(contents),
            let url = String(validating: url, as: UTF8.self)
        else { return nil }
        return CacheKey(url: url, ownerBytes: owner)
    }

    private func seal(_ contents: [UInt8], at place: String, version: UInt8 = version) throws -> [UInt8] {
        let box = try AES.GCM.seal(contents, using: sealing, authenticating: [version] + place.utf8)
        // The nonce has its usual length, so there is a combined form.
        guard let sealed = box.combined else { throw ValkeyError(.unsupported) }
        return [version] + sealed
    }

    private func open(_ value: [UInt8], at place: String, version: UInt8 = version) -> Data? {
        guard value.first == version, let box = try? AES.GCM.SealedBox(combined: value.dropFirst()) else {
            return nil
        }
        return try? AES.GCM.open(box, using: sealing, authenticating: [version] + place.utf8)
    }

    private static func length(of count: Int) -> [UInt8] {
        withUnsafeBytes(of: UInt32(clamping: count).littleEndian) { Array($0) }
    }

    /// Returns the first part of contents, which begin with its length, and the rest.
    private static func split(_ contents: Data) -> (Data, Data)? {
        let lengthEnd = contents.startIndex + 4
        guard contents.count >= 4 else { return nil }
        let length = contents[..<lengthEnd].reversed().reduce(0) { $0 << 8 | Int($1) }
        guard length <= contents.count - 4 else { return nil }
        return (contents[lengthEnd..<lengthEnd + length], contents[(lengthEnd + length)...])
    }
}

/// The state of the groups at an origin: a random text, which is lost when the server evicts it, and the number of
/// removals since then.
struct GroupState: Sendable, Hashable {
    let epoch: String
    let removals: Int64

    init?(_ text: String) {
        let parts = text.split(separator: ":")
        guard parts.count == 2, let removals = Int64(parts[1]) else { return nil }
        (epoch, self.removals) = (String(parts[0]), removals)
    }

    var text: String {
        "\(epoch):\(removals)"
    }
}

extension UUID {
    /// The 32 hexadecimal digits.
    var name: String {
        withUnsafeBytes(of: uuid) { $0.hexadecimal }
    }

    init?(name: String) {
        guard let bytes = Hexadecimal.bytes(name), bytes.count == 16 else { return nil }
        self = bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }
}
#endif
