public import FoundationForNetworking
public import NetworkingCore
import Synchronization

/// The state of an upload that has not completed, as its state file describes it.
///
/// The next upload of the same file to the same request resumes from it.
///
/// ```swift
/// if let kept = try UploadState(of: film) {
///     label.text = "\(kept.byteCount) of \(kept.expectedByteCount) bytes are uploaded already"
/// }
/// ```
public struct UploadState: Sendable, Hashable {
    /// The number of bytes that the server has confirmed; it may have received more.
    public let byteCount: Int64

    /// The size of the file, in bytes.
    public let expectedByteCount: Int64

    /// The moment at which the server removes the bytes; `nil` if it did not say.
    public let expires: Date?

    private let path: String

    /// Reads the state beside a file; `nil` if there is nothing to resume from.
    ///
    /// - Parameter file: The file that is uploaded.
    /// - Throws: An ``UploadStateError`` if the state cannot be read.
    public init?(of file: URL) throws {
        try self.init(path: UploadStore.path(of: file.path))
    }

    /// Reads a state file; `nil` if there is nothing to resume from.
    ///
    /// - Parameter stateFile: The file of ``UploadOptions/stateFile``.
    /// - Throws: An ``UploadStateError`` if the state cannot be read.
    public init?(at stateFile: URL) throws {
        try self.init(path: stateFile.path)
    }

    private init?(path: String) throws {
        guard let record = try UploadRecord.read(path) else { return nil }
        byteCount = record.offset
        expectedByteCount = record.file.length
        expires = record.expires.map { Date(timeIntervalSince1970: Double($0)) }
        self.path = path
    }

    /// The fraction of the file that the server has confirmed, from 0 to 1.
    public var fractionCompleted: Double {
        BytesSent(count: byteCount, expected: expectedByteCount).fractionCompleted ?? 0
    }

    /// Removes the state, so that the next upload restarts.
    ///
    /// The server keeps its bytes until they expire. `cancelUpload` removes them too.
    ///
    /// - Throws: An ``UploadStateError`` if an upload is using the state, or if it cannot be removed.
    public func discard() throws {
        try Self.discard(path: path)
    }

    /// Removes the state beside a file, even if it is damaged; does nothing if there is none.
    ///
    /// - Parameter file: The file that is uploaded.
    /// - Throws: An ``UploadStateError`` if an upload is using the state, or if it cannot be removed.
    public static func discard(of file: URL) throws {
        try discard(path: UploadStore.path(of: file.path))
    }

    private static func discard(path: String) throws {
        do {
            guard try PrivateFile.isTaken(path) else { return }
            let lock = try UploadStore.lock(path)
            defer { UploadStore.unlock(lock, path) }
            try UploadRecord.remove(path)
        } catch let fault as FileFault {
            throw UploadStateError(reason: fault.reason)
        }
    }
}

/// The reason why the state of an upload could not be read, written or removed.
public struct UploadStateError: Error, LocalizedError, ErrorWithUserText, CustomStringConvertible {
    /// The problem, and how to solve it.
    public let reason: String

    /// The ``reason``.
    public var description: String {
        reason
    }

    package var userText: UserText {
        NetworkingError.Kind.storage.text
    }
}

/// The content of a state file.
struct UploadRecord: Codable, Equatable, Sendable {
    private static let currentVersion = 1
    /// A record has at most a few kilobytes; a longer file is not a record.
    private static let maximumSize = 64 << 10
    /// The end of the year 9999, in seconds since 1970.
    private static let latestExpiry: Int64 = 253_402_300_799

    private var version = currentVersion
    /// A digest that identifies the request, because its URL may contain a secret.
    let resource: String
    let file: UploadSource.Identity
    let dialect: UploadMachine.Dialect
    /// The URL of the upload.
    ///
    /// A program that knows it may continue or cancel the upload, so only this user may read the file. Whether it may
    /// be used is decided for each request: the file may have been changed, and the request may have another origin.
    let url: String
    var offset: Int64
    /// The moment at which the server removes the bytes, in seconds since 1970.
    var expires: Int64?
    /// Whether a request was sent that completes the upload.
    var hasSentAll: Bool
    /// The checksum function of a tus server.
    var checksum: String?

    init(
        resource: String,
        file: UploadSource.Identity,
        dialect: UploadMachine.Dialect,
        place: UploadPlace,
        of machine: UploadMachine
    ) {
        self.resource = resource
        self.file = file
        self.dialect = dialect
        url = place.url
        offset = machine.offset
        expires = machine.expires.map { Int64(min(max(0, $0.timeIntervalSince1970), Double(Self.latestExpiry))) }
        hasSentAll = machine.hasSentAll
        checksum = machine.checksum
    }

