#if os(Linux)
import Foundation

/// The allocated memory and the open descriptors of this process.
///
/// Resident memory would depend on how full the pages are.
struct Footprint {
    let memory: Int
    let descriptors: Int

    init() {
        memory = Self.allocated()
        descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
    }

    /// The number of bytes that malloc has allocated, according to malloc_info(3).
    ///
    /// Swift's Glibc module lacks its header.
    private static func allocated() -> Int {
        typealias MallocInfo = @convention(c) (CInt, UnsafeMutablePointer<FILE>) -> CInt
        let path = FileManager.default.temporaryDirectory.appending(path: "heap-\(UUID()).xml").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        guard let symbol = dlsym(nil, "malloc_info"), let file = fopen(path, "w") else { return 0 }
        _ = unsafeBitCast(symbol, to: MallocInfo.self)(0, file)
        fclose(file)
        // The totals are the last elements: <total type="fast" count="89" size="7664"/>, "rest", "mmap", <system
        // type="current" …/>.
        let lines = ((try? String(contentsOfFile: path, encoding: .utf8)) ?? "").split(separator: "\n").suffix(9)
        func size(_ kind: String) -> Int {
            lines.first { $0.contains("\"\(kind)\"") }?.split(separator: "\"").last { Int($0) != nil }
                .flatMap { Int($0) } ?? 0
        }
        return size("current") + size("mmap") - size("fast") - size("rest")
    }
}
#endif
