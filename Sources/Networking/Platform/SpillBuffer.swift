#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Bytes that wait for their reader: in memory as long as they are few, else in a private file.
struct SpillBuffer: Sendable {
    /// The most bytes that wait in memory.
    private let longestInMemory: Int
    private var memory = Data()
    private var file: TemporaryFile?
    /// The part of the file that waits.
    private var waiting: Range<Int64> = 0..<0

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
        Int64(memory.count) + Int64(waiting.count)
    }

    /// Whether none wait.
    var isEmpty: Bool {
        memory.isEmpty && waiting.isEmpty
    }

    /// Makes room in memory for bytes that are announced.
    mutating func reserveCapacity(_ count: Int) {
        memory.reserveCapacity(count)
    }

    /// Adds bytes behind those that wait.
    mutating func append(_ data: Data) throws(FileFault) {
        // What is in the file comes after what is in memory, so later bytes follow it there.
        guard !waiting.isEmpty || memory.count + data.count > longestInMemory else {
            memory.append(data)
            return
        }
        let file: TemporaryFile
        if let open = self.file {
            file = open
        } else {
            file = try TemporaryFile()
        }
        self.file = file
        try file.write(data, at: waiting.upperBound)
        waiting = waiting.lowerBound..<waiting.upperBound + Int64(data.count)
    }

    /// Takes the bytes that have waited longest; empty when none wait.
    mutating func take() throws(FileFault) -> Data {
        if !memory.isEmpty {
            defer { memory = Data() }
            return memory
        }
        guard let file, !waiting.isEmpty else { return Data() }
        let data = try file.read(upTo: min(waiting.count, 256 << 10), at: waiting.lowerBound)
        waiting = waiting.lowerBound + Int64(data.count)..<waiting.upperBound
        if waiting.isEmpty {
            // The next that spill begin anew, so that the file is as long as the reader was ever behind.
            waiting = 0..<0
        }
        return data
    }

    /// Drops what waits, and its file.
    mutating func removeAll() {
        memory = Data()
        waiting = 0..<0
        file?.remove()
        file = nil
    }
}
