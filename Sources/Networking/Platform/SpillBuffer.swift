#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Bytes that wait for their reader: in memory as long as they are few, else in private files.
///
/// There are two files: one is read to its end while the other is written, and then they change places. So they are as long
/// as the reader was ever behind, and not as long as all that has passed.
struct SpillBuffer: Sendable {
    /// The most bytes that wait in memory.
    let longestInMemory: Int
    private var memory = Data()
    private var read = Part()
    private var written = Part()

    private struct Part: Sendable {
        var file: TemporaryFile?
        /// What waits in the file.
        var waiting: Range<Int64> = 0..<0
    }

    /// Creates an empty buffer.
    init(inMemoryUpTo longestInMemory: Int = .max) {
        self.longestInMemory = longestInMemory
    }

    /// Whether bytes may wait in a file.
    var spills: Bool {
        longestInMemory < .max
    }

    /// How many bytes wait.
    var count: Int64 {
        Int64(memory.count) + Int64(read.waiting.count) + Int64(written.waiting.count)
    }

    /// Whether none wait.
    var isEmpty: Bool {
        memory.isEmpty && read.waiting.isEmpty && written.waiting.isEmpty
    }

    /// The files that there are.
    var files: [TemporaryFile] {
        [read.file, written.file].compactMap { $0 }
    }

    /// Makes room in memory for bytes that are announced.
    mutating func reserveCapacity(_ count: Int) {
        memory.reserveCapacity(count)
    }

    /// Adds bytes behind those that wait.
    mutating func append(_ data: Data) throws(FileFault) {
        // What is in the files comes after what is in memory, so later bytes follow it there.
        let isInFiles = !read.waiting.isEmpty || !written.waiting.isEmpty
        guard isInFiles || memory.count + data.count > longestInMemory else {
            memory.append(data)
            return
        }
        let file: TemporaryFile
        if let open = written.file {
            file = open
        } else {
            file = try TemporaryFile()
        }
        written.file = file
        try file.write(data, at: written.waiting.upperBound)
        written.waiting = written.waiting.lowerBound..<written.waiting.upperBound + Int64(data.count)
    }

    /// Takes the bytes that have waited longest; empty when none wait.
    mutating func take() throws(FileFault) -> Data {
        if !memory.isEmpty {
            defer { memory = Data() }
            return memory
        }
        if read.waiting.isEmpty {
            read.waiting = 0..<0
            swap(&read, &written)
        }
        guard let file = read.file, !read.waiting.isEmpty else { return Data() }
        let data = try file.read(upTo: min(read.waiting.count, 256 << 10), at: read.waiting.lowerBound)
        read.waiting = read.waiting.lowerBound + Int64(data.count)..<read.waiting.upperBound
        return data
    }

    /// Drops what waits, and its files.
    mutating func removeAll() {
        memory = Data()
        for file in files {
            file.remove()
        }
        (read, written) = (Part(), Part())
    }
}
