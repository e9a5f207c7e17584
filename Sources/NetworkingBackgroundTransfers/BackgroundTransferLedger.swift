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

/// Makes events of what a background session tells its delegate.
///
/// Nothing in it is Apple's, so that it is tested where the session itself cannot be.
final class BackgroundTransferLedger: Sendable {
    /// The most bytes of a server's answer that are kept.
    static let maximumAnswer = 1 << 20

    let events = BackgroundTransferEvents()
    private let home: URL
    private let temporaryDirectory: URL
    private let transfers = Mutex<[Int: Transfer]>([:])

    /// Creates a ledger.
    ///
    /// - Parameters:
    ///   - home: The app's home, which paths in records begin at.
    ///   - temporaryDirectory: Where a download is kept that cannot be put where it belongs.
    init(home: URL, temporaryDirectory: URL = FileManager.default.temporaryDirectory) {
        self.home = home
        self.temporaryDirectory = temporaryDirectory
    }

    /// A task that is over, or whose file has come.
    struct EndOfTask {
        var number: Int
        var description: String?
        var isDownload: Bool
        var request: URLRequest?
        var response: URLResponse?
        var received: Int64 = 0
    }

    private struct Transfer {
        var answer = Data()
        /// How a download ends whose file has come.
        var outcome: BackgroundTransferEvent?
    }

    // MARK: Records

    /// The description for a task.
    func description(for record: BackgroundTransferRecord) throws -> String {
        try record.text(home: home)
    }

    /// What the app calls a transfer; nil for a task that is none of ours.
    func id(of description: String?) -> String? {
        try? BackgroundTransferRecord(description, home: home).id
    }

    /// What a download goes on from, to be kept; nil when the system gives nothing, or nobody would know where it goes.
    func resumeData(_ systemData: Data?, of description: String?) -> Data? {
        guard let systemData, let record = try? BackgroundTransferRecord(description, home: home) else { return nil }
        return try? BackgroundResumption(record: record, systemData: systemData).data(home: home)
    }

    /// What was kept, for the transfer of an id.
    func resumption(of id: String, from data: Data) throws -> (systemData: Data, description: String) {
        do {
            var resumption = try BackgroundResumption(data, home: home)
            resumption.record.id = id
            return (resumption.systemData, try description(for: resumption.record))
        } catch let unreadable as BackgroundTransferRecord.Unreadable {
            throw NetworkingError(.invalidRequest, request: HTTPRequestData(), reason: unreadable.reason)
        }
    }

    // MARK: What the session tells

    /// Bytes have moved; a total below zero is one that nobody knows.
    func progress(of description: String?, sent: (Int64, of: Int64)? = nil, received: (Int64, of: Int64)? = nil) {
        guard let id = id(of: description) else { return }
        func bytes(_ moved: (Int64, of: Int64)?) -> BytesTransferred {
            moved.map { BytesTransferred(count: $0, expected: $1 < 0 ? nil : $1) } ?? BytesTransferred()
        }
        events.send(.progress(id: id, TransferProgress(sent: bytes(sent), received: bytes(received))))
    }

    /// A part of the answer to an upload has come.
    func receive(_ data: Data, of number: Int) {
        transfers.withLock { transfers in
            let length = transfers[number]?.answer.count ?? 0
            transfers[number, default: Transfer()].answer.append(data.prefix(Self.maximumAnswer - length))
        }
    }

    /// A download's file has come, which the system removes when this returns.
    func take(_ file: URL, of task: EndOfTask) {
        let outcome = outcome(of: task, in: file)
        transfers.withLock { $0[task.number, default: Transfer()].outcome = outcome }
    }

    /// A task is over.
    func end(_ task: EndOfTask, with error: (any Error)?, resumeData: Data?) {
        let transfer = transfers.withLock { $0.removeValue(forKey: task.number) } ?? Transfer()
        events.send(transfer.outcome ?? outcome(of: task, with: error, resumeData, answer: transfer.answer))
    }

