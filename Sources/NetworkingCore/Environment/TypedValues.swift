/// Values of any type, each under the type that is its key: what request options, response metadata and the
/// environment are made of.
@usableFromInline
package struct TypedValues: Sendable {
    // An array, since a request rarely carries more than a few, and searching those beats hashing.
    @usableFromInline var entries: [Entry] = []

    @usableFromInline
    struct Entry: Sendable {
        @usableFromInline let key: Any.Type
        @usableFromInline let box: any ValueBox
        let identity: Identity?
        let isCredential: Bool
        let isOfOneCall: Bool

        @usableFromInline
        init(key: Any.Type, box: any ValueBox, identity: Identity?, isCredential: Bool, isOfOneCall: Bool) {
            self.key = key
            self.box = box
            self.identity = identity
            self.isCredential = isCredential
            self.isOfOneCall = isOfOneCall
        }

        @inlinable var identifier: ObjectIdentifier {
            ObjectIdentifier(key)
        }
    }

    // Modules of features read options and values of the environment through this, at no more cost than the core does.
    @inlinable
    func value<Value: Sendable>(for key: Any.Type, as type: Value.Type) -> Value? {
        let key = ObjectIdentifier(key)
        // By index, since a copy of an entry takes as long as all the rest.
        for index in entries.indices where entries[index].identifier == key {
            // The key type fixes the value type, and `set` is the only writer: a checked cast (421 ns to an
            // existential) would bring the same.
            return unsafeDowncast(entries[index].box, to: Box<Value>.self).value
        }
        return nil
    }

    /// Stores a value, or removes it.
    ///
    /// - Parameters:
    ///   - value: The value; nil removes what is there.
    ///   - key: The type that is its key.
    ///   - identity: What stands for the value when whole sets are compared; nil leaves it out of that.
    ///   - isCredential: Whether it lets someone in.
    ///   - isOfOneCall: Whether work that several calls share must not have it.
    @inlinable
    mutating func set<Value: Sendable>(
        _ value: Value?,
        for key: Any.Type,
        identity: Identity? = nil,
        isCredential: Bool = false,
        isOfOneCall: Bool = false
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
            isCredential: isCredential,
            isOfOneCall: isOfOneCall
        )
        if let index {
            entries[index] = entry
        } else {
            entries.append(entry)
        }
    }

    /// Takes over all values of another set.
    mutating func merge(_ other: TypedValues) {
        for entry in other.entries {
            if let index = entries.firstIndex(where: { $0.identifier == entry.identifier }) {
                entries[index] = entry
            } else {
                entries.append(entry)
            }
        }
    }

    /// Removes what lets someone in.
    mutating func removeCredentials() {
        entries.removeAll(where: \.isCredential)
    }

    mutating func removeValuesOfOneCall() {
        entries.removeAll(where: \.isOfOneCall)
    }

    var hasValuesOfOneCall: Bool {
        entries.contains(where: \.isOfOneCall)
    }

    /// Whether something lets somebody in that nobody can compare.
    package var hasAnonymousCredentials: Bool {
        entries.contains { $0.isCredential && $0.identity == nil }
    }

    /// The types that are the keys of the stored values, without those whose value is `nil`.
    var keys: [Any.Type] {
        entries.filter { !$0.box.isNil }.map(\.key)
    }

    /// What takes part in equality.
    package var identities: [ObjectIdentifier: Identity] {
        var identities: [ObjectIdentifier: Identity] = [:]
        for entry in entries {
            identities[entry.identifier] = entry.identity
        }
        return identities
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

/// A hashable value of any type that may cross tasks, which `AnyHashable` may not.
@usableFromInline
package struct Identity: Sendable, Hashable {
    private let value: any Hashable & Sendable

    init(_ value: some Hashable & Sendable) {
        self.value = value
    }

    @usableFromInline
    package static func == (lhs: Self, rhs: Self) -> Bool {
        AnyHashable(lhs.value) == AnyHashable(rhs.value)
    }

    @usableFromInline
    package func hash(into hasher: inout Hasher) {
        hasher.combine(AnyHashable(value))
    }
}

/// A value behind one reference, copied when it is written to while shared.
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

    // @unchecked because it is only written to while nobody else has a reference to it.
    @usableFromInline
    final class Storage: @unchecked Sendable {
        // Whoever gets here has checked access to the struct already; a second check at run time takes 76 instructions.
        @exclusivity(unchecked) @usableFromInline var value: Value

        @inlinable
        init(_ value: Value) {
            self.value = value
        }
    }
}
