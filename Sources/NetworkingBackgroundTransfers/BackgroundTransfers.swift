#if URLSession && !canImport(FoundationNetworking)
public import Foundation
public import NetworkingCore
public import NetworkingTransfers
import NetworkingURLSession

/// Downloads and uploads that the system carries out, also while the app does not run.
///
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
/// What has to be known at the end travels with the transfer, so the app that hears of it may be another process than
/// the one that began it: make the object again with the same identifier, as early as the app starts, and read its
/// events.
///
/// The stack only rewrites the request, as ``NetworkingComponent/resolved(_:)`` shows it: `server` and its kin take
/// part. What acts when a request is sent cannot, since the system sends it: `retry`, `authenticated`, `cached`,
/// `timeout`, `logged` and redirect policies. A token has to be in the request, and to last as long as the transfer may
/// take.
///
/// - Important: Make one for each identifier, and keep it as long as the process lives. What two with one identifier do
///   in a process, Apple leaves open; and the system keeps the session of one that is let go of.
public final class BackgroundTransfers: Sendable {
    private let session: URLSession
    private let ledger = BackgroundTransferLedger(home: .homeDirectory)

    /// Creates the session of an identifier, or takes it up again after the app was started anew.
    ///
    /// - Parameters:
    ///   - identifier: What tells the session from others of the app; the same in each process.
    ///   - configure: Changes the session's configuration: `isDiscretionary`, `allowsCellularAccess`,
    ///     `sharedContainerIdentifier`.
    public init(identifier: String, configure: (URLSessionConfiguration) -> Void = { _ in }) {
        let configuration = URLSessionConfiguration.background(withIdentifier: identifier)
        // Both would act behind the app's back.
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        configure(configuration)
        // No deinit ends it: transfers must go on, and a session that is being invalidated stands in the way of the
        // next.
        session = URLSession(
            configuration: configuration,
            delegate: BackgroundTransferDelegate(ledger),
            delegateQueue: nil
        )
    }

    /// What happens with the transfers of this session, in order.
    ///
    /// What happened before the first reader came waits for it, without a limit; of progress only the newest of each
    /// transfer. There is one reader at a time: two would share the events among them. The next reader goes on where
    /// the last one stopped.
    public var events: AsyncStream<BackgroundTransferEvent> {
        ledger.events.stream
    }

    // MARK: Beginning

    /// Has the system download something.
    ///
    /// The file is put in place when it is complete, whether or not somebody reads the events. A status that the
    /// request does not accept is a failure, and nothing is put in place.
    ///
    /// - Parameters:
    ///   - request: The request, without a body and without a sink.
    ///   - destination: Where the file goes; one in the app's home is found again after an update has moved that.
    ///   - id: What the events call the transfer. One that is used by another is not refused.
    ///   - network: The stack that rewrites the request.
    /// - Throws: A ``NetworkingError`` of kind ``NetworkingError/Kind/invalidRequest`` for what cannot be sent, or not
    ///   in the background.
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

    /// Has the system upload a file.
    ///
    /// The file must stay as it is until the upload has ended.
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - request: Where to. A GET becomes a POST; the file takes the place of a file that it has as its body.
    ///   - id: What the events call the transfer. One that is used by another is not refused.
    ///   - network: The stack that rewrites the request.
    /// - Throws: A ``NetworkingError`` of kind ``NetworkingError/Kind/invalidRequest`` for what cannot be sent, or not
    ///   in the background, and of kind ``NetworkingError/Kind/storage`` when the file cannot be read.
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

    /// Goes on with a download that was paused or has failed.
    ///
    /// It is sent as it was first, with the credentials of that time.
    ///
    /// - Parameters:
    ///   - id: What the events call the transfer from now on.
    ///   - resumeData: What `pause` returned, or ``BackgroundTransferFailure/resumeData``.
    /// - Throws: A ``NetworkingError`` of kind ``NetworkingError/Kind/invalidRequest`` when the data are something
    ///   else.
    public func resume(_ id: String, with resumeData: Data) throws {
        let (systemData, description) = try ledger.resumption(of: id, from: resumeData)
        start(session.downloadTask(withResumeData: systemData), described: description)
    }

    private func start(_ task: URLSessionTask, described description: String) {
        task.taskDescription = description
        task.resume()
    }

    // MARK: Ending

    /// Ends a download in such a way that it can be gone on with.
    ///
    /// Its end is an event, too: ``BackgroundTransferEvent/failed(id:_:)`` with a `CancellationError`. An upload goes
    /// on.
    ///
    /// - Parameter id: The id of the download.
    /// - Returns: What ``resume(_:with:)`` needs; it holds the request, credentials included. Nil when the server does
    ///   not allow to go on, when there is no such download, and when the caller is cancelled.
    public func pause(_ id: String) async -> Data? {
        for task in await tasks(of: id) {
            guard let download = task as? URLSessionDownloadTask else { continue }
            let pause = Suspension<Data?>()
            download.cancel(byProducingResumeData: { pause.resume(with: .success($0)) })
            let systemData = try? await pause.value()
            return ledger.resumeData(systemData, of: task.taskDescription)
        }
        return nil
    }

    /// Ends a transfer: ``BackgroundTransferEvent/failed(id:_:)`` with a `CancellationError`.
    ///
    /// Does nothing when it is over.
    ///
    /// - Parameter id: The id of the transfer.
    public func cancel(_ id: String) async {
        for task in await tasks(of: id) {
            task.cancel()
        }
    }

    /// Ends all transfers of this session.
    public func cancelAll() async {
        for task in await session.allTasks {
            task.cancel()
        }
    }

    /// The transfers that are not over.
    ///
    /// - Returns: Their ids, in no order.
    public func pending() async -> [String] {
        await session.allTasks.compactMap { ledger.id(of: $0.taskDescription) }
    }

    private func tasks(of id: String) async -> [URLSessionTask] {
        await session.allTasks.filter { ledger.id(of: $0.taskDescription) == id }
    }

    // MARK: The app's life

    /// Keeps what the system wants to be called when the app has dealt with what happened while it was not running.
    ///
    /// It is called once, when the reader of ``events`` comes to ``BackgroundTransferEvent/allDelivered``, so somebody
    /// must read.
    ///
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

/// Hands on what the session tells; the session holds it, and not the object above.
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
