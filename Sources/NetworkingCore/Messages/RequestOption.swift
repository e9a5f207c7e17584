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
    /// Two requests with different identities are different requests to a cache or to deduplication. The default is
    /// `nil`, so that the option takes no part in comparisons.
    ///
    /// - Parameter value: The value that was set.
    /// - Returns: A value to compare, often the value itself, or `nil`.
    static func identity(of value: Value) -> (any Hashable & Sendable)?

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

extension RequestOption {
    /// Returns `nil`, so that the option takes no part in comparisons.
    public static func identity(of value: Value) -> (any Hashable & Sendable)? {
        nil
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
}

extension HTTPRequestData {
    /// The value of an option, or its default.
    ///
    /// - Parameter option: The type that declares the option.
    public subscript<Option: RequestOption>(option option: Option.Type) -> Option.Value {
        @inlinable get { box?.value.custom.value(for: option, as: Option.Value.self) ?? option.defaultValue }
        set {
            settings.custom.set(
                newValue,
                for: option,
                identity: option.identity(of: newValue).map { Identity($0) },
                isCredential: option.isCredential,
                isTemporary: option.isSetByStack
            )
        }
    }
}
