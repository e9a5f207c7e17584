#if URLSession && !canImport(FoundationNetworking)
public import Foundation
public import NetworkingCore
public import NetworkingTransfers
import NetworkingURLSession

/// Downloads and uploads that the system performs, even while the app is not running.
///
/// <!-- snippet: fragment Apple's platforms -->
/// ```swift
/// let transfers = BackgroundTransfers(identifier: "com.example.app.films")
/// try transfers.download(film, to: .directory(films), id: "film-42", over: network)
/// for await event in transfers.events {
///     switch event {
///     case .progress(let id, let progress): show(progress, of: id)
///     case .finished(let id, _, let file): keep(file, of: id)
///     case .failed(let id, let failure): report(failure, of: id)
///     default: break
///     }
/// }
/// ```
///
/// The system stores the metadata of a transfer, so a later process of the app can receive its events. The metadata
/// contain neither header fields nor values of the query. Create the object again with the same identifier as early as
/// possible after the app starts, and read its events.
///
/// The stack only rewrites the request, as ``NetworkingComponent/resolved(_:)`` shows: `server` and similar components
/// have an effect. Components that act when a request is sent have none, because the system sends it: `retry`,
/// `authenticated`, `cached`, `timeout`, `logged` and redirect policies. A token must be in the request, and must be
/// valid for the whole transfer.
///
/// - Important: Create one object for each identifier, and keep it for the lifetime of the process. Apple does not
///   define how two sessions with the same identifier behave in one process, and the system keeps the session of an
///   object that is released.
public final class BackgroundTransfers: Sendable {
    private let session: URLSession
    private let ledger = BackgroundTransferLedger(home: .homeDirectory)

    /// Creates the session of an identifier, or reconnects to it after a restart of the app.
    ///
    /// - Parameters:
    ///   - identifier: The identifier of the session, unique within the app and the same in each process.
    ///   - configure: Changes the session's configuration: `isDiscretionary`, `allowsCellularAccess`,
    ///     `sharedContainerIdentifier`.
    public init(identifier: String, configure: (URLSessionConfiguration) -> Void = { _ in }) {
        let configuration = URLSessionConfiguration.background(withIdentifier: identifier)
        // The session would use both without the app's knowledge.
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        configure(configuration)
        // There is no deinit that ends the session: transfers must continue, and a session that is being invalidated
        // blocks the next one.
        session = URLSession(
            configuration: configuration,
            delegate: BackgroundTransferDelegate(ledger),
            delegateQueue: nil
        )
    }

    /// The events of this session's transfers, in order.
    ///
    /// Events from before the first reader are kept without a limit, but only the newest progress of each transfer. Use
    /// one reader at a time, because two readers would each receive only some of the events. The next reader continues
    /// where the last one stopped.
    public var events: AsyncStream<BackgroundTransferEvent> {
        ledger.events.stream
    }

    // MARK: Starting

    /// Starts a download that the system performs.
    ///
    /// The complete file is moved to its destination, even if the events are not being read. If the request does not
    /// accept the status, the transfer fails and no file is moved.
    ///
    /// - Parameters:
    ///   - request: The request, without a body and without a sink.
    ///   - destination: The destination of the file. A path in the app's home directory stays valid after an update has
    ///     moved that directory.
    ///   - id: The id of the transfer in the events. An id that is already in use is not rejected.
    ///   - network: The stack that rewrites the request.
    /// - Throws: A ``NetworkingError`` of kind ``NetworkingError/Kind/invalidRequest`` if the request cannot be sent,
    ///   or not in the background.
    public func download(
        _ request: HTTPRequestData,
        to destination: DownloadDestination,
        id: String,
        over network: some NetworkingComponent
    ) throws {
        let departure = try BackgroundDeparture(request, id: id, to: destination, over: network)
        let description = try ledger.description(for: departure.record)
        start(session.downloadTask(with: departure.request), described: description)
    }

    /// Starts an upload of a file that the system performs.
    ///
    /// The file must not change until the upload has ended.
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - request: The request. A GET becomes a POST; the file replaces a file that the request has as its body.
    ///   - id: The id of the transfer in the events. An id that is already in use is not rejected.
    ///   - network: The stack that rewrites the request.
    /// - Throws: A ``NetworkingError`` of kind ``NetworkingError/Kind/invalidRequest`` if the request cannot be sent,
    ///   or not in the background, and of kind ``NetworkingError/Kind/storage`` if the file cannot be read.
    public func upload(
        file: URL,
        to request: HTTPRequestData,
        id: String,
        over network: some NetworkingComponent
    ) throws {
        let departure = try BackgroundDeparture(request, id: id, sending: file, over: network)
        let description = try ledger.description(for: departure.record)
        start(session.uploadTask(with: departure.request, fromFile: file), described: description)
    }