    // MARK: How a transfer ends

    /// How a download ends whose file has come.
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
            return .failed(id: record.id, BackgroundTransferFailure(request.invalidAnswer))
        }
        guard record.accepts(head.status) else {
            let page = try? PrivateFile.read(file.path, upTo: Self.maximumAnswer)
            let response = HTTPResponseData(request: request, http: head, body: .collected(page ?? Data()))
            return .failed(id: record.id, BackgroundTransferFailure(NetworkingError.refusedStatus(of: response)))
        }
        let length = (try? FileSnapshot(of: file.path).size) ?? 0
        let response = HTTPResponseData(request: request, http: head, body: .delivered(byteCount: length))
        let path = destination.path(for: head, to: task.request)
        do {
            let place = try FilePlacement.bring(file.path, to: path, ifExists: destination.existingFile)
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

    /// How a task ends that brought no file.
    private func outcome(
        of task: EndOfTask,
        with error: (any Error)?,
        _ resumeData: Data?,
        answer: Data
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
                reason: "The download ended, but its file did not come to this process. "
                    + "Look at the destination: an earlier one may have put it there."
            )
            return .failed(id: record.id, BackgroundTransferFailure(error))
        }
        guard let head = head(of: task) else {
            return .failed(id: record.id, BackgroundTransferFailure(request.invalidAnswer))
        }
        let response = HTTPResponseData(request: request, http: head, body: .collected(answer))
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

    /// Why a file could not get its place.
    private static func reason(for fault: FileFault, at path: String) -> String {
        guard let directory = PrivateFile.parent(of: path), !PrivateFile.isDirectory(directory) else {
            return fault.reason
        }
        return "There is no directory at \(PrintableText.singleLine(directory)). Make it before the download ends."
    }

    /// Keeps a file that has no place, until somebody fetches it.
    private func save(_ file: URL) -> URL? {
        let place = temporaryDirectory.appending(path: "networking-\(UUID().uuidString)")
        return (try? FilePlacement.bring(file.path, to: place.path, ifExists: .fail)).map { URL(filePath: $0) }
    }
}

extension BackgroundTransferRecord {
    fileprivate func accepts(_ status: HTTPResponse.Status) -> Bool {
        // The system puts parts together by itself, when a transfer broke, and hands out the head of the last.
        acceptedStatuses.contains(status) || status == .partialContent && acceptedStatuses.contains(.ok)
    }
}

extension DownloadDestination {
    /// The file, by the name that the server suggests where it has none.
    fileprivate func path(for head: HTTPResponse, to request: URLRequest?) -> String {
        guard place == .directory else { return url.path }
        // The request in full, with the path that is not to be shown: a name may come of it.
        var named = HTTPRequestData()
        named.url = request?.url
        let response = HTTPResponseData(request: named, http: head, body: .collected(Data()))
        return url.appending(path: response.suggestedFileName ?? "download", directoryHint: .notDirectory).path
    }
}

extension HTTPRequestData {
    /// The error of a task that failed, or that somebody has ended.
    fileprivate func failure(for error: any Error, after task: BackgroundTransferLedger.EndOfTask) -> any Error {
        guard let urlError = error as? URLError, urlError.code == .cancelled else {
            let head = task.response.flatMap { ReceivedHead($0, to: method) }
            return self.error(for: error, after: head, received: task.received)
        }
        guard let reason = urlError.userInfo[NSURLErrorBackgroundTaskCancelledReasonKey] as? Int else {
            return CancellationError()
        }
        // In the order of Apple's NSURLErrorCancelledReasonUserForceQuitApplication and those after it.
        let why = [
            "since the user has quit the app",
            "since the user lets it do nothing in the background",
            "for want of resources",
        ]
        return NetworkingError(
            .connectionLost,
            request: self,
            underlying: error,
            reason: "The system has ended the transfer\(why.indices.contains(reason) ? ", \(why[reason])" : ""). "
                + "Begin it anew, or resume it."
        )
    }
}
#endif
