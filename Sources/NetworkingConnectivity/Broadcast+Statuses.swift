import NetworkingCore

extension Broadcast<ConnectivityStatus> {
    /// Creates a broadcast whose readers first receive the current status, and then the latest one.
    static func ofStatuses(from status: ConnectivityStatus? = nil) -> Broadcast {
        Broadcast(latest: status, repeatsLatest: true, buffering: .bufferingNewest(1))
    }

    /// Publishes a status, unless it is the same as before.
    func publishChange(to status: ConnectivityStatus) {
        publish(status) { $0 != status }
    }
}
