public import NetworkingCore
import Synchronization

/// The connectivity that the operating system reports.
///
/// On Apple's platforms it comes from `NWPathMonitor`. On Linux it comes from the kernel (netlink): the device is
/// online if an interface that is up has a default route. A machine that reaches only its local network counts as
/// offline there.
///
/// Observing starts at the first use, and ends when the object and the readers of its ``changes`` are released. Share
/// one object between stacks with `environment(\.connectivity, connectivity)`. The device counts as online if the
/// system does not report its networks, such as in a sandbox that forbids it, and on other platforms.
public final class SystemConnectivity: Connectivity {
    private let statuses = Broadcast.ofStatuses()
    private let monitor = Mutex<SystemMonitor?>(nil)

    /// Creates a connectivity, which starts to observe when it is first used.
    public init() {}

    deinit {
        monitor.withLock { $0?.stop() }
    }

    /// The current status; `nil` until the system has reported the first one, a few milliseconds after the first use.
    public var status: ConnectivityStatus? {
        if let status = statuses.latest { return status }
        start()
        return statuses.latest
    }

    /// The current status as soon as the system has reported it, and then each change.
    public var changes: AsyncStream<ConnectivityStatus> {
        start()
        return statuses.elements(retaining: self)
    }

    private func start() {
        monitor.withLock { monitor in
            guard monitor == nil else { return }
            monitor = SystemMonitor { [statuses] status in
                statuses.publishChange(to: status)
            } onSilence: { [statuses] in
                statuses.publish(.assumed) { $0 == nil }
            }
        }
    }
}

extension ConnectivityStatus {
    /// The status if the system does not report one.
    static let assumed = ConnectivityStatus(isSatisfied: true)
}
