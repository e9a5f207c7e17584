package import FoundationForNetworking

/// A source of the bytes of a body that is not in memory.
package protocol BodySource: Sendable {
    /// The number of bytes, if it is known in advance.
    var length: Int64? { get }
    /// Whether reading ``length`` and opening the source may wait for the disk.
    var isOnDisk: Bool { get }
    /// Whether the source can be read more than once.
    var isReplayable: Bool { get }
    /// A value that is the same for equal sources; `nil` if the source equals no other source.
    var identity: String? { get }

    /// Opens the source for reading from its beginning.
    func open() async throws -> any BodyReader

    /// Opens the source for reading without suspension; returns `nil` if its bytes may arrive later.
    func openNow() throws -> (any BodyReaderNow)?
}

extension BodySource {
    package var isOnDisk: Bool {
        false
    }

    package func openNow() throws -> (any BodyReaderNow)? {
        nil
    }
}

/// A single pass over a body, from start to end.
package protocol BodyReader {
    /// Returns the next bytes, never empty; `nil` after the last.
    mutating func next() async throws -> Data?
}

/// A single pass over a body that never suspends, because it reads from memory or from disk.
package protocol BodyReaderNow: BodyReader {
    /// Returns the next bytes, never empty; `nil` after the last.
    mutating func nextNow() throws -> Data?
}

extension BodyReaderNow {
    package mutating func next() async throws -> Data? {
        try nextNow()
    }
}

/// A single pass over a body on disk.
///
/// A task does not wait for the disk on its own thread: it would block the threads on which all tasks run.
package protocol DiskReader: BodyReaderNow, Sendable {}

extension DiskReader {
    package mutating func next() async throws -> Data? {
        let current = self
        let (reader, chunk) = try await DiskQueue.run(until: nil) {
            var reader = current
            let chunk = try reader.nextNow()
            return (reader, chunk)
        }
        self = reader
        return chunk
    }
}

/// A reader of bytes in memory.
struct DataReader: BodyReaderNow {
    private var data: Data?

    init(_ data: Data) {
        self.data = data.isEmpty ? nil : data
    }

    mutating func nextNow() -> Data? {
        defer { data = nil }
        return data
    }
}

/// A body source that reads a file when the body is sent.
struct FileBody: BodySource {
    let path: String

    var length: Int64? {
        try? FileSnapshot(of: path).size
    }

    var isOnDisk: Bool {
        true
    }

    var isReplayable: Bool {
        true
    }

    var identity: String? {
        path
    }

    func open() async throws -> any BodyReader {
        try await DiskQueue.run(until: nil) { try reader() }
    }

    func openNow() throws -> (any BodyReaderNow)? {
        try reader()
    }

    private func reader() throws -> FileReader {
        do {
            return try FileReader(OpenFile(reading: path))
        } catch let fault as FileFault {
            throw RequestBody.Failure(fault)
        }
    }
}

private struct FileReader: DiskReader {
    private static let chunkSize: Int64 = 128 << 10

    private let file: OpenFile
    private let snapshot: FileSnapshot
    private var position: Int64 = 0

    init(_ file: OpenFile) throws {
        self.file = file
        snapshot = try file.snapshot()
    }

    mutating func nextNow() throws -> Data? {
        do {
            let data = try file.read(upTo: Int(min(Self.chunkSize, max(1, snapshot.size - position))))
            position += Int64(data.count)
            if data.isEmpty || position >= snapshot.size {
                guard try position == snapshot.size && file.snapshot() == snapshot else {
                    throw RequestBody.Failure.changed(file.path)
                }
            }
            return data.isEmpty ? nil : data
        } catch let fault as FileFault {
            throw RequestBody.Failure(fault)
        }
    }
}

extension RequestBody.Failure {
    package init(_ fault: FileFault) {
        self.init(.storage, reason: fault.reason)
    }

    /// Returns the failure for a file that has changed while it was read.
    ///
    /// - Parameter path: The file; `nil` for a file in a multipart body.
    /// - Returns: The failure.
    package static func changed(_ path: String?) -> RequestBody.Failure {
        let name = path.map { "The file \(PrintableText.singleLine($0))" } ?? "A file among the parts"
        return RequestBody.Failure(
            .storage,
            reason:
                "\(name) changed while it was being sent, so the server may have received a mix of both versions. Send "
                + "a copy that does not change."
        )
    }
}
