#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// Where the bytes of a body come from that are not in memory.
package protocol BodySource: Sendable {
    /// How many bytes it brings, if that is known before.
    var length: Int64? { get }
    /// Whether it can be read more than once.
    var isReplayable: Bool { get }
    /// What makes it equal to another source; nil when nothing does.
    var identity: String? { get }

    /// Begins to read it from its start.
    func open() async throws -> any BodyReader

    /// Begins to read it from its start without ever having to wait; nil when that cannot be.
    func openNow() throws -> (any BodyReaderNow)?
}

extension BodySource {
    func openNow() throws -> (any BodyReaderNow)? {
        nil
    }
}

/// One reading of a body, from start to end.
package protocol BodyReader {
    /// Brings the next bytes, never empty ones; nil after the last.
    mutating func next() async throws -> Data?
}

/// One reading of a body that never has to wait: from memory or from disk.
package protocol BodyReaderNow: BodyReader {
    /// Brings the next bytes, never empty ones; nil after the last.
    mutating func nextNow() throws -> Data?
}

extension BodyReaderNow {
    mutating func next() async throws -> Data? {
        try nextNow()
    }
}

/// Bytes that are in memory.
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

/// The bytes of a file as it is when it is read.
struct FileBody: BodySource {
    let path: String

    var length: Int64? {
        try? FileSnapshot(of: path).size
    }

    var isReplayable: Bool {
        true
    }

    var identity: String? {
        path
    }

    func open() throws -> any BodyReader {
        try reader()
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

private struct FileReader: BodyReaderNow {
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

    /// The failure of a file that is not the same at the end as it was at the beginning.
    ///
    /// - Parameter path: The file; nil for one among the parts.
    /// - Returns: The failure.
    package static func changed(_ path: String?) -> RequestBody.Failure {
        let name = path.map { "The file \(PrintableText.singleLine($0))" } ?? "A file among the parts"
        return RequestBody.Failure(
            .storage,
            reason:
                "\(name) changed while it was sent, so that what arrived may be neither version. Send a copy that nobody "
                + "writes to."
        )
    }
}
