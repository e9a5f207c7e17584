/// Values of any type, each stored under a key, for request options, response metadata and the environment.
@usableFromInline
struct TypedValues: Sendable {
    // An array, because a request rarely has more than a few values, and a linear search of those is faster than
    // hashing.
    @usableFromInline var entries: [Entry] = []

    @usableFromInline
    struct Entry: Sendable {
        // Beside the key, because comparing it takes less time.
        @usableFromInline let identifier: ObjectIdentifier
        let key: ValueKey
        @usableFromInline let box: any ValueBox
        let identity: Identity?
        let traits: ValueTraits

        @usableFromInline
        init(
            _ identifier: ObjectIdentifier,
            _ key: ValueKey,
            box: any ValueBox,
            identity: Identity?,
            traits: ValueTraits
        ) {
            self.identifier = identifier
            self.key = key
            self.box = box
            self.identity = identity
            self.traits = traits
        }
    }

    // Inlinable, so that reading a value from another module costs no more than from this one.
    @inlinable
    func value<Value: Sendable>(for key: ObjectIdentifier, as type: Value.Type) -> Value? {
        // By index, because copying an entry takes as long as all the rest.
        for index in entries.indices where entries[index].identifier == key {
            // The key fixes the value type, and `set` is the only writer. A checked cast has the same result, but takes
            // 421 ns for an existential.
            return unsafeDowncast(entries[index].box, to: Box<Value>.self).value
        }
        return nil
    }

    /// Stores a value.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - key: The key.
    ///   - identity: The representation of the value in comparisons; `nil` leaves the value out of them.
    ///   - traits: The properties of the value.
    @inlinable
    mutating func set<Value: Sendable>(
        _ value: Value,
        for key: ValueKey,
        identity: Identity? = nil,
        traits: ValueTraits = .affectsResponses
    ) {
        set(Box(value), for: key, identity: identity, traits: traits)
    }

    // Not generic, so that a program has this code once, and not once for each type of a value.
    @inline(never)
    @usableFromInline
    mutating func set(_ box: any ValueBox, for key: ValueKey, identity: Identity?, traits: ValueTraits) {
        let identifier = key.identifier
        let entry = Entry(identifier, key, box: box, identity: identity, traits: traits)
        if let index = entries.indices.first(where: { entries[$0].identifier == identifier }) {
            entries[index] = entry
        } else {
            entries.append(entry)
        }
    }

    /// Sets all values of another instance.
    mutating func merge(_ other: TypedValues) {
        for entry in other.entries {
            if let index = entries.firstIndex(where: { $0.identifier == entry.identifier }) {
                entries[index] = entry
            } else {
                entries.append(entry)
            }
        }
    }

    /// Removes the values that are credentials.
    mutating func removeCredentials() {
        entries.removeAll { $0.traits.contains(.isCredential) }
    }

    /// Removes the values that belong to one call.
    mutating func removeTemporaryValues() {
        // Often nothing is left, and an empty array needs no allocation.
        entries =
            entries.allSatisfy { $0.traits.contains(.isTemporary) }
            ? [] : entries.filter { !$0.traits.contains(.isTemporary) }
    }

    var hasTemporaryValues: Bool {
        entries.contains { $0.traits.contains(.isTemporary) }
    }

    /// Whether a value keeps a transport from sending a request again.
    var forbidsResending: Bool {
        entries.contains { $0.traits.contains(.forbidsResending) }
    }

    /// Whether a value is a credential that cannot be compared.
    var hasAnonymousCredentials: Bool {
        entries.contains { $0.traits.contains(.isCredential) && $0.identity == nil }
    }

    /// Whether one of the values is a credential that other values do not contain.
    func hasCredentials(notIn other: TypedValues?) -> Bool {
        entries.contains { entry in
            guard entry.traits.contains(.isCredential), !entry.box.isNil else { return false }
            guard let own = other?.entries.first(where: { $0.identifier == entry.identifier }) else { return true }
            return own.box !== entry.box && (own.identity == nil || own.identity != entry.identity)
        }
    }

    /// The values that take part in comparisons.
    var identities: ValueIdentities {
        var identities = ValueIdentities()
        addIdentities(to: &identities)
        return identities
    }

    func addIdentities(to identities: inout ValueIdentities) {
        for index in entries.indices {
            guard let identity = entries[index].identity else { continue }
            let affectsResponses = entries[index].traits.contains(.affectsResponses)
            identities.add(identity, of: entries[index].key, affectsResponses: affectsResponses)
        }
    }
}

/// The key of a value.
@usableFromInline
enum ValueKey: Sendable, Hashable {
    /// The type that declares a value of the environment or of a response.
    case type(Any.Type)
    /// The object that declares an option of a request.
    case object(any ValueDeclaration)
    /// The name of an option with a value that was read from a store.
    case unread(String)

    /// The identity of the declaration.
    @usableFromInline var identifier: ObjectIdentifier {
        switch self {
        case .type(let type): ObjectIdentifier(type)
        case .object(let object): ObjectIdentifier(object)
        case .unread: ObjectIdentifier(TypedValues.self)
        }
    }

    @usableFromInline
    static func == (lhs: Self, rhs: Self) -> Bool {
        guard case .unread(let name) = lhs, case .unread(let other) = rhs else {
            return lhs.identifier == rhs.identifier
        }
        return name == other
    }

    @usableFromInline
    func hash(into hasher: inout Hasher) {
        hasher.combine(identifier)
    }
}

/// The declaration of a value.
@usableFromInline
protocol ValueDeclaration: AnyObject, Sendable {
    var name: String { get }
    /// The file of the declaration, which distinguishes declarations with the same name.
    var file: StaticString { get }
}

/// The properties of a value that its key declares.
@usableFromInline
struct ValueTraits: OptionSet, Sendable {
    @usableFromInline let rawValue: UInt8

    @usableFromInline
    init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The value affects responses, and not only how requests are sent.
    @usableFromInline static let affectsResponses = ValueTraits(rawValue: 1)
    static let isCredential = ValueTraits(rawValue: 2)
    /// The value belongs to one call, or to one way of a request through a stack.
    static let isTemporary = ValueTraits(rawValue: 4)
    /// The value keeps a transport from sending the request again.
    static let forbidsResending = ValueTraits(rawValue: 8)
}

@usableFromInline
protocol ValueBox: AnyObject, Sendable {
    var isNil: Bool { get }
}

@usableFromInline
final class Box<Value: Sendable>: ValueBox {
    @usableFromInline let value: Value

    @inlinable
    init(_ value: Value) {
        self.value = value
    }

    @usableFromInline var isNil: Bool {
        let mirror = Mirror(reflecting: value)
        return mirror.displayStyle == .optional && mirror.children.isEmpty
    }
}

/// A value behind a single reference, which is copied when it is changed while shared.
@usableFromInline
struct CopyOnWrite<Value: Sendable>: Sendable {
    @usableFromInline var storage: Storage

    @inlinable
    init(_ value: Value) {
        storage = Storage(value)
    }

    @inlinable var value: Value {
        _read { yield storage.value }
        _modify {
            if !isKnownUniquelyReferenced(&storage) {
                storage = Storage(storage.value)
            }
            yield &storage.value
        }
    }

    // @unchecked, because it is only changed while there is a single reference to it.
    @usableFromInline
    final class Storage: @unchecked Sendable {
        // Access to the struct has been checked before this; a second check at run time takes 76 instructions.
        @exclusivity(unchecked) @usableFromInline var value: Value

        @inlinable
        init(_ value: Value) {
            self.value = value
        }
    }
}
