#if !canImport(Network) && !canImport(Glibc)
import NetworkingCore

/// A substitute on platforms whose networks the library does not observe; the device counts as online there.
final class SystemMonitor: Sendable {
    init(
        onStatus: @escaping @Sendable (ConnectivityStatus) -> Void,
        onSilence: @escaping @Sendable () -> Void
    ) {
        onSilence()
    }

    func stop() {}
}
#endif
