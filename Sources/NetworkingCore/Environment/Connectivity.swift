/// A source of the current connectivity of the device, and of its changes.
///
/// `SystemConnectivity` asks the operating system, and `ManualConnectivity` is for tests and previews. A stack reads
/// the one in ``NetworkEnvironment/connectivity``.
public protocol Connectivity: Sendable {
    /// The current status; `nil` until the first one is known.
    var status: ConnectivityStatus? { get }

    /// The current status as soon as it is known, and then each change.
    ///
    /// Each access starts a new sequence. If a reader is slow, it skips to the newest status.
    var changes: AsyncStream<ConnectivityStatus> { get }
}

/// The networks that a device can use at a moment.
public struct ConnectivityStatus: Sendable, Hashable {
    /// The kind of a network interface.
    @nonexhaustive
    public enum Interface: String, Sendable, Hashable, CaseIterable {
        /// Wi-Fi.
        case wifi
        /// A mobile network.
        case cellular
        /// A cable.
        case wired
        /// The loopback interface.
        case loopback
        /// Any other interface, such as a tunnel.
        case other
    }

    /// Whether requests to other machines can be sent.
    ///
    /// It means that there is a route, and not that a server can be reached. Requests to the loopback address need no
    /// network.
    public var isSatisfied: Bool

    /// The kinds of the interfaces with a route.
    ///
    /// The first is in use.
    public var interfaces: [Interface]

    /// Whether the network is expensive, such as a mobile network or a personal hotspot.
    public var isExpensive: Bool

    /// Whether the user asks apps to use little data on this network (Low Data Mode).
    ///
    /// Always `false` outside of Apple's platforms.
    public var isConstrained: Bool

    /// Creates a status.
    ///
    /// - Parameters:
    ///   - isSatisfied: Whether requests to other machines can be sent.
    ///   - interfaces: The kinds of the interfaces with a route. The first is in use.
    ///   - isExpensive: Whether the network is expensive.
    ///   - isConstrained: Whether the user asks apps to use little data on this network.
    public init(
        isSatisfied: Bool,
        interfaces: [Interface] = [],
        isExpensive: Bool = false,
        isConstrained: Bool = false
    ) {
        self.isSatisfied = isSatisfied
        self.interfaces = interfaces
        self.isExpensive = isExpensive
        self.isConstrained = isConstrained
    }

    /// No network.
    public static let offline = ConnectivityStatus(isSatisfied: false)

    /// A network over Wi-Fi.
    public static let wifi = ConnectivityStatus(isSatisfied: true, interfaces: [.wifi])

    /// A mobile network, which is expensive.
    public static let cellular = ConnectivityStatus(isSatisfied: true, interfaces: [.cellular], isExpensive: true)
}

extension ConnectivityStatus: CustomStringConvertible {
    /// The status in a few words: `online over wifi, expensive`.
    public var description: String {
        guard isSatisfied else { return "offline" }
        let kinds = interfaces.map(\.rawValue).joined(separator: " and ")
        return "online" + (kinds.isEmpty ? "" : " over \(kinds)") + (isExpensive ? ", expensive" : "")
            + (isConstrained ? ", constrained" : "")
    }
}

extension Connectivity {
    /// Whether the device has a network; `false` until the first status is known.
    public var isOnline: Bool {
        status?.isSatisfied ?? false
    }

    /// Waits for a status that fulfils a condition, and returns it.
    ///
    /// - Parameter condition: Returns whether the wait is over.
    /// - Returns: The status; `nil` if the sequence of changes ends without such a status.
    /// - Throws: `CancellationError` if the caller is cancelled.
    package func firstStatus(
        where condition: @Sendable (ConnectivityStatus) -> Bool
    ) async throws -> ConnectivityStatus? {
        for await status in changes where condition(status) {
            return status
        }
        try Task.checkCancellation()
        return nil
    }
}

extension NetworkEnvironment {
    /// The connectivity of the device; `nil` if none was set.
    ///
    /// `whenOffline` and `retry` read it. If none was set, `whenOffline` creates a `SystemConnectivity` for its stack
    /// and sets it for everything upstream.
    public var connectivity: (any Connectivity)? {
        get { self[ConnectivityKey.self] }
        set { self[ConnectivityKey.self] = newValue }
    }

    private enum ConnectivityKey: NetworkEnvironmentKey {
        static let defaultValue: (any Connectivity)? = nil
        static let affectsResponses = false
    }
}