    /// Resumes a download that was paused or has failed.
    ///
    /// The request is sent unchanged, with the credentials that it had when the download started.
    ///
    /// - Parameters:
    ///   - id: The id of the transfer in the events from now on.
    ///   - resumeData: The result of `pause`, or ``BackgroundTransferFailure/resumeData``.
    /// - Throws: A ``NetworkingError`` of kind ``NetworkingError/Kind/invalidRequest`` if the data is not resume data
    ///   of this library.
    public func resume(_ id: String, with resumeData: Data) throws {
        let (systemData, description) = try ledger.resumption(of: id, from: resumeData)
        start(session.downloadTask(withResumeData: systemData), described: description)
    }

    private func start(_ task: URLSessionTask, described description: String) {
        task.taskDescription = description
        task.resume()
    }

    // MARK: Cancelling

    /// Cancels a download so that it can be resumed later.
    ///
    /// The cancellation also causes an event: ``BackgroundTransferEvent/failed(id:_:)`` with a `CancellationError`. An
    /// upload is not cancelled and continues.
    ///
    /// - Parameter id: The id of the download.
    /// - Returns: The data for ``resume(_:with:)``, which contains the request, including credentials. `nil` if the
    ///   server does not support resuming, if there is no such download, or if the caller is cancelled.
    public func pause(_ id: String) async -> Data? {
        for task in await tasks(of: id) {
            guard let download = task as? URLSessionDownloadTask else { continue }
            let pause = Suspension<Data?>()
            download.cancel(byProducingResumeData: { pause.resume(with: .success($0)) })
            let systemData = try? await pause.value(until: nil)
            return ledger.resumeData(systemData, of: task.taskDescription)
        }
        return nil
    }

    /// Cancels a transfer, which ends with ``BackgroundTransferEvent/failed(id:_:)`` and a `CancellationError`.
    ///
    /// Does nothing if the transfer has ended.
    ///
    /// - Parameter id: The id of the transfer.
    public func cancel(_ id: String) async {
        for task in await tasks(of: id) {
            task.cancel()
        }
    }

    /// Cancels all transfers of this session.
    public func cancelAll() async {
        for task in await session.allTasks {
            task.cancel()
        }
    }

    /// Returns the transfers that have not ended.
    ///
    /// - Returns: Their ids, in no particular order.
    public func pending() async -> [String] {
        await session.allTasks.compactMap { ledger.id(of: $0.taskDescription) }
    }

    private func tasks(of id: String) async -> [URLSessionTask] {
        await session.allTasks.filter { ledger.id(of: $0.taskDescription) == id }
    }

    // MARK: App lifecycle

    /// Stores the system's completion handler, and calls it after the app has read the events that occurred while it
    /// was not running.
    ///
    /// The handler is called once, when the reader of ``events`` receives ``BackgroundTransferEvent/allDelivered``. The
    /// events must therefore be read.
    ///
    /// <!-- snippet: fragment Apple's platforms -->
    /// ```swift
    /// func application(
    ///     _ application: UIApplication,
    ///     handleEventsForBackgroundURLSession identifier: String,
    ///     completionHandler: @escaping () -> Void
    /// ) {
    ///     transfers.handleEvents(completionHandler: completionHandler)
    /// }
    /// ```
    ///
    /// - Parameter completionHandler: The system's handler.
    @MainActor
    public func handleEvents(completionHandler: @escaping () -> Void) {
        ledger.events.whenDelivered { completionHandler() }
    }
}

/// Forwards the session's delegate calls; the session retains it, but not the object above.
private final class BackgroundTransferDelegate: NSObject, URLSessionDownloadDelegate, URLSessionDataDelegate {
    private let ledger: BackgroundTransferLedger

    init(_ ledger: BackgroundTransferLedger) {
        self.ledger = ledger
    }

    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    ) {
        let received = (totalBytesWritten, of: totalBytesExpectedToWrite)
        ledger.progress(of: downloadTask.taskDescription, received: received)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        ledger.progress(of: task.taskDescription, sent: (totalBytesSent, of: totalBytesExpectedToSend))
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        ledger.receive(data, of: dataTask.taskIdentifier)
    }

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        ledger.take(location, of: BackgroundTransferLedger.EndOfTask(downloadTask))
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let resumeData = (error as NSError?)?.userInfo[NSURLSessionDownloadTaskResumeData] as? Data
        ledger.end(BackgroundTransferLedger.EndOfTask(task), with: error, resumeData: resumeData)
    }

    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
        ledger.events.send(.allDelivered)
    }
}

extension BackgroundTransferLedger.EndOfTask {
    fileprivate init(_ task: URLSessionTask) {
        self.init(
            number: task.taskIdentifier,
            description: task.taskDescription,
            isDownload: task is URLSessionDownloadTask,
            request: task.currentRequest ?? task.originalRequest,
            response: task.response,
            received: task.countOfBytesReceived
        )
    }
}
#endif
