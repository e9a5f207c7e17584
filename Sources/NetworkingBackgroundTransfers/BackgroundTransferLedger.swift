#if URLSession
import Foundation
import NetworkingCore
import NetworkingTransfers
import NetworkingURLSession
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif
import HTTPTypes
import Synchronization

/// Converts the delegate calls of a background session into events.
///
/// It uses no API that only Apple's platforms have, so it can be tested where background sessions do not exist.
final class BackgroundTransferLedger: Sendable {
    /// The maximum size of a response body that is kept, in bytes.
    static let maximumBody = 1 << 20

    let events = BackgroundTransferEvents()
    private let home: URL
    private let temporaryDirectory: URL
    private let transfers = Mutex<[Int: Transfer]>([:])

    /// Creates a ledger.
    ///
    /// - Parameters:
    ///   - home: The app's home directory, which is the base of the paths in records.
    ///   - temporaryDirectory: The directory for downloads that cannot be moved to their destination.
    init(home: URL, temporaryDirectory: URL = FileManager.default.temporaryDirectory) {
        self.home = home
        self.temporaryDirectory = temporaryDirectory
    }

    /// A task that has completed, or a download with a complete file.
    struct EndOfTask {
        var number: Int
        var description: String?
        var isDownload: Bool
        var request: URLRequest?
        var response: URLResponse?
        var received: Int64 = 0
    }

    private struct Transfer {
        var body = Data()
        /// The event that a download will report, once its file is complete.
        var outcome: BackgroundTransferEvent?
    }

    // MARK: Records

    /// Returns the text that the system stores with a task, from which a later process reads the record.
    func description(for record: BackgroundTransferRecord) throws -> String {
        try record.text(home: home)
    }

    /// Returns the id that the app gave a transfer; `nil` for a task that this library did not start.
    func id(of description: String?) -> String? {
        try? BackgroundTransferRecord(description, home: home).id
    }

    /// Returns the data from which a later call resumes a download.
    ///
    /// It is `nil` if the system provides none, or if the record of the task is missing.
    func resumeData(_ systemData: Data?, of description: String?) -> Data? {
        guard let systemData, let record = try? BackgroundTransferRecord(description, home: home) else { return nil }
        return try? BackgroundResumption(record: record, systemData: systemData).data(home: home)
    }

    /// Returns the system's part of resume data, with a description for the given id.
    func resumption(of id: String, from data: Data) throws -> (systemData: Data, description: String) {
        do {
            var resumption = try BackgroundResumption(data, home: home)
            resumption.record.id = id
            return (resumption.systemData, try description(for: resumption.record))
        } catch let unreadable as BackgroundTransferRecord.Unreadable {
            throw NetworkingError(.invalidRequest, request: HTTPRequestData(), reason: unreadable.reason)
        }
    }

    // MARK: Calls of the delegate

    /// Reports the progress of a transfer; a negative total means that it is not known.
    func progress(of description: String?, sent: (Int64, of: Int64)? = nil, received: (Int64, of: Int64)? = nil) {
        guard let id = id(of: description) else { return }
        func bytes(_ moved: (Int64, of: Int64)?) -> BytesTransferred {
            moved.map { BytesTransferred(count: $0, expected: $1 < 0 ? nil : $1) } ?? BytesTransferred()
        }
        events.send(.progress(id: id, TransferProgress(sent: bytes(sent), received: bytes(received))))
    }

    /// Receives a chunk of the response to an upload.
    func receive(_ data: Data, of number: Int) {
        transfers.withLock { transfers in
            let length = transfers[number]?.body.count ?? 0
            transfers[number, default: Transfer()].body.append(data.prefix(Self.maximumBody - length))
        }
    }

    /// Takes the file of a download, which the system removes when this method returns.
    func take(_ file: URL, of task: EndOfTask) {
        let outcome = outcome(of: task, in: file)
        transfers.withLock { $0[task.number, default: Transfer()].outcome = outcome }
    }

    /// Reports the end of a task.
    func end(_ task: EndOfTask, with error: (any Error)?, resumeData: Data?) {
        let transfer = transfers.withLock { $0.removeValue(forKey: task.number) } ?? Transfer()
        events.send(transfer.outcome ?? outcome(of: task, with: error, resumeData, body: transfer.body))
    }

    // MARK: Outcomes

    /// Returns the outcome of a download after its file has arrived.
    private func outcome(of task: EndOfTask, in file: URL) -> BackgroundTransferEvent {
        let record: BackgroundTransferRecord
        do {
            record = try BackgroundTransferRecord(task.description, home: home)
        } catch {
            let savedFile = save(file)
            return .unrecognized(BackgroundTransferFailure(unreadable(task, error), savedFile: savedFile))
        }
        let request = HTTPRequestData(task.request, of: record)
        guard let destination = record.destination, let head = head(of: task) else {
            return .failed(id: record.id, BackgroundTransferFailure(request.invalidResponse))
        }
        guard record.accepts(head.status) else {
            let page = try? PrivateFile.read(file.path, upTo: Self.maximumBody)
            let response = HTTPResponseData(request: request, http: head, body: .collected(page ?? Data()))
            return .failed(id: record.id, BackgroundTransferFailure(NetworkingError.refusedStatus(of: response)))
        }
        let length = (try? FileSnapshot(of: file.path).size) ?? 0
        let response = HTTPResponseData(request: request, http: head, body: .delivered(byteCount: length))
        let path = destination.path(for: head, to: task.request)
        do {
            let place = try FilePlacement.move(file.path, to: path, ifExists: destination.existingFile)
            return .finished(id: record.id, response: response, file: URL(filePath: place))
        } catch {
            let error = NetworkingError(
                .storage,
                request: request,
                response: response,
                underlying: error,
                reason: Self.reason(for: error, at: path)
            )
            return .failed(id: record.id, BackgroundTransferFailure(error, savedFile: save(file)))
        }
    }

