#if URLSession
import Foundation
import NetworkingCore
import NetworkingTransfers
import NetworkingURLSession
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif
import HTTPTypes

/// The metadata that is needed when a background transfer ends, often in another process.
///
/// It is stored as the description of the task, which the system keeps unencrypted. It therefore contains neither
/// header fields nor values of a query.
struct BackgroundTransferRecord: Sendable, Hashable {
    /// The app's id of the transfer.
    var id: String
    /// The destination of a download; `nil` for an upload.
    var destination: DownloadDestination?
    var acceptedStatuses = StatusSet.successful
    /// The names of the query items with secret values, which must be redacted in errors.
    var secretQueryItems: Set<String> = []
    /// Whether the request declared secret texts.
    ///
    /// They are not stored, so errors must show neither path nor query.
    var hidesTarget = false

    /// The reason why a description is not a valid record.
    struct Unreadable: Error, Hashable {
        let reason: String
    }
}

// MARK: - Encoding

extension BackgroundTransferRecord {
    private static let version = 1

    /// Reads the description of a task, and expands paths that start at the app's home directory.
    init(_ text: String?, home: URL) throws(Unreadable) {
        guard let text else {
            throw Unreadable(reason: "The transfer has no record. Other code started it in this session.")
        }
        let (data, decoder) = (Data(text.utf8), JSONDecoder())
        guard let version = try? decoder.decode(Version.self, from: data).version else {
            throw Unreadable(
                reason: "The record of the transfer is damaged, or other code started it in this session."
            )
        }
        guard version == Self.version else {
            throw Unreadable(
                reason: "The record of the transfer has version \(version), and this library reads \(Self.version)."
            )
        }
        guard let stored = try? decoder.decode(Stored.self, from: data) else {
            throw Unreadable(reason: "The record of the transfer is damaged.")
        }
        id = stored.id
        destination = stored.destination?.destination(home: home)
        acceptedStatuses = StatusSet(merging: stored.acceptedStatuses)
        secretQueryItems = Set(stored.secretQueryItems)
        hidesTarget = stored.hidesTarget
    }

    /// Returns the description for a task.
    func text(home: URL) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let stored = Stored(
            version: Self.version,
            id: id,
            destination: destination.map { Stored.Destination($0, home: home) },
            acceptedStatuses: acceptedStatuses.ranges,
            secretQueryItems: secretQueryItems.sorted(),
            hidesTarget: hidesTarget
        )
        return String(decoding: try encoder.encode(stored), as: UTF8.self)
    }

    private struct Version: Decodable {
        let version: Int
    }

    private struct Stored: Codable {
        let version: Int
        let id: String
        let destination: Destination?
        let acceptedStatuses: [ClosedRange<Int>]
        let secretQueryItems: [String]
        let hidesTarget: Bool

        struct Destination: Codable {
            let isDirectory: Bool
            /// The path, with a tilde for the app's home directory, which changes with an update of the app.
            let path: String
            let existingFile: ExistingFile

            enum ExistingFile: String, Codable {
                case fail
                case replace
                case number
            }

            init(_ destination: DownloadDestination, home: URL) {
                isDirectory = destination.place == .directory
                existingFile =
                    switch destination.existingFile {
                    case .fail: .fail
                    case .replace: .replace
                    case .number: .number
                    }
                let (path, home) = (destination.url.path, home.path)
                self.path = home.count > 1 && path.hasPrefix("\(home)/") ? "~" + path.dropFirst(home.count) : path
            }

            func destination(home: URL) -> DownloadDestination {
                let policy: ExistingFilePolicy =
                    switch existingFile {
                    case .fail: .fail
                    case .replace: .replace
                    case .number: .number
                    }
                let url = URL(filePath: path.hasPrefix("~/") ? home.path + path.dropFirst(1) : path)
                return isDirectory ? .directory(url, ifExists: policy) : .file(url, ifExists: policy)
            }
        }
    }
}