    /// Reads a state file; `nil` if there is none.
    static func read(_ path: String) throws -> UploadRecord? {
        let data: Data
        do {
            data = try PrivateFile.read(path, upTo: maximumSize)
        } catch  where error.isAbsence {
            return nil
        } catch {
            throw UploadStateError(reason: error.reason)
        }
        // An empty record was written shortly before the machine stopped.
        guard !data.isEmpty else { return nil }
        let format = try? JSONDecoder().decode(Format.self, from: data)
        if let version = format?.version, version != currentVersion {
            throw UploadStateError(
                reason:
                    "The state of an upload, \(PrintableText.singleLine(path)), was written by another version of this "
                    + "library (format \(version), this one reads \(currentVersion)). \(wayOut)"
            )
        }
        guard let record = try? JSONDecoder().decode(UploadRecord.self, from: data), record.isPlausible else {
            throw UploadStateError(
                reason: "The state of an upload, \(PrintableText.singleLine(path)), is damaged. \(wayOut)"
            )
        }
        return record
    }

    private static let wayOut = "Remove the file to start the upload over."

    func write(_ path: String, isDurable: Bool) throws(FileFault) {
        // The record contains only strings and numbers, so encoding cannot fail.
        guard let data = try? JSONEncoder().encode(self) else { return }
        try PrivateFile.replace(path, with: data, isDurable: isDurable, via: "\(path).new")
    }

    static func remove(_ path: String) throws(FileFault) {
        try PrivateFile.remove("\(path).new")
        try PrivateFile.remove(path)
    }

    private var isPlausible: Bool {
        !url.isEmpty && file.length >= 0 && 0...file.length ~= offset
            && expires.map { (0...Self.latestExpiry).contains($0) } ?? true
    }

    private struct Format: Decodable {
        let version: Int
    }
}

/// The state of one upload, in a file or only in memory.
final class UploadStore: Sendable {
    /// The state file; `nil` if the state is kept in memory.
    let path: String?
    private let kept = Mutex<UploadRecord?>(nil)
    private let held = Mutex<OpenFile?>(nil)
    /// The order of the changes, so that the lock is released after a write that no caller waits for any more.
    private let disk = DiskQueue()

    init(path: String?) {
        self.path = path
    }

    /// Returns the path of the state file for a file.
    static func path(of file: String) -> String {
        let suffix = ".upload-state"
        let name = file[
            (file.utf8.lastIndex(of: UInt8(ascii: "/")).map { file.utf8.index(after: $0) } ?? file.startIndex)...
        ]
        // Leaves room for the longest name derived from this one: that of the state file while it is written.
        let maximumLength = FileName.maximumLength - suffix.utf8.count - ".new".utf8.count
        guard name.utf8.count > maximumLength else { return file + suffix }
        var start = name
        FileName.shorten(&start, toFit: maximumLength - 33)
        return file[..<name.startIndex] + start + "-" + StableDigest.hex(of: [String(name)]) + suffix
    }

    // MARK: Locking

    private static func lockPath(_ path: String) -> String {
        path.hasSuffix("-state") ? "\(path.dropLast("-state".count))-lock" : "\(path)-lock"
    }

    /// Locks a state file, so that only one upload at a time uses it.
    static func lock(_ path: String) throws -> OpenFile {
        let lockPath = lockPath(path)
        // Each failed round means that another process has made progress.
        for _ in 0..<100 {
            let file = try OpenFile(continuing: lockPath)
            guard try file.lock() else { break }
            if file.isUnderItsName { return file }
        }
        throw UploadStateError(
            reason:
                "Another upload is using the state file \(PrintableText.singleLine(path)). Wait for it, cancel it, or "
                + "use another state file."
        )
    }

    static func unlock(_ file: OpenFile, _ path: String) {
        // The name is removed while the lock is held, and a process that has opened it meanwhile finds that out.
        if file.isUnderItsName {
            file.removeName()
        }
        file.unlock()
    }

    // MARK: Reading and writing

    /// Locks and reads the state; `nil` if there is none.
    func open() async throws -> UploadRecord? {
        guard let path else { return kept.withLock { $0 } }
        return try await disk.run(until: nil) { [self] in
            let lock = try Self.lock(path)
            do {
                let record = try UploadRecord.read(path)
                held.withLock { $0 = lock }
                return record
            } catch {
                Self.unlock(lock, path)
                throw error
            }
        }
    }

    /// Stores a state, or removes it.
    func keep(_ record: UploadRecord?, isDurable: Bool) async throws {
        guard let path else { return kept.withLock { $0 = record } }
        try await disk.run(until: nil) {
            if let record {
                try record.write(path, isDurable: isDurable)
            } else {
                try UploadRecord.remove(path)
            }
        }
    }

    /// Releases the lock.
    func close() async {
        guard let path else { return }
        try? await disk.run(until: nil) { [self] in
            let lock = held.withLock { lock in
                defer { lock = nil }
                return lock
            }
            if let lock {
                Self.unlock(lock, path)
            }
        }
    }
}
