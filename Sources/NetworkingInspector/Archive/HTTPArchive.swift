public import Networking
import NetworkingHAR

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// An HTTP archive (HAR 1.2): what the calls of a session did, to be kept, sent to somebody, or looked at.
///
/// ```swift
/// try inspector.archive.write(to: URL(filePath: "network.har"))
///
/// let archive = try HTTPArchive(contentsOf: URL(filePath: "from-a-browser.har"))
/// try archive.writeReport(to: URL(filePath: "network.html"))
/// print(archive.waterfall())
/// ```
///
/// It has an entry for each exchange, as other tools expect, and one for each call that had none; what only this
/// library knows (the call that an exchange is part of, its waits, its modifiers' parts, what the cache did) stands in
/// fields whose names begin with an underscore. Secrets are hidden in all of it, also in an archive that somebody else
/// has written.
public struct HTTPArchive: Sendable, Hashable {
    let har: HAR

    init(of captures: [CallCapture], title: String) {
        let entries = captures.flatMap(\.entries).enumerated()
            .map { ($0.offset, $0.element) }
            // As HAR would have it: by their beginning.
            .sorted { ($0.1.startedDateTime, $0.0) < ($1.1.startedDateTime, $1.0) }
            .map(\.1)
        self.init(entries: entries, title: title, date: captures.first?.date ?? Date())
    }

    init(entries: [HAR.Entry], title: String, date: Date) {
        let page = HAR.Page(id: "session", title: title, startedDateTime: HAR.timestamp(date))
        let entries = entries.map { entry in
            var entry = entry
            entry.pageref = page.id
            return entry
        }
        har = HAR(
            log: HAR.Log(
                creator: HAR.Creator(name: "swift-networking", version: "1.0"),
                pages: [page],
                entries: entries
            )
        )
    }

    /// Reads an archive, this library's or another tool's.
    ///
    /// What is missing in it, or of another type than HAR says, is left out; and so are other tools' own fields, since
    /// nobody knows what is in them.
    ///
    /// - Parameters:
    ///   - data: The archive, as JSON.
    ///   - redaction: What to hide in it.
    /// - Throws: ``HTTPArchiveError`` for what is no archive.
    public init(_ data: Data, redaction: Redaction = .standard) throws(HTTPArchiveError) {
        // Some tools begin their files with a mark of the byte order.
        let json = data.starts(with: [0xEF, 0xBB, 0xBF]) ? data.dropFirst(3) : data
        do {
            har = try JSONDecoder().decode(HAR.self, from: Data(json)).redacted(by: redaction)
        } catch {
            throw HTTPArchiveError(
                reason: json.isEmpty ? "This is no HTTP archive: it is empty." : Self.fault(in: error)
            )
        }
    }

    /// Reads an archive from a file.
    ///
    /// - Parameters:
    ///   - url: The file.
    ///   - redaction: What to hide in it.
    /// - Throws: ``HTTPArchiveError`` for a file that cannot be read, and for what is no archive.
    public init(contentsOf url: URL, redaction: Redaction = .standard) throws(HTTPArchiveError) {
        guard url.isFileURL else { throw .notAFile(url) }
        let path = PrintableText.singleLine(url.path)
        guard let data = try? Data(contentsOf: url) else {
            let fault =
                !PrivateFile.isTaken(url.path)
                ? "There is no file" : "It could not be read. Check that it is a file, and its permissions"
            throw HTTPArchiveError(reason: "\(path): \(fault).")
        }
        do {
            try self.init(data, redaction: redaction)
        } catch {
            throw HTTPArchiveError(reason: "\(path): \(error.reason)")
        }
    }

    private static func fault(in error: any Error) -> String {
        switch error as? DecodingError {
        case .keyNotFound, .typeMismatch, .valueNotFound:
            "This is no HTTP archive: an object 'log' with an array 'entries' is missing (HAR 1.2)."
        default:
            "This is no HTTP archive: it is no JSON, or nested too deeply."
        }
    }

    /// How many exchanges it has, and calls that had none.
    public var entryCount: Int {
        har.log.entries.count
    }

    /// How many entries of a file could not be read, since they had no request.
    public var skippedEntryCount: Int {
        har.log.skippedEntries
    }

    /// The archive as JSON.
    ///
    /// - Returns: UTF-8.
    /// - Throws: ``HTTPArchiveError``.
    public func encoded() throws(HTTPArchiveError) -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        do {
            return try encoder.encode(har)
        } catch {
            throw HTTPArchiveError(reason: "The archive could not be written as JSON.")
        }
    }

    /// Writes the archive into a file that only this user may read.
    ///
    /// - Parameter url: The file; one that is there is replaced, in one step.
    /// - Throws: ``HTTPArchiveError`` when it cannot be written.
    public func write(to url: URL) throws(HTTPArchiveError) {
        try Self.write(try encoded(), to: url)
    }

    /// Writes a page for a browser, into a file that only this user may read.
    ///
    /// The page is one file and needs no network. It has all calls with their attempts, waits and bodies, and lets its
    /// reader filter and search them.
    ///
    /// - Parameters:
    ///   - url: The file; one that is there is replaced, in one step.
    ///   - title: What the page is called; nil for the title of the archive.
    /// - Throws: ``HTTPArchiveError`` when it cannot be written.
    public func writeReport(to url: URL, title: String? = nil) throws(HTTPArchiveError) {
        try Self.write(try report(title: title), to: url)
    }

    private static func write(_ data: Data, to url: URL) throws(HTTPArchiveError) {
        guard url.isFileURL else { throw .notAFile(url) }
        do {
            try PrivateFile.replace(url.path, with: data, isDurable: false)
        } catch {
            // Of the file that was meant, and not of the one that would have taken its name.
            throw HTTPArchiveError(
                reason: error.isAbsence
                    ? "There is no folder \(PrintableText.singleLine(url.deletingLastPathComponent().path)). Make it first."
                    : FileFault(path: url.path, code: error.code).reason
            )
        }
    }
}

/// Why an HTTP archive could not be read or written.
public struct HTTPArchiveError: Error, LocalizedError, CustomStringConvertible {
    /// What is wrong and the way out.
    public let reason: String

    /// The ``reason``.
    public var description: String {
        reason
    }

    /// One sentence for the user of the app, which `localizedDescription` returns: without file name.
    public var errorDescription: String? {
        "The HTTP archive could not be read or written."
    }
}

extension HTTPArchiveError {
    fileprivate static func notAFile(_ url: URL) -> HTTPArchiveError {
        HTTPArchiveError(
            reason:
                "A file is needed here, and a URL of the scheme \(url.scheme ?? "none") names none. Use URL(filePath:)."
        )
    }
}

extension HTTPArchive: CustomStringConvertible, CustomReflectable {
    /// How many entries it has.
    public var description: String {
        "HTTPArchive(\(entryCount) entries)"
    }

    /// What a dump shows.
    public var customMirror: Mirror {
        Mirror(self, children: ["entryCount": entryCount])
    }
}
