import CLibraryForNetworking
import FoundationForNetworking
import NetworkingCore

/// The time between two starts of the machine.
///
/// Data that was written in the current session is available, even if the process that wrote it has crashed.
enum BootSession {
    /// The identifier of the session; `nil` if the system does not provide one.
    static let current: String? = {
        #if canImport(Darwin)
        var length = 0
        guard sysctlbyname("kern.bootsessionuuid", nil, &length, nil, 0) == 0, length > 1 else { return nil }
        var bytes = [UInt8](repeating: 0, count: length)
        guard sysctlbyname("kern.bootsessionuuid", &bytes, &length, nil, 0) == 0 else { return nil }
        return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        #else
        let id = try? PrivateFile.read("/proc/sys/kernel/random/boot_id", upTo: 64)
        return id.map { String(decoding: $0.filter { $0 > 32 }, as: UTF8.self) }
        #endif
    }()
}
