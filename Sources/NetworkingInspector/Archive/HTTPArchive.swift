public import FoundationForNetworking
public import NetworkingCore

/// An HTTP archive (HAR 1.2): the calls of a session, to store, share or display.
///
/// ```swift
/// try inspector.archive.write(to: URL(filePath: "network.har"))
///
/// let archive = try HTTPArchive(contentsOf: URL(filePath: "from-a-browser.har"))
/// try archive.writeReport(to: URL(filePath: "network.html"))
/// print(archive.waterfall())
/// ```
///
/// It has an entry for each exchange, as other tools expect, and one for each call without an exchange. Information
/// specific to this library (the call of an exchange, its waits, the time of its modifiers, the cache outcome) is in
/// fields with names that begin with an underscore. Secrets are redacted everywhere, also in archives of other tools.
public struct HTTPArchive: Sendable, Hashable {
    let har: HAR

    init(of captures: [CallCapture], title: String) {
        let entries = captures.flatMap(\.entries).enumerated()
            .map { ($0.offset, $0.element) }
            // Sorted by start time, as HAR requires.
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
                creator: .library,
                pages: [page],
                entries: entries
            )
        )
    }

    /// Reads an archive of this library or of another tool.
    ///
    /// Fields that are missing or have a type other than HAR's are left out. Custom fields of other tools are dropped
    /// too, because the redaction does not cover them.
    ///
    /// - Parameters:
    ///   - data: The archive, as JSON.
    ///   - redaction: The redaction to apply to the archive.
    /// - Throws: ``HTTPArchiveError`` if the data is not an HTTP archive.
    public init(_ data: Data, redaction: Redaction = .standard) throws(HTTPArchiveError) {
        // Some tools write a byte order mark at the start of their files.
        let json = data.starts(with: [0xEF, 0xBB, 0xBF]) ? data.dropFirst(3) : data
        do {
            har = try JSONDecoder().decode(HAR.self, from: Data(json)).redacted(by: redaction)
        } catch {
            throw HTTPArchiveError(
                reason: json.isEmpty ? "This is not an HTTP archive: it is empty." : Self.fault(in: error)
            )
        }
    }

    /// Reads an archive from a file.
    ///
    /// - Parameters:
    ///   - url: The file.
    ///   - redaction: The redaction to apply to the archive.
    /// - Throws: ``HTTPArchiveError`` if the file cannot be read or is not an HTTP archive.
    public init(contentsOf url: URL, redaction: Redaction = .standard) throws(HTTPArchiveError) {
        guard url.isFileURL else { throw .notAFile(url) }
        let path = PrintableText.singleLine(url.path)
        guard let data = try? Data(contentsOf: url) else {
            let fault =
                (try? PrivateFile.isTaken(url.path)) == false
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
            "This is not an HTTP archive: an object 'log' with an array 'entries' is missing (HAR 1.2)."
        default:
            "This is not an HTTP archive: it is not JSON, or nested too deeply."
        }
    }

    /// The number of entries: exchanges, and calls without an exchange.
    public var entryCount: Int {
        har.log.entries.count
    }

    /// The number of entries of a file that could not be read because they had no request.
    public var skippedEntryCount: Int {
        har.log.skippedEntries
    }

    /// Encodes the archive as JSON.
    ///
    /// - Returns: The JSON, in UTF-8.
    /// - Throws: ``HTTPArchiveError`` if the archive cannot be encoded.
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
    /// - Parameter url: The file; an existing file is replaced atomically.
    /// - Throws: ``HTTPArchiveError`` if the file cannot be written.
    public func write(to url: URL) throws(HTTPArchiveError) {
        try Self.write(try encoded(), to: url)
    }

    static func write(_ data: Data, to url: URL) throws(HTTPArchiveError) {
        guard url.isFileURL else { throw .notAFile(url) }
        do {
            try PrivateFile.replace(url.path, with: data, isDurable: false)
        } catch {
            // Names the intended file, not the temporary file that was to replace it.
            throw HTTPArchiveError(
                reason: error.isAbsence
                    ? "There is no folder \(PrintableText.singleLine(url.deletingLastPathComponent().path)). Create it "
                        + "first."
                    : FileFault(path: url.path, code: error.code).reason
            )
        }
    }
}

/// The reason why an HTTP archive could not be read or written.
public struct HTTPArchiveError: Error, LocalizedError, CustomStringConvertible {
    /// The failure and its remedy.
    public let reason: String

    /// The ``reason``.
    public var description: String {
        reason
    }

    /// A sentence for the user of the app, returned by `localizedDescription`: without a file name.
    public var errorDescription: String? {
        "The HTTP archive could not be read or written."
    }
}

extension HTTPArchiveError {
    fileprivate static func notAFile(_ url: URL) -> HTTPArchiveError {
        HTTPArchiveError(
            reason:
                "An HTTP archive needs a file URL (the scheme is \(url.scheme ?? "none")). Use URL(filePath:)."
        )
    }
}

extension HTTPArchive: CustomStringConvertible, CustomReflectable {
    /// The number of entries.
    public var description: String {
        "HTTPArchive(\(entryCount) entries)"
    }

    /// A mirror with only the number of entries, for dumps.
    public var customMirror: Mirror {
        Mirror(self, children: ["entryCount": entryCount])
    }
}
