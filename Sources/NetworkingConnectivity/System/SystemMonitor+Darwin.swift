#if canImport(Network)
import Dispatch
import Network
import NetworkingCore

/// An observer of the networks of the system, through `NWPathMonitor`.
final class SystemMonitor: Sendable {
    private let monitor = NWPathMonitor()

    /// Starts to observe.
    ///
    /// - Parameters:
    ///   - onStatus: Receives each status, on a queue of the monitor.
    ///   - onSilence: Not called, because `NWPathMonitor` always reports a first status.
    init(
        onStatus: @escaping @Sendable (ConnectivityStatus) -> Void,
        onSilence: @escaping @Sendable () -> Void
    ) {
        monitor.pathUpdateHandler = { path in
            onStatus(ConnectivityStatus(path))
        }
        monitor.start(queue: DispatchQueue(label: "Networking.SystemMonitor"))
    }

    func stop() {
        monitor.cancel()
    }
}

extension ConnectivityStatus {
    fileprivate init(_ path: NWPath) {
        var kinds: [Interface] = []
        for interface in path.availableInterfaces {
            let kind: Interface =
                switch interface.type {
                case .wifi: .wifi
                case .cellular: .cellular
                case .wiredEthernet: .wired
                case .loopback: .loopback
                default: .other
                }
            if path.usesInterfaceType(interface.type), !kinds.contains(kind) {
                kinds.append(kind)
            }
        }
        self.init(
            // A path that requires a connection, such as a VPN on demand, gets it when a request is sent.
            isSatisfied: path.status != .unsatisfied,
            interfaces: kinds,
            isExpensive: path.isExpensive,
            isConstrained: path.isConstrained
        )
    }
}
#endif
