import FoundationForNetworking
import NetworkingCore

/// A file that belongs to this process and is removed with the last reference to it.
///
/// Unless the file keeps its name, the name is removed as soon as the file is open. The system then deletes the file
/// when the process ends, even after a crash.
final class TemporaryFile: Sendable {
    /// The path at which the file was created.
    let path: String
    private let file: OpenFile
    private let isNamed: Bool

    /// Creates an empty file in the system's temporary directory.
    ///
    /// - Parameter keepsName: Whether the file will also be opened by its path.
    /// - Throws: The system's error for the file.
    init(keepsName: Bool = false) throws(FileFault) {
        path = FileManager.default.temporaryDirectory.appending(path: "networking-\(UUID().uuidString)").path
        file = try OpenFile(creating: path)
        guard !keepsName else {
            isNamed = true
            return
        }
        do {
            try FileManager.default.removeItem(atPath: path)
            isNamed = false
        } catch {
            // This file system cannot remove the name of an open file.
            isNamed = true
        }
    }

    deinit {
        remove()
    }

    /// Removes the name of the file now.
    ///
    /// Code that has the file open can continue to read it.
    func remove() {
        guard isNamed else { return }
        try? FileManager.default.removeItem(atPath: path)
    }

    func write(_ data: Data, at position: Int64? = nil) throws(FileFault) {
        try file.write(data, at: position)
    }

    func read(upTo count: Int, at position: Int64) throws(FileFault) -> Data {
        try file.read(upTo: count, at: position)
    }

    /// The number of bytes in the file.
    var size: Int64 {
        get throws(FileFault) { try file.snapshot().size }
    }
}
