import NetworkingCore

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The part of a download that has arrived and is kept, beside where the file will be.
///
/// It lies in two files, which outlive the process: `film.mp4.download` with the bytes, and `film.mp4.download-state`
/// with the few facts by which the server can be asked for the rest. Downloading to the same place again goes on with
/// it.
///
/// ```swift
/// if let kept = try DownloadState(at: film) {
///     label.text = "\(kept.byteCount) bytes are here already"
/// }
/// ```
public struct DownloadState: Sendable, Hashable {
    /// How many bytes are kept.
    public let byteCount: Int64

    /// How many the whole file has.
    public let expectedByteCount: Int64

    private let path: String

    /// Looks at what is kept of a download to a file; nil when nothing is that could be gone on with.
    ///
    /// - Parameter destination: Where the file will be.
    /// - Throws: A ``DownloadStateError`` when what is kept cannot be read.
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

    /// The part that is kept, from 0 to 1.
    public var fractionCompleted: Double {
        BytesReceived(count: byteCount, expected: expectedByteCount).fractionCompleted ?? 0
    }

    /// Removes what is kept.
    ///
    /// - Throws: A ``DownloadStateError`` while a download goes on with it, and when it cannot be removed.
    public func discard() throws {
        try Self.discard(path: path)
    }

    /// Removes what is kept of a download to a file, also where it is damaged; does nothing where nothing is kept.
    ///
    /// - Parameter destination: Where the file would be.
    /// - Throws: A ``DownloadStateError`` while a download goes on with it, and when it cannot be removed.
    public static func discard(at destination: URL) throws {
        try discard(path: PartialFile.path(for: destination.path))
    }

    private static func discard(path: String) throws {
        do {
            // Without a state beside it, it is somebody else's.
            guard PrivateFile.isTaken(DownloadRecord.path(beside: path)) else { return }
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

/// Why what is kept of a download could not be read or removed.
public struct DownloadStateError: Error, LocalizedError, CustomStringConvertible {
    /// What is wrong and the way out.
    public let reason: String

    /// The ``reason``.
    public var description: String {
        reason
    }

    /// One sentence for the user of the app, which `localizedDescription` returns: without file name.
    public var errorDescription: String? {
        NetworkingError.Kind.storage.userText
    }
}

/// What is known of a part that is kept, as it is written beside it.
struct DownloadRecord: Codable, Equatable {
    private static let currentVersion = 1
    /// It has some hundred bytes; what is longer is none.
    private static let longest = 64 << 10

    private var version = currentVersion
    /// What is downloaded, by a digest: its URL may hold a secret.
    var resource: String
    /// By what the server can tell whether it still has the same; nil when it has given nothing for that.
    var validator: Validator?
    /// How many bytes there are altogether; nil when nobody knows.
    var length: Int64?
    /// How many are on the disk for certain.
    var synchronizedCount: Int64 = 0
    /// Since when the machine has been running that wrote the others.
    var bootSession: String?

    init(resource: String, validator: Validator?, length: Int64?) {
        self.resource = resource
        self.validator = validator
        self.length = length
        bootSession = BootSession.current
    }

    /// By what a server can tell whether it still has the same, for certain (RFC 9110 section 8.8.1).
    enum Validator: Codable, Equatable {
        case eTag(String)
        case lastModified(String)
    }

    /// How many of the bytes in the file are what was received.
    ///
    /// All that a process has written are there after its end. After that of the machine, only those that were waited
    /// for: a file may be as long as it was, and have zeros at its end.
    func keptBytes(of size: Int64) -> Int64 {
        guard validator != nil, let length else { return 0 }
        let isSameSession = bootSession != nil && bootSession == BootSession.current
        return min(size, length, isSameSession ? .max : synchronizedCount)
    }

    static func path(beside path: String) -> String {
        "\(path)-state"
    }

    /// Reads what is known of a part; nil when nothing is.
    static func read(beside path: String) throws -> DownloadRecord? {
        let statePath = Self.path(beside: path)
        let data: Data
        do {
            data = try PrivateFile.read(statePath, upTo: longest)
        } catch  where error.isAbsence {
            return nil
        } catch {
            throw DownloadStateError(reason: error.reason)
        }
        // Written shortly before the machine went down.
        guard !data.isEmpty else { return nil }
        let format = try? JSONDecoder().decode(Format.self, from: data)
        if let version = format?.version, version != currentVersion {
            throw DownloadStateError(
                reason:
                    "The state of a download, \(PrintableText.singleLine(statePath)), was written by another version of this library "
                    + "(format \(version), this one reads \(currentVersion)). \(wayOut)"
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
        "What has arrived was left as it is. Download with keptPart .discard to start anew, or remove the file."

    func write(beside path: String, isDurable: Bool) throws(FileFault) {
        // Strings and numbers alone, so that it cannot fail.
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
