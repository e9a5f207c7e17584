#if !canImport(Network) && !canImport(Glibc)
import NetworkingCore

/// A substitute on platforms without network observation.
///
/// The device always counts as online there.
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
