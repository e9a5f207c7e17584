import FoundationForNetworking
import NetworkingCore

/// The bytes of a resumable upload, which are read from any offset.
struct UploadSource: Sendable {
    /// The number of bytes at the start and at the end of a file that identify it.
    private static let identifyingCount: Int64 = 64 << 10

    private enum Bytes: Sendable {
        case data(Data)
        case file(String, FileSnapshot)
    }

    /// What identifies the bytes after a relaunch.
    struct Identity: Codable, Equatable {
        let length: Int64
        /// The time of the last modification; `nil` for bytes in memory.
        let modification: String?
        /// A digest of the bytes at the start and at the end of a file, or of all bytes in memory.
        let digest: String
    }

    private let bytes: Bytes
    let length: Int64
    let identity: Identity

    /// Opens a body.
    ///
    /// - Parameters:
    ///   - body: The body.
    ///   - isIdentified: Whether its bytes are compared with those of an earlier call.
    /// - Returns: The source; `nil` if the body cannot be read from any offset.
    /// - Throws: `RequestBody.Failure` if its file cannot be read, or `CancellationError`.
    static func open(_ body: RequestBody, isIdentified: Bool) async throws -> UploadSource? {
        if let data = body.data {
            guard isIdentified else { return UploadSource(data, isIdentified: false) }
            return try await DiskQueue.run(until: nil) { UploadSource(data, isIdentified: true) }
        }
        guard let path = body.fileURL?.path else { return nil }
        return try await DiskQueue.run(until: nil) { try UploadSource(path) }
    }

    private init(_ data: Data, isIdentified: Bool) {
        bytes = .data(data)
        length = Int64(data.count)
        // Bytes in memory have no time of a change, so all of them count.
        var digest = ""
        for start in stride(from: 0, to: isIdentified ? data.count : 0, by: Int(Self.identifyingCount)) {
            let block = data.dropFirst(start).prefix(Int(Self.identifyingCount))
            digest = StableDigest.hex(of: [digest, block.base64EncodedString()])
        }
        identity = Identity(length: length, modification: nil, digest: digest)
    }

    private init(_ path: String) throws {
        do {
            let file = try OpenFile(reading: path)
            let snapshot = try file.snapshot()
            let count = Int(min(Self.identifyingCount, snapshot.size))
            let start = try file.read(upTo: count, at: 0)
            let end = try file.read(upTo: count, at: snapshot.size - Int64(count))
            bytes = .file(path, snapshot)
            length = snapshot.size
            identity = Identity(
                length: length,
                modification: snapshot.modification,
                digest: Self.digest(start, end)
            )
        } catch {
            throw RequestBody.Failure(error)
        }
    }

    private static func digest(_ start: Data, _ end: Data) -> String {
        StableDigest.hex(of: [start.base64EncodedString(), end.base64EncodedString()])
    }

    /// Returns the bytes of one request.
    func slice(_ range: Range<Int64>, contentType: String) -> RequestBody {
        switch bytes {
        case .data(let data):
            let start = data.startIndex + Int(range.lowerBound)
            return .data(Data(data[start..<start + Int(range.byteCount)]), contentType: contentType)
        case .file(let path, let snapshot):
            return RequestBody(FileSlice(path: path, snapshot: snapshot, range: range), contentType: contentType)
        }
    }

    /// Returns the digest of some bytes.
    func digest(of range: Range<Int64>, _ function: any ChecksumFunction) async throws -> Data {
        var function = function
        for try await chunk in slice(range, contentType: "application/octet-stream").chunks {
            function.update(chunk)
        }
        return function.finish()
    }
}

/// A part of a file as a body.
private struct FileSlice: BodySource {
    let path: String
    /// The state of the file when the upload started.
    let snapshot: FileSnapshot
    let range: Range<Int64>

    var length: Int64? { range.byteCount }
    var isOnDisk: Bool { true }
    var isReplayable: Bool { true }
    var identity: String? { "\(path) \(range)" }

    func open() async throws -> any BodyReader {
        try await DiskQueue.run(until: nil) { try reader() }
    }

    func openNow() throws -> (any BodyReaderNow)? {
        try reader()
    }

    private func reader() throws -> FileSliceReader {
        do {
            let file = try OpenFile(reading: path)
            guard try file.snapshot() == snapshot else { throw RequestBody.Failure.changed(path) }
            return FileSliceReader(file: file, path: path, snapshot: snapshot, range: range)
        } catch let fault as FileFault {
            throw RequestBody.Failure(fault)
        }
    }
}

private struct FileSliceReader: DiskReader {
    private static let chunkSize: Int64 = 128 << 10

    let file: OpenFile
    let path: String
    let snapshot: FileSnapshot
    /// The bytes that were not read yet.
    var range: Range<Int64>

    mutating func nextNow() throws -> Data? {
        guard !range.isEmpty else { return nil }
        do {
            let data = try file.read(upTo: Int(min(Self.chunkSize, range.byteCount)), at: range.lowerBound)
            range = range.lowerBound + Int64(data.count)..<range.upperBound
            // Checked at the end as well, because the last bytes must belong to the same version.
            if data.isEmpty || range.isEmpty {
                guard try !data.isEmpty && file.snapshot() == snapshot else { throw RequestBody.Failure.changed(path) }
            }
            return data
        } catch let fault as FileFault {
            throw RequestBody.Failure(fault)
        }
    }
}

extension Range<Int64> {
    /// The number of bytes; `count` would trap beyond 2 GiB where `Int` has 32 bits.
    fileprivate var byteCount: Int64 {
        upperBound - lowerBound
    }
}
