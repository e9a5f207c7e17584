import FoundationForNetworking

/// The values of an environment, or of a request's options, by which requests are compared.
///
/// A part of a stack that shares or stores responses uses one response for two requests only if these are equal:
///
/// ```swift
/// let options = request.optionIdentities
/// let surroundings = NetworkEnvironment.current.identities
/// ```
///
/// `deduplicated` compares all of them. A cache compares those that affect responses (``affectingResponses``).
/// A value that is equal to its default counts as a value that was never set.
///
/// A value may be a secret, so the description shows none of them.
public struct ValueIdentities: Sendable {
    private var values: [Value] = []

    private struct Value: Sendable, Hashable {
        let key: ValueKey
        let identity: Identity
        let affectsResponses: Bool

        static func == (lhs: Self, rhs: Self) -> Bool {
            lhs.key == rhs.key && lhs.identity == rhs.identity
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(key)
            hasher.combine(identity)
        }
    }

    package init() {}

    mutating func add(_ identity: Identity, of key: ValueKey, affectsResponses: Bool) {
        values.append(Value(key: key, identity: identity, affectsResponses: affectsResponses))
    }

    /// Whether every value is the default.
    public var isEmpty: Bool {
        values.isEmpty
    }

    /// The values that affect responses, and not only how requests are sent.
    public var affectingResponses: ValueIdentities {
        guard !values.allSatisfy(\.affectsResponses) else { return self }
        var identities = self
        identities.values.removeAll { !$0.affectsResponses }
        return identities
    }

    /// Returns these values together with those of another instance.
    ///
    /// - Parameter other: The other values. Their keys are different from those of this instance.
    /// - Returns: All values.
    public func union(_ other: ValueIdentities) -> ValueIdentities {
        guard !other.values.isEmpty else { return self }
        var identities = self
        identities.values += other.values
        return identities
    }

    /// A text that is the same in each process for equal values, and differs for different ones.
    ///
    /// `nil` if a value has no such text, or if its type or the key of an environment value is private. These values
    /// have one: a `LosslessStringConvertible` value such as a string or a number, a `UUID`, a `URL`, a
    /// `RawRepresentable` value with such a raw value, and an optional of these.
    ///
    /// The text may contain secrets, so store only a digest of it.
    public var stableText: String? {
        var texts: [String] = []
        for value in values {
            guard let name = value.key.stableText, let text = value.identity.stableText else { return nil }
            texts.append(StableText.joined(name, text))
        }
        return texts.sorted().joined()
    }
}

extension ValueIdentities: Hashable {
    /// Compares the values, in any order.
    public static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.values.count == rhs.values.count && lhs.values.allSatisfy { rhs.values.contains($0) }
    }

    /// Hashes the values, in any order.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(values.reduce(0) { $0 &+ $1.hashValue })
    }
}

extension ValueIdentities: CustomStringConvertible, CustomReflectable {
    /// The number of values, without the values themselves.
    public var description: String {
        "ValueIdentities(\(values.count))"
    }

    /// A mirror without secrets, for dumps.
    public var customMirror: Mirror {
        Mirror(self, children: ["count": values.count])
    }
}

/// A type-erased hashable value that is sendable, unlike `AnyHashable`.
@usableFromInline
struct Identity: Sendable, Hashable {
    private let value: any Hashable & Sendable

    init(_ value: some Hashable & Sendable) {
        self.value = value
    }

    /// Creates the identity of a value; `nil` if it equals that of the default.
    init?<Value: Sendable>(
        of value: Value,
        unless defaultValue: Value,
        by identity: (Value) -> (any Hashable & Sendable)?
    ) {
        guard let own = identity(value).map({ Identity($0) }) else {
            if Self.isNil(value), Self.isNil(defaultValue) { return nil }
            self.init(instanceOf: value)
            return
        }
        if identity(defaultValue).map({ Identity($0) }) == own { return nil }
        self = own
    }

    /// Creates the identity of a value, which may equal that of the default.
    init<Value: Sendable>(of value: Value, by identity: (Value) -> (any Hashable & Sendable)?) {
        if let own = identity(value) { self.init(own) } else { self.init(instanceOf: value) }
    }

    private static func isNil(_ value: some Sendable) -> Bool {
        (value as? any OptionalValue).map { $0.wrapped == nil } ?? false
    }

    /// Creates the identity of a value that cannot be compared: the object, or an identity of this one use.
    init(instanceOf value: some Sendable) {
        let value = (value as? any OptionalValue)?.wrapped ?? value
        self.init(Instance(object: type(of: value) is AnyClass ? value as AnyObject : Unique()))
    }

    @usableFromInline
    static func == (lhs: Self, rhs: Self) -> Bool {
        AnyHashable(lhs.value) == AnyHashable(rhs.value)
    }

    @usableFromInline
    func hash(into hasher: inout Hasher) {
        hasher.combine(AnyHashable(value))
    }

    fileprivate var stableText: String? {
        StableText.text(of: value)
    }

    private final class Unique {}

    // @unchecked, because only the identity of the object is used. It is retained, so that no other object gets its
    // address.
    private struct Instance: Hashable, @unchecked Sendable {
        let object: AnyObject

        static func == (lhs: Self, rhs: Self) -> Bool {
            lhs.object === rhs.object
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(ObjectIdentifier(object))
        }
    }
}

/// An optional of any type.
protocol OptionalValue {
    var wrapped: Any? { get }
}

extension Optional: OptionalValue {
    var wrapped: Any? {
        self
    }
}

extension ValueKey {
    /// A text that is the same in each process; `nil` if there is none.
    fileprivate var stableText: String? {
        switch self {
        case .type(let type): StableText.name(of: type)
        case .object(let object): StableText.joined("\(object.file)", object.name)
        case .unread(let name): StableText.joined("", name)
        }
    }
}

private enum StableText {
    /// Returns the text of a value with its type; `nil` if there is none that is the same in each process.
    static func text(of value: Any) -> String? {
        guard let type = name(of: Swift.type(of: value)) else { return nil }
        let text: String? =
            switch value {
            case let value as any LosslessStringConvertible: value.description
            case let value as UUID: value.uuidString
            case let value as URL: value.absoluteString
            case let value as any RawRepresentable: Self.text(of: value.rawValue)
            case let value as any OptionalValue: value.wrapped.map { Self.text(of: $0) } ?? "nil"
            default: nil
            }
        return text.map { joined(type, $0) }
    }

    /// Returns the name of a type; `nil` if it is private, because such a name contains an address.
    static func name(of type: Any.Type) -> String? {
        let name = String(reflecting: type)
        return name.contains("(unknown context") ? nil : name
    }

    /// Returns two texts with their lengths, so that no other two texts have the same result.
    static func joined(_ first: String, _ second: String) -> String {
        "\(first.utf8.count):\(first)\(second.utf8.count):\(second)"
    }
}
