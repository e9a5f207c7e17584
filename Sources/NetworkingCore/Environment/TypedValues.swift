/// Values of any type, each stored under a key type, for request options, response metadata and the environment.
@usableFromInline
package struct TypedValues: Sendable {
    // An array, because a request rarely has more than a few values, and a linear search of those is faster than
    // hashing.
    @usableFromInline var entries: [Entry] = []

    @usableFromInline
    struct Entry: Sendable {
        @usableFromInline let key: Any.Type
        @usableFromInline let box: any ValueBox
        let identity: Identity?
        let affectsResponses: Bool
        let isCredential: Bool
        let isTemporary: Bool

        @usableFromInline
        init(
            key: Any.Type,
            box: any ValueBox,
            identity: Identity?,
            affectsResponses: Bool,
            isCredential: Bool,
            isTemporary: Bool
        ) {
            self.key = key
            self.box = box
            self.identity = identity
            self.affectsResponses = affectsResponses
            self.isCredential = isCredential
            self.isTemporary = isTemporary
        }

        @inlinable var identifier: ObjectIdentifier {
            ObjectIdentifier(key)
        }
    }

    // Inlinable, so that reading a value from another module costs no more than from this one.
    @inlinable
    package func value<Value: Sendable>(for key: Any.Type, as type: Value.Type) -> Value? {
        let key = ObjectIdentifier(key)
        // By index, because copying an entry takes as long as all the rest.
        for index in entries.indices where entries[index].identifier == key {
            // The key type fixes the value type, and `set` is the only writer. A checked cast has the same result, but
            // takes 421 ns for an existential.
            return unsafeDowncast(entries[index].box, to: Box<Value>.self).value
        }
        return nil
    }

    /// Stores a value, or removes it.
    ///
    /// - Parameters:
    ///   - value: The value; `nil` removes the existing one.
    ///   - key: The key type.
    ///   - identity: The representation of the value in comparisons; `nil` leaves the value out of them.
    ///   - affectsResponses: Whether the value affects responses, and not only how requests are sent.
    ///   - isCredential: Whether the value is a credential.
    ///   - isTemporary: Whether ``removeTemporaryValues()`` removes the value.
    @inlinable
    mutating func set<Value: Sendable>(
        _ value: Value?,
        for key: Any.Type,
        identity: Identity? = nil,
        affectsResponses: Bool = true,
        isCredential: Bool = false,
        isTemporary: Bool = false
    ) {
        let index = entries.indices.first { entries[$0].identifier == ObjectIdentifier(key) }
        guard let value else {
            if let index {
                entries.remove(at: index)
            }
            return
        }
        let entry = Entry(
            key: key,
            box: Box(value),
            identity: identity,
            affectsResponses: affectsResponses,
            isCredential: isCredential,
            isTemporary: isTemporary
        )
        if let index {
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
        entries.removeAll(where: \.isCredential)
    }

    /// Removes the values that belong to one call.
    mutating func removeTemporaryValues() {
        // Often nothing is left, and an empty array needs no allocation.
        entries = entries.allSatisfy(\.isTemporary) ? [] : entries.filter { !$0.isTemporary }
    }

    var hasTemporaryValues: Bool {
        entries.contains(where: \.isTemporary)
    }

    /// Whether a value is a credential that cannot be compared.
    var hasAnonymousCredentials: Bool {
        entries.contains { $0.isCredential && $0.identity == nil }
    }

    /// Whether one of the values is a credential that other values do not contain.
    func hasCredentials(notIn other: TypedValues?) -> Bool {
        entries.contains { entry in
            guard entry.isCredential, !entry.box.isNil else { return false }
            guard let own = other?.entries.first(where: { $0.identifier == entry.identifier }) else { return true }
            return own.box !== entry.box && (own.identity == nil || own.identity != entry.identity)
        }
    }

    /// The key types of the stored values, without values of `nil`.
    var keys: [Any.Type] {
        entries.filter { !$0.box.isNil }.map(\.key)
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
            identities.add(identity, of: entries[index].key, affectsResponses: entries[index].affectsResponses)
        }
    }
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
package struct CopyOnWrite<Value: Sendable>: Sendable {
    @usableFromInline var storage: Storage

    @inlinable
    init(_ value: Value) {
        storage = Storage(value)
    }

    @inlinable package var value: Value {
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
