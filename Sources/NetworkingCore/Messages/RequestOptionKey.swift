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
    private enum Identity: Sendable, Hashable {
        case name
        case type(ObjectIdentifier)
    }

    /// The name of the option.
    public let name: String
    private let identity: Identity

    /// Creates the key of an option that is declared as a type.
    ///
    /// - Parameter option: The type that declares the option.
    public init(_ option: any RequestOption.Type) {
        name = option.name
        identity = .type(ObjectIdentifier(option))
    }

    /// Creates the key of an option that is a field of `RequestSettings`.
    private init(_ name: String) {
        self.name = name
        identity = .name
    }

    /// The name of the option.
    public var description: String {
        name
    }
}

extension RequestOptionKey {
    /// ``HTTPRequestData/timeout``.
    public static let timeout = RequestOptionKey("timeout")
    /// ``HTTPRequestData/idleTimeout``.
    public static let idleTimeout = RequestOptionKey("idleTimeout")
    /// ``HTTPRequestData/deadline``.
    public static let deadline = RequestOptionKey("deadline")
    /// ``HTTPRequestData/priority``.
    public static let priority = RequestOptionKey("priority")
    /// ``HTTPRequestData/isThrottled``.
    public static let isThrottled = RequestOptionKey("isThrottled")
    /// ``HTTPRequestData/authenticationMethod``.
    public static let authenticationMethod = RequestOptionKey("authenticationMethod")
    /// ``HTTPRequestData/route``.
    public static let route = RequestOptionKey("route")
}

extension RequestSettings {
    /// The options that differ from their defaults, without options that the core itself reads.
    var changedOptions: [RequestOptionKey] {
        let fields: [(RequestOptionKey, Bool)] = [
            (.timeout, timeout != nil),
            (.idleTimeout, idleTimeout != nil),
            (.deadline, deadline != nil),
            (.priority, priority != .normal),
            (.isThrottled, !isThrottled),
            (.authenticationMethod, authenticationMethod != nil),
            (.route, route != nil),
        ]
        return fields.filter(\.1).map(\.0)
            + custom.keys.filter { !($0 is any LibraryRequestOption.Type) }
            // Every transport follows a policy without retries.
            .filter { isResentByTransport || !($0 is any ResendingOption.Type) }
            .compactMap { ($0 as? any RequestOption.Type).map { RequestOptionKey($0) } }
    }
}
