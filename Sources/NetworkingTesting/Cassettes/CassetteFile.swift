import FoundationForNetworking
import NetworkingCore
import NetworkingInspector

/// The file of a cassette: an HTTP archive with a marker that identifies it as a cassette.
struct CassetteFile {
    /// The version of the format that is written.
    static let format: Int64 = 1
    /// The maximum file size in bytes; a cassette is read into memory completely.
    private static let maximumSize = 1 << 30

    let path: String

    /// Creates the file that a path refers to, with symbolic links resolved.
    ///
    /// All links to a file share one lock, and writing does not replace a link.
    ///
    /// - Parameter path: The path.
    init(linkedFrom path: String) {
        var path = path
        // Circular links cause an error when the file is read.
        for _ in 0..<40 {
            guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path) else { break }
            let folder = path[..<(path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex)]
            path = target.hasPrefix("/") ? target : folder + target
        }
        self.path = path
    }

    /// The content of the file.
    struct Content {
        let har: HAR
        let bytes: Data

        /// Whether a cassette wrote the file.
        var isOurs: Bool {
            har.format != nil
        }
    }

    /// The name of the file in messages.
    var name: String {
        PrintableText.singleLine(path)
    }

    /// Reads the file; nil if there is none.
    func read() throws(CassetteError) -> Content? {
        let bytes: Data
        do {
            bytes = try PrivateFile.read(path, upTo: Self.maximumSize + 1)
        } catch {
            if error.isAbsence { return nil }
            throw CassetteError(reason: "The cassette could not be read. \(error.reason)")
        }
        guard bytes.count <= Self.maximumSize else {
            throw CassetteError(
                reason: "The cassette \(name) has more than \(Self.maximumSize) bytes. Split it into several."
            )
        }
        // Some tools start their files with a byte order mark.
        let json = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Data(bytes.dropFirst(3)) : bytes
        let har: HAR
        do {
            har = try JSONDecoder().decode(HAR.self, from: json)
        } catch {
            throw CassetteError(reason: fault(of: json))
        }
        guard har.skippedEntries == 0 else {
            throw CassetteError(
                reason:
                    "The cassette \(name) has \(har.skippedEntries) "
                    + "entr\(har.skippedEntries == 1 ? "y" : "ies") without a request. Remove them, or remove the "
                    + "file and record the cassette again."
            )
        }
        // A browser's archive can have requests without a response; a cassette cannot.
        let broken = har.format == nil ? nil : har.entries.firstIndex { !$0.hasURL }
        if let broken {
            throw CassetteError(
                reason:
                    "The cassette \(name) is damaged: entry \(broken + 1) has no request.url. \(Self.wayOut)"
            )
        }
        return Content(har: har, bytes: bytes)
    }

    private static let wayOut = "Restore it from version control, or remove it and record it again."

    private func fault(of json: Data) -> String {
        let wayOut = Self.wayOut
        if json.isEmpty {
            return "The cassette \(name) is empty. \(wayOut)"
        }
        let source = Array(json)
        guard let place = JSONTokenizer.fault(in: source) else {
            return
                "\(name) is not a cassette: an "
                + "object 'log' with an array 'entries' is missing (HAR 1.2). Check the path."
        }
        let before = source[..<place]
        let line = before.count { $0 == UInt8(ascii: "\n") } + 1
        let column = place - (before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0) + 1
        return "The cassette \(name) is damaged: line \(line), column \(column) is not valid JSON. \(wayOut)"
    }

    /// Throws if the format version of the file is unknown.
    func check(_ content: Content) throws(CassetteError) {
        guard let format = content.har.format, format != Self.format else { return }
        throw CassetteError(
            reason: format > Self.format
                ? "The cassette \(name) has format \(format), and this version of swift-networking reads "
                    + "format \(Self.format). Update the package, or record the cassette again with mode .all."
                : "The cassette \(name) has format \(format), which is no longer supported. Record it again "
                    + "with mode .all."
        )
    }

    /// Throws if another tool wrote the file, so that it is not overwritten.
    func checkIsOurs(_ content: Content) throws(CassetteError) {
        guard !content.isOurs else { return }
        let creator = PrintableText.cut(PrintableText.singleLine(content.har.creator), to: 100)
        throw CassetteError(
            reason:
                "\(name) is an HTTP archive\(creator.isEmpty ? "" : " of \(creator)") and not a cassette, so it is not "
                + "overwritten. Replay it with mode .none, or use another file."
        )
    }

    /// Encodes the file with one entry after another and sorted fields, so that diffs are easy to read.
    static func encode(_ entries: [HAR.Entry]) throws(CassetteError) -> Data {
        let har = HAR(entries: entries, format: format)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        do {
            return try encoder.encode(har) + Data("\n".utf8)
        } catch {
            throw CassetteError(reason: "The cassette could not be written as JSON.")
        }
    }

    /// Replaces the existing file atomically.
    func write(_ data: Data) throws(CassetteError) {
        do {
            try PrivateFile.replace(path, with: data, isDurable: false)
        } catch {
            // Name the intended file and not the temporary file that would have replaced it.
            let fault = error.isAbsence ? "Its folder does not exist." : FileFault(path: path, code: error.code).reason
            throw CassetteError(reason: "The cassette \(name) could not be written. \(fault)")
        }
    }
}
