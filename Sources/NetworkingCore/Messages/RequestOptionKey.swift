/// A modifier, a transport, an interceptor, a signer or a listener that may read options of requests.
///
/// ``NetworkingComponent/diagnostics(for:)`` reports the options of a request that no part of a stack reads.
public protocol RequestOptionReader {
    /// The request options that the type reads.
    ///
    /// The default is none. A component that sends through another component, or a modifier with a second one, returns
    /// the options of that component too.
    var requestOptions: Set<RequestOptionKey> { get }
}

extension RequestOptionReader {
    /// No option.
    public var requestOptions: Set<RequestOptionKey> {
        []
    }
}

/// The identity of a request option, by which a ``RequestOptionReader`` declares the options that it reads.
///
/// ```swift
/// struct Metered: NetworkingModifier {
///     var requestOptions: Set<RequestOptionKey> {
///         [RequestOptionKey(Urgency.self), .priority]
///     }
/// }
/// ```
///
/// The options of the library's modifiers have constants. Options that the library reads without a modifier have none.
public struct RequestOptionKey: Sendable, Hashable, CustomStringConvertible {
    /// The name of the option.
    public let name: String
    private let option: ObjectIdentifier

    /// Creates the key of an option.
    ///
    /// - Parameter option: The type that declares the option.
    public init(_ option: any RequestOption.Type) {
        name = option.name
        self.option = ObjectIdentifier(option)
    }

    /// The name of the option.
    public var description: String {
        name
    }
}

extension RequestSettings {
    /// The options that the caller set and that have an effect only if a part of the stack reads them.
    var changedOptions: [RequestOptionKey] {
        custom.keys
            .compactMap { $0 as? any RequestOption.Type }
            .filter { !$0.isSetByStack && !($0 is any LibraryRequestOption.Type) }
            // Every transport follows a policy without retries.
            .filter { isResentByTransport || !($0 is any ResendingOption.Type) }
            .map { RequestOptionKey($0) }
    }
}
