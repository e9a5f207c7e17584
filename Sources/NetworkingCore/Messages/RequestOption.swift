/// A setting that a request carries through the stack, declared once by the part that reads it.
///
/// ```swift
/// extension RequestOptionKey {
///     static let importance = RequestOption("importance", default: 0, affects: .nothing)
/// }
///
/// extension HTTPRequestData {
///     var importance: Int {
///         get { self[.importance] }
///         set { self[.importance] = newValue }
///     }
/// }
/// ```
///
/// Declare an option as a constant, because each instance is another option.
public final class RequestOption<Value: Sendable>: RequestOptionKey, @unchecked Sendable {
    /// The value of a request on which the option has not been set.
    public let defaultValue: Value
    private let effect: Effect
    private let storage: Storage
    private let forbidsResending: (@Sendable (Value) -> Bool)?
    private let normalized: (@Sendable (Value) -> Value)?

    /// Declares an option.
    ///
    /// - Parameters:
    ///   - name: The name in diagnostics and in stored requests. A stored option keeps its name in later versions of
    ///     the app, and shares it with no other option.
    ///   - defaultValue: The value of a request on which the option has not been set.
    ///   - effect: The effect of the value, by which requests are compared before they share a response.
    ///   - storage: Whether a stored request, such as an entry of an outbox, keeps the value. A credential and a value
    ///     of the stack are never stored.
    ///   - isCredential: Whether a value is a credential, so that a redirect to another origin is sent without it.
    ///   - isSetByStack: Whether a modifier sets the value for the parts upstream of it. Such a value belongs to one
    ///     way through the stack. The requests of responses, errors and recordings do not have it, and diagnostics do
    ///     not report it.
    ///   - isReported: Whether ``NetworkingComponent/diagnostics(for:)`` reports a request that sets the option if no
    ///     part of the stack reads it.
    ///   - forbidsResending: Returns whether a value keeps each transport from sending the request again by itself.
    ///     Such a value has an effect without a part that reads it. With `nil`, none does.
    ///   - normalized: Returns a valid value in place of one that is set or read from a store; `nil` if all are valid.
    ///   - file: The file of the declaration; leave it to the compiler.
    ///   - line: The line of the declaration; leave it to the compiler.
    public init(
        _ name: String,
        default defaultValue: Value,
        affects effect: Effect,
        stored storage: Storage = .never,
        isCredential: Bool = false,
        isSetByStack: Bool = false,
        isReported: Bool = true,
        forbidsResending: (@Sendable (Value) -> Bool)? = nil,
        normalized: (@Sendable (Value) -> Value)? = nil,
        file: StaticString = #fileID,
        line: UInt = #line
    ) {
        self.defaultValue = defaultValue
        self.effect = effect
        self.storage = storage
        self.forbidsResending = forbidsResending
        self.normalized = normalized
        var traits: ValueTraits = effect.kind == .responses ? .affectsResponses : []
        if isCredential { traits.insert(.isCredential) }
        if isSetByStack { traits.insert(.isTemporary) }
        super
            .init(
                name,
                file: file,
                line: line,
                traits: traits,
                isReported: isReported && !isSetByStack,
                isStored: storage.coding != nil && !isCredential && !isSetByStack
            )
    }

    /// The effect of an option on the requests that set it.
    ///
    /// A value that equals the default counts as a value that was never set.
    public struct Effect: Sendable {
        let kind: OptionEffect
        let identity: (@Sendable (Value) -> (any Hashable & Sendable)?)?

        /// The value takes no part in comparisons.
        ///
        /// A credential needs another effect, because a response to a request with a credential that cannot be compared
        /// is used for no other request.
        public static var nothing: Effect {
            Effect(kind: .nothing, identity: nil)
        }

        /// The value affects only how a request is sent, such as a time limit, and is compared by a part of it.
        ///
        /// - Parameter identity: Returns a value to compare. With `nil`, requests are equal only if they have the same
        ///   object, or if one is a copy of the other.
        /// - Returns: The effect.
        public static func sending(
            by identity: @escaping @Sendable (Value) -> (any Hashable & Sendable)?
        ) -> Effect {
            Effect(kind: .sending, identity: identity)
        }