// MARK: - Resume data

/// The data for resuming a download: the system's data, and the record, which the system's data does not contain.
struct BackgroundResumption {
    var record: BackgroundTransferRecord
    let systemData: Data

    init(record: BackgroundTransferRecord, systemData: Data) {
        self.record = record
        self.systemData = systemData
    }

    /// Reads stored resume data.
    init(_ data: Data, home: URL) throws(BackgroundTransferRecord.Unreadable) {
        guard let stored = try? JSONDecoder().decode(Stored.self, from: data) else {
            throw BackgroundTransferRecord.Unreadable(
                reason: "The data is not the resume data of a background transfer. Restart the transfer."
            )
        }
        record = try BackgroundTransferRecord(stored.record, home: home)
        systemData = stored.data
    }

    /// Returns the resume data to store.
    func data(home: URL) throws -> Data {
        try JSONEncoder().encode(Stored(record: record.text(home: home), data: systemData))
    }

    private struct Stored: Codable {
        let record: String
        let data: Data
    }
}

// MARK: - Requests

/// A request that is ready to be sent in the background, with the record of its transfer.
struct BackgroundDeparture {
    let request: URLRequest
    let record: BackgroundTransferRecord

    /// Prepares a download.
    init(
        _ request: HTTPRequestData,
        id: String,
        to destination: DownloadDestination,
        over network: some NetworkingComponent
    ) throws {
        guard destination.url.isFileURL else {
            throw NetworkingError(
                .invalidRequest,
                request: request,
                reason: "The URL of the destination is not a file URL. Create it with URL(filePath:)."
            )
        }
        let prepared = try network.prepared(request)
        guard prepared.body == nil else {
            throw NetworkingError(
                .invalidRequest,
                request: prepared,
                reason: "A background download cannot send a body. Remove it, or download in the foreground."
            )
        }
        try self.init(prepared, id: id, destination: destination)
    }

    /// Prepares an upload.
    init(_ request: HTTPRequestData, id: String, sending file: URL, over network: some NetworkingComponent) throws {
        guard request.body == nil || request.body?.fileURL != nil else { throw request.needsFile }
        let prepared = try network.prepared(request.uploading(.file(file)))
        guard let body = prepared.body, body.fileURL != nil else { throw prepared.needsFile }
        do {
            // URLSession raises an exception for a file that it cannot open.
            _ = try body.openNow()
        } catch let failure as RequestBody.Failure {
            throw failure.error(of: prepared)
        }
        try self.init(prepared, id: id, destination: nil)
    }

    private init(_ prepared: HTTPRequestData, id: String, destination: DownloadDestination?) throws {
        guard prepared.sink == nil else {
            throw NetworkingError(
                .invalidRequest,
                request: prepared,
                reason: "A sink cannot receive the data of a background transfer. Remove it from the request."
            )
        }
        request = try URLRequest(prepared)
        record = BackgroundTransferRecord(
            id: id,
            destination: destination,
            acceptedStatuses: prepared.acceptedStatuses,
            secretQueryItems: prepared.secretQueryItems,
            hidesTarget: prepared.hasSecrets
        )
    }
}

extension HTTPRequestData {
    fileprivate var needsFile: NetworkingError {
        NetworkingError(
            .invalidRequest,
            request: self,
            reason: "A background upload can only send a file. Write the body to a file, and send that file."
        )
    }

    /// Creates the request of a task that has ended, from the parts that are known and may be shown.
    ///
    /// It has no header fields, because the information about which of them are secrets is lost.
    init(_ request: URLRequest?, of record: BackgroundTransferRecord?) {
        self.init(method: HTTPRequest.Method(request?.httpMethod ?? "GET") ?? .get)
        url = request?.url
        guard let record, !record.hidesTarget else {
            target = nil
            return
        }
        acceptedStatuses = record.acceptedStatuses
        for name in record.secretQueryItems {
            markSecret(queryItem: name)
        }
    }
}
#endif
