#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A file of this process alone, which is removed with the last reference to it.
final class TemporaryFile: Sendable {
    let url: URL
    private let file: OpenFile

    /// Creates an empty file in the system's directory for temporary ones.
    init() throws(FileFault) {
        url = FileManager.default.temporaryDirectory.appending(path: "networking-\(UUID().uuidString)")
        file = try OpenFile(creating: url.path)
    }

    deinit {
        remove()
    }

    /// Removes it now; whoever has it open may go on reading.
    func remove() {
        try? FileManager.default.removeItem(at: url)
    }

    func write(_ data: Data, at position: Int64? = nil) throws(FileFault) {
        try file.write(data, at: position)
    }

    func read(upTo count: Int, at position: Int64) throws(FileFault) -> Data {
        try file.read(upTo: count, at: position)
    }
}
