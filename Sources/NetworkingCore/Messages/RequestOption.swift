/// A setting that a request carries through the stack, declared by the component that reads it.
///
/// ```swift
/// enum Importance: RequestOption {
///     static let defaultValue = 0
/// }
///
/// extension HTTPRequestData {
///     var importance: Int {
///         get { self[option: Importance.self] }
///         set { self[option: Importance.self] = newValue }
///     }
/// }
/// ```
public protocol RequestOption {
    /// The type of the setting.
    associatedtype Value: Sendable

    /// The value of a request on which the option has not been set.
    static var defaultValue: Value { get }

    /// Returns a value that represents the option when requests are compared.
    ///
    /// Requests with different identities share no response: a cache stores their responses separately, and
    /// `deduplicated` sends them separately. A value with the identity of the default counts as a value that was never
    /// set. The default is `nil`, so that the option takes no part in comparisons.
    ///
    /// - Parameter value: The value that was set.
    /// - Returns: A value to compare, often the value itself, or `nil`.
    static func identity(of value: Value) -> (any Hashable & Sendable)?

    /// Whether the value affects responses; `true` by default.
    ///
    /// `deduplicated` also compares an option that affects only how a request is sent, such as a time limit. A cache
    /// and the equality of requests do not compare it.
    static var affectsResponses: Bool { get }

    /// Whether a value is a credential, so that a redirect to another origin is sent without it.
    ///
    /// `false` by default.
    static var isCredential: Bool { get }

    /// Whether a modifier sets the value for the parts upstream of it.
    ///
    /// Such a value belongs to one way through the stack. The requests of responses, errors and recordings do not have
    /// it, and diagnostics do not report it. `false` by default, for an option that the caller sets.
    static var isSetByStack: Bool { get }

    /// The name of the option in diagnostics.
    ///
    /// The default is the name of the type.
    static var name: String { get }
}

/// An option that the library sets, or that it reads in every stack, so that diagnostics do not report it.
package protocol LibraryRequestOption: RequestOption {}

/// An option of a modifier that also keeps every transport from sending the request again, if its value forbids that.
package protocol ResendingOption: RequestOption {}

/// An option that affects only how a request is sent.
///
/// Requests with different values do not share an exchange, because it is sent in one way.
package protocol SendingOption: RequestOption where Value: Hashable {}

extension SendingOption {
    /// Returns the value itself.
    package static func identity(of value: Value) -> (any Hashable & Sendable)? {
        value
    }

    /// `false`.
    package static var affectsResponses: Bool {
        false
    }
}

extension RequestOption {
    /// Returns `nil`, so that the option takes no part in comparisons.
    public static func identity(of value: Value) -> (any Hashable & Sendable)? {
        nil
    }

    /// `true`.
    public static var affectsResponses: Bool {
        true
    }

    /// `false`.
    public static var isCredential: Bool {
        false
    }

    /// `false`.
    public static var isSetByStack: Bool {
        false
    }

    /// The name of the type.
    public static var name: String {
        "\(Self.self)"
    }

    /// Returns the representation of a value in comparisons; `nil` for the default and for an option without one.
    fileprivate static func comparison(of value: Value) -> Identity? {
        guard let identity = identity(of: value) else { return nil }
        let own = Identity(identity)
        // A credential has an identity in any case, because one without cannot be compared.
        guard !isCredential else { return own }
        return self.identity(of: defaultValue).map { Identity($0) } == own ? nil : own
    }
}

extension HTTPRequestData {
    /// The options by which requests are compared before they share an exchange or a stored response.
    ///
    /// `nil` if an option has a credential without an ``RequestOption/identity(of:)``, so that the response may be used
    /// for no other request.
    public var optionIdentities: ValueIdentities? {
        guard box?.value.custom.hasAnonymousCredentials != true,
            passage?.value.options.hasAnonymousCredentials != true
        else { return nil }
        return identitiesOfOptions
    }

    /// The identities of the options that the request or the stack has set.
    var identitiesOfOptions: ValueIdentities {
        var identities = box?.value.custom.identities ?? ValueIdentities()
        passage?.value.options.addIdentities(to: &identities)
        return identities
    }
}

extension HTTPRequestData {
    /// The value of an option, or its default.
    ///
    /// - Parameter option: The type that declares the option.
    public subscript<Option: RequestOption>(option option: Option.Type) -> Option.Value {
        @inlinable get {
            if option.isSetByStack {
                passage?.value.options.value(for: option, as: Option.Value.self) ?? option.defaultValue
            } else {
                box?.value.custom.value(for: option, as: Option.Value.self) ?? option.defaultValue
            }
        }
        set {
            if option.isSetByStack {
                openPassage.options.set(newValue, of: option)
            } else {
                settings.custom.set(newValue, of: option)
            }
        }
    }
}

extension TypedValues {
    fileprivate mutating func set<Option: RequestOption>(_ value: Option.Value, of option: Option.Type) {
        set(
            value,
            for: option,
            identity: option.comparison(of: value),
            affectsResponses: option.affectsResponses,
            isCredential: option.isCredential
        )
    }
}