        /// The value affects responses, and is compared by a part of it.
        ///
        /// - Parameter identity: Returns a value to compare. With `nil`, requests are equal only if they have the same
        ///   object, or if one is a copy of the other.
        /// - Returns: The effect.
        public static func responses(
            by identity: @escaping @Sendable (Value) -> (any Hashable & Sendable)?
        ) -> Effect {
            Effect(kind: .responses, identity: identity)
        }
    }

    /// Whether stored requests keep the values of an option.
    public struct Storage: Sendable {
        typealias Coding = (
            encode: @Sendable (Value) throws -> String, decode: @Sendable (String) -> Value?
        )

        let coding: Coding?

        /// They do not, so a request that is sent from a store has the default.
        public static var never: Storage {
            Storage(coding: nil)
        }
    }

    override func stored(_ box: any ValueBox) throws -> StoredOption? {
        guard isStored, let coding = storage.coding, !box.isNil || !Box(defaultValue).isNil else { return nil }
        let value = unsafeDowncast(box, to: Box<Value>.self).value
        return StoredOption(value: try coding.encode(value), affects: effect.kind)
    }

    /// Returns a value that a stored request keeps; `nil` if it is damaged.
    fileprivate func value(_ stored: StoredOption) -> Value? {
        storage.coding?.decode(stored.value).map { normalized?($0) ?? $0 }
    }

    fileprivate func set(_ value: Value, on request: inout HTTPRequestData) {
        let value = normalized.map { $0(value) } ?? value
        var traits = traits
        if forbidsResending?(value) == true { traits.insert(.forbidsResending) }
        set(Box(value), identity: comparison(of: value), traits: traits, on: &request)
    }

    /// Returns the representation of a value in comparisons; `nil` for the default and for an option without one.
    private func comparison(of value: Value) -> Identity? {
        guard let identity = effect.identity else { return nil }
        // A credential has an identity in any case, because one without cannot be compared.
        if traits.contains(.isCredential) { return Identity(of: value, by: identity) }
        return Identity(of: value, unless: defaultValue, by: identity)
    }
}

extension RequestOption.Effect where Value: Hashable {
    /// The value affects only how a request is sent, such as a time limit.
    ///
    /// `deduplicated` compares it. A cache and the equality of requests do not.
    public static var sending: Self {
        .sending { $0 }
    }

    /// The value affects responses, so requests with different values share none.
    public static var responses: Self {
        .responses { $0 }
    }
}

/// The effect of an option on the requests that set it.
enum OptionEffect: String, Codable, Sendable {
    case nothing, sending, responses
}

extension HTTPRequestData {
    /// The value of an option, or its default.
    ///
    /// - Parameter option: The option.
    public subscript<Value>(option: RequestOption<Value>) -> Value {
        @inlinable get {
            guard !option.isSetByStack else {
                return passage?.value.options.value(for: ObjectIdentifier(option), as: Value.self)
                    ?? option.defaultValue
            }
            if let value = box?.value.custom.value(for: ObjectIdentifier(option), as: Value.self) { return value }
            return option.isStored && box?.value.unread.isEmpty == false
                ? unreadValue(of: option) : option.defaultValue
        }
        set { option.set(newValue, on: &self) }
    }

    /// Returns the value with which the request was stored, or the default.
    @usableFromInline
    func unreadValue<Value>(of option: RequestOption<Value>) -> Value {
        box?.value.unread[option.name].flatMap { option.value($0) } ?? option.defaultValue
    }

    /// The options by which requests are compared before they share an exchange or a stored response.
    ///
    /// `nil` if the value of an option is a credential that cannot be compared (``RequestOption/Effect/nothing``), so
    /// that the response may be used for no other request.
    public var optionIdentities: ValueIdentities? {
        guard box?.value.custom.hasAnonymousCredentials != true,
            passage?.value.options.hasAnonymousCredentials != true
        else { return nil }
        return identitiesOfOptions
    }

    /// The identities of the options that the request or the stack has set.
    var identitiesOfOptions: ValueIdentities {
        var identities = box?.value.identities ?? ValueIdentities()
        passage?.value.options.addIdentities(to: &identities)
        return identities
    }

    /// Whether an option keeps a transport from sending the request again by itself.
    package var forbidsResending: Bool {
        box?.value.custom.forbidsResending ?? false
    }
}