    /// Returns the outcome of a task without a file.
    private func outcome(
        of task: EndOfTask,
        with error: (any Error)?,
        _ resumeData: Data?,
        body: Data
    ) -> BackgroundTransferEvent {
        let record: BackgroundTransferRecord
        do {
            record = try BackgroundTransferRecord(task.description, home: home)
        } catch {
            return .unrecognized(BackgroundTransferFailure(unreadable(task, error)))
        }
        let request = HTTPRequestData(task.request, of: record)
        if let error {
            let resumeData = self.resumeData(resumeData, of: task.description)
            let error = request.failure(for: error, after: task)
            return .failed(id: record.id, BackgroundTransferFailure(error, resumeData: resumeData))
        }
        guard !task.isDownload else {
            let error = NetworkingError(
                .storage,
                request: request,
                reason: "The download is complete, but this process did not receive its file. Check the destination: "
                    + "an earlier process may have stored it there."
            )
            return .failed(id: record.id, BackgroundTransferFailure(error))
        }
        guard let head = head(of: task) else {
            return .failed(id: record.id, BackgroundTransferFailure(request.invalidResponse))
        }
        let response = HTTPResponseData(request: request, http: head, body: .collected(body))
        return record.accepts(head.status)
            ? .finished(id: record.id, response: response, file: nil)
            : .failed(id: record.id, BackgroundTransferFailure(NetworkingError.refusedStatus(of: response)))
    }

    private func head(of task: EndOfTask) -> HTTPResponse? {
        task.response.flatMap { ReceivedHead($0, to: HTTPRequestData(task.request, of: nil).method)?.http }
    }

    private func unreadable(_ task: EndOfTask, _ unreadable: BackgroundTransferRecord.Unreadable) -> NetworkingError {
        NetworkingError(.storage, request: HTTPRequestData(task.request, of: nil), reason: unreadable.reason)
    }

    /// Returns the reason why a file could not be moved to its destination.
    private static func reason(for fault: FileFault, at path: String) -> String {
        guard let directory = PrivateFile.parent(of: path), !PrivateFile.isDirectory(directory) else {
            return fault.reason
        }
        return "There is no directory at \(PrintableText.singleLine(directory)). Create it before the download ends."
    }

    /// Keeps a file without a destination in the temporary directory, until the app fetches it.
    private func save(_ file: URL) -> URL? {
        let place = temporaryDirectory.appending(path: "networking-\(UUID().uuidString)")
        return (try? FilePlacement.move(file.path, to: place.path, ifExists: .fail)).map { URL(filePath: $0) }
    }
}

extension BackgroundTransferRecord {
    fileprivate func accepts(_ status: HTTPResponse.Status) -> Bool {
        // After an interruption, the system joins the parts itself and returns the head of the last one.
        acceptedStatuses.contains(status) || status == .partialContent && acceptedStatuses.contains(.ok)
    }
}

extension DownloadDestination {
    /// Returns the path of the file, with the name that the server suggests if the destination is a directory.
    fileprivate func path(for head: HTTPResponse, to request: URLRequest?) -> String {
        guard place == .directory else { return url.path }
        // Uses the full request, including a path that must not be shown, because the name may be taken from it.
        var named = HTTPRequestData()
        named.url = request?.url
        let response = HTTPResponseData(request: named, http: head, body: .collected(Data()))
        return url.appending(path: response.suggestedFileName ?? "download", directoryHint: .notDirectory).path
    }
}

extension HTTPRequestData {
    /// Returns the error of a task that failed or was cancelled.
    fileprivate func failure(for error: any Error, after task: BackgroundTransferLedger.EndOfTask) -> any Error {
        guard let urlError = error as? URLError, urlError.code == .cancelled else {
            let head = task.response.flatMap { ReceivedHead($0, to: method) }
            return self.error(for: error, after: head, received: task.received)
        }
        guard let reason = urlError.userInfo[NSURLErrorBackgroundTaskCancelledReasonKey] as? Int else {
            return CancellationError()
        }
        // In the order of Apple's `NSURLErrorCancelledReasonUserForceQuitApplication` and the codes after it.
        let why = [
            "because the user quit the app",
            "because the user has turned off background activity for the app",
            "because system resources are low",
        ]
        return NetworkingError(
            .connectionLost,
            request: self,
            underlying: error.withoutURL,
            reason: "The system ended the transfer\(why.indices.contains(reason) ? " \(why[reason])" : ""). Restart or "
                + "resume it."
        )
    }
}
#endif
