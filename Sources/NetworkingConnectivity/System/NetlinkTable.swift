import NetworkingCore

/// The interfaces and default routes of a machine, from the lists of the kernel.
struct NetlinkTable {
    /// The maximum number of interfaces and of default routes that are kept.
    private static let (maximumLinks, maximumRoutes) = (16_384, 1_024)

    private var links: [Int32: NetlinkLink] = [:]
    private var routes: [NetlinkRoute] = []

    mutating func add(_ message: NetlinkMessage) {
        switch message {
        case .link(let link):
            guard links.count < Self.maximumLinks || links[link.index] != nil else { return }
            links[link.index] = link
        case .route(let route):
            guard route.isDefault, route.isUnicast, !route.isDead, routes.count < Self.maximumRoutes else { return }
            routes.append(route)
        default:
            break
        }
    }

    /// Returns whether a message may change the status, so that the lists have to be read again.
    ///
    /// A router with the routes of the whole internet changes thousands of them a minute, and none is a default route.
    static func isOfInterest(_ message: NetlinkMessage) -> Bool {
        switch message {
        case .link, .linkRemoved, .overrun: true
        case .route(let route), .routeRemoved(let route): route.isDefault
        case .done, .failure, .other: false
        }
    }

    /// Returns the status of these interfaces and routes.
    ///
    /// - Parameter deviceType: Returns the type that the system gives to the device of an interface, such as `wlan`.
    /// - Returns: The status.
    func status(deviceType: (_ interface: String) -> String?) -> ConnectivityStatus {
        var kinds: [ConnectivityStatus.Interface] = []
        let sorted = routes.enumerated()
            .sorted { ($0.element.metric, $0.offset) < ($1.element.metric, $1.offset) }
        var isSatisfied = false
        for index in sorted.flatMap(\.element.interfaces) {
            guard let link = links[index], link.isRunning, !link.isLoopback else { continue }
            isSatisfied = true
            let kind = link.kind(deviceType: deviceType(link.name))
            if !kinds.contains(kind) {
                kinds.append(kind)
            }
        }
        return ConnectivityStatus(
            isSatisfied: isSatisfied,
            interfaces: kinds,
            isExpensive: kinds.first == .cellular
        )
    }
}

extension NetlinkLink {
    fileprivate func kind(deviceType: String?) -> ConnectivityStatus.Interface {
        switch (type, deviceType) {
        case (_, "wlan"): .wifi
        case (_, "wwan"), (Self.rawIP, _), (Self.pointToPoint, _): .cellular
        case (Self.ethernet, _): .wired
        default: .other
        }
    }
}
