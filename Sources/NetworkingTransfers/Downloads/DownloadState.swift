public import FoundationForNetworking
public import NetworkingCore

/// The state of a partial file that an earlier download has left next to its destination.
///
/// It consists of two files that outlive the process: `film.mp4.download` with the bytes, and `film.mp4.download-state`
/// with the metadata for requesting the rest from the server. The next download to the same place resumes from them.
///
/// ```swift
/// if let kept = try DownloadState(at: film) {
///     label.text = "\(kept.byteCount) bytes are here already"
/// }
/// ```
public struct DownloadState: Sendable, Hashable {
    /// The number of bytes that are kept.
    public let byteCount: Int64

    /// The size of the complete file, in bytes.
    public let expectedByteCount: Int64

    private let path: String

    /// Reads the state of a download to a file; `nil` if there is nothing to resume from.
    ///
    /// - Parameter destination: The URL of the complete file.
    /// - Throws: A ``DownloadStateError`` if the state cannot be read.
    public init?(at destination: URL) throws {
        try self.init(path: PartialFile.path(for: destination.path))
    }

    init?(path: String) throws {
        guard let record = try DownloadRecord.read(beside: path), let file = try? FileSnapshot(of: path) else {
            return nil
        }
        let count = record.keptBytes(of: file.size)
        guard count > 0, let length = record.length else { return nil }
        byteCount = count
        expectedByteCount = length
        self.path = path
    }

    /// The fraction of the file that is kept, from 0 to 1.
    public var fractionCompleted: Double {
        BytesReceived(count: byteCount, expected: expectedByteCount).fractionCompleted ?? 0
    }

    /// Removes the partial file and its metadata.
    ///
    /// - Throws: A ``DownloadStateError`` if a download is using the partial file, or if it cannot be removed.
    public func discard() throws {
        try Self.discard(path: path)
    }

    /// Removes the partial file of a download to a file, even if it is damaged; does nothing if there is none.
    ///
    /// - Parameter destination: The URL of the complete file.
    /// - Throws: A ``DownloadStateError`` if a download is using the partial file, or if it cannot be removed.
    public static func discard(at destination: URL) throws {
        try discard(path: PartialFile.path(for: destination.path))
    }

    private static func discard(path: String) throws {
        do {
            // A file without a state beside it was not created by a download.
            guard try PrivateFile.isTaken(DownloadRecord.path(beside: path)) else { return }
            let file = try OpenFile(continuing: path)
            guard try file.lock(), file.isUnderItsName else {
                throw DownloadStateError(reason: PartialFile.inUse(path))
            }
            try PartialFile.remove(file, at: path)
        } catch let fault as FileFault {
            throw DownloadStateError(reason: fault.reason)
        }
    }
}

/// The reason why a partial file could not be read or removed.
public struct DownloadStateError: Error, LocalizedError, ErrorWithUserText, CustomStringConvertible {
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

/// The metadata of a partial file, stored next to it.
struct DownloadRecord: Codable, Equatable {
    private static let currentVersion = 1
    /// A record has a few hundred bytes; a longer file is not a record.
    private static let maximumSize = 64 << 10

    private var version = currentVersion
    /// A digest that identifies the downloaded resource, because its URL may contain a secret.
    var resource: String
    /// The validator of the server's file; `nil` if the server sent no strong one.
    var validator: Validator?
    /// The size of the complete file, in bytes; `nil` if it is not known.
    var length: Int64?
    /// The number of bytes that are certain to be on disk.
    var synchronizedCount: Int64 = 0
    /// The boot session of the machine in which the other bytes were written.
    var bootSession: String?

    init(resource: String, validator: Validator?, length: Int64?) {
        self.resource = resource
        self.validator = validator
        self.length = length
        bootSession = BootSession.current
    }

    /// A strong validator, with which the server can check that it still has the same file (RFC 9110 section 8.8.1).
    enum Validator: Codable, Equatable {
        case eTag(String)
        case lastModified(String)
    }

    /// Returns how many bytes of the file are valid.
    ///
    /// All bytes that a process has written survive the end of the process. If the machine stops, only synchronized
    /// bytes are certain: the file may keep its length and have zeros at its end.
    func keptBytes(of size: Int64) -> Int64 {
        guard validator != nil, let length else { return 0 }
        let isSameSession = bootSession != nil && bootSession == BootSession.current
        return min(size, length, isSameSession ? .max : synchronizedCount)
    }

    static func path(beside path: String) -> String {
        "\(path)-state"
    }

    /// Reads the metadata of a partial file; `nil` if there is none.
    static func read(beside path: String) throws -> DownloadRecord? {
        let statePath = Self.path(beside: path)
        let data: Data
        do {
            data = try PrivateFile.read(statePath, upTo: maximumSize)
        } catch  where error.isAbsence {
            return nil
        } catch {
            throw DownloadStateError(reason: error.reason)
        }
        // An empty record was written shortly before the machine stopped.
        guard !data.isEmpty else { return nil }
        let format = try? JSONDecoder().decode(Format.self, from: data)
        if let version = format?.version, version != currentVersion {
            throw DownloadStateError(
                reason:
                    "The state of a download, \(PrintableText.singleLine(statePath)), was written by another version "
                    + "of this library (format \(version), this one reads \(currentVersion)). \(wayOut)"
            )
        }
        guard let record = try? JSONDecoder().decode(DownloadRecord.self, from: data), record.isPlausible else {
            throw DownloadStateError(
                reason: "The state of a download, \(PrintableText.singleLine(statePath)), is damaged. \(wayOut)"
            )
        }
        return record
    }

    private static let wayOut =
        "The downloaded bytes are kept. Download with partialFile .discard to start over, or remove the file."

    func write(beside path: String, isDurable: Bool) throws(FileFault) {
        // The record contains only strings and numbers, so encoding cannot fail.
        guard let data = try? JSONEncoder().encode(self) else { return }
        let path = Self.path(beside: path)
        try PrivateFile.replace(path, with: data, isDurable: isDurable, via: "\(path).new")
    }

    static func remove(beside path: String) throws(FileFault) {
        let path = Self.path(beside: path)
        try PrivateFile.remove("\(path).new")
        try PrivateFile.remove(path)
    }

    private var isPlausible: Bool {
        synchronizedCount >= 0 && synchronizedCount <= length ?? .max && validator?.isSendable != false
    }

    private struct Format: Decodable {
        let version: Int
    }
}
