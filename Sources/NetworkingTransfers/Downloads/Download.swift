import HTTPTypes
public import NetworkingCore

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension NetworkingComponent {
    /// Downloads a file, and goes on where an earlier download to the same place ended.
    ///
    /// It goes through the whole stack. The body is written as it comes, into `film.mp4.download` beside the
    /// destination, and that file gets its name in one step when all of it is there and on the disk: nobody ever sees a
    /// half one under that name.
    ///
    /// ```swift
    /// let film = try await network.download(HTTPRequestData(path: "film.mp4"), to: url) { received in
    ///     print(received.fractionCompleted ?? 0)
    /// }
    /// ```
    ///
    /// What has arrived is kept when it ends early, be it by a cancellation, an error or the end of the process: the
    /// next download of the same URL to the same place asks for the rest (`Range`), on the condition that the server
    /// still has the same (`If-Range`). A `retry` in the stack does that too, under its budget and deadline. If the
    /// server has another file by then, or cannot send parts, it begins anew. For that it takes a GET, a strong
    /// validator (`ETag`, or a `Last-Modified` that is older than the response) and a known length; a part without is
    /// removed.
    ///
    /// The download runs off the caller's actor, and so does everything that it calls: the stack and the progress
    /// handler.
    ///
    /// Put `timeout(head:idle:)` into the stack: a `timeout` for the whole counts the whole download. So that parts can
    /// be gone on with, the body is asked for as it is (`Accept-Encoding: identity`), unless the request says
    /// otherwise.
    ///
    /// - Parameters:
    ///   - request: The request; a sink of its own is not used.
    ///   - destination: Where the file will be. Nothing may be there; see ``DownloadDestination`` for other wishes.
    ///   - options: How it goes on with what is there, and what is expected of it.
    ///   - tracker: Adds up the progress of several; nil when nobody does.
    ///   - progress: Hears how much is written, from what was kept to all, in order. Keep it short: the download waits
    ///     for it.
    /// - Returns: The file, which only this user may read, and the response.
    /// - Throws: A ``NetworkingError`` of kind ``NetworkingError/Kind/status`` or ``NetworkingError/Kind/unauthorized``
    ///   when the status is not among the request's accepted ones, of kind ``NetworkingError/Kind/storage`` when the
    ///   file cannot be written or another download writes it, of kind ``NetworkingError/Kind/representationChanged``
    ///   if that was wished, of kind ``NetworkingError/Kind/checksumMismatch``, and what ``data(_:progress:)`` throws.
    @discardableResult
    public func download(
        _ request: HTTPRequestData,
        to destination: URL,
        options: DownloadOptions = DownloadOptions(),
        trackedBy tracker: ProgressTracker? = nil,
        progress: (@Sendable (BytesReceived) -> Void)? = nil
    ) async throws -> DownloadedFile {
        try await download(
            request,
            to: .file(destination),
            options: options,
            trackedBy: tracker,
            progress: progress
        )
    }

    /// Downloads a file to a place, under conditions for what is there.
    ///
    /// ```swift
    /// let report = try await network.download(request, to: .directory(downloads))
    /// print(report.url.lastPathComponent)   // as the server suggests
    /// ```
    ///
    /// - Parameters:
    ///   - request: The request; a sink of its own is not used.
    ///   - destination: A file or a directory, and what becomes of a file that is there.
    ///   - options: How it goes on with what is there, and what is expected of it.
    ///   - tracker: Adds up the progress of several; nil when nobody does.
    ///   - progress: Hears how much is written.
    /// - Returns: The file and the response.
    /// - Throws: What the form with a URL throws.
    @discardableResult
    public func download(
        _ request: HTTPRequestData,
        to destination: DownloadDestination,
        options: DownloadOptions = DownloadOptions(),
        trackedBy tracker: ProgressTracker? = nil,
        progress: (@Sendable (BytesReceived) -> Void)? = nil
    ) async throws -> DownloadedFile {
        guard let tracker else {
            return try await Download(of: request, to: destination, options, over: self).run(progress)
        }
        return try await tracker.track(request) { request in
            try await Download(of: request, to: destination, options, over: self).run(progress)
        }
    }
}

/// One download on its way.
struct Download<Network: NetworkingComponent>: Sendable {
    private let network: Network
    private let original: HTTPRequestData
    /// The request as the chain rewrites it.
    private let request: HTTPRequestData
    private let destination: DownloadDestination
    private let options: DownloadOptions

    init(
        of request: HTTPRequestData,
        to destination: DownloadDestination,
        _ options: DownloadOptions,
        over network: Network
    ) {
        self.network = network
        original = request
        var request = network.resolved(request)
        if !request.headerFields.contains(.acceptEncoding) {
            request.headerFields[.acceptEncoding] = "identity"
        }
        self.request = request
        self.destination = destination
        self.options = options
    }

    /// Carries out the download, off the caller's actor: all of it reads or writes files.
    @concurrent
    func run(_ progress: (@Sendable (BytesReceived) -> Void)?) async throws -> DownloadedFile {
        try Task.checkCancellation()
        if let flaw = options.checksum?.flaw {
            throw failure(.invalidRequest, flaw)
        }
        try checkDestination()
        let part = try storing { try PartialFile(at: partPath, for: resource, options.keptPart) }
        let handler = request.progressHandler
        let toSend = request.bytesToSend
        let sent = LastValue(toSend)
        let sink = DownloadSink(into: part, for: request, resource, options.changedFile) { received in
            handler?(TransferProgress(sent: sent.value ?? toSend, received: received))
            progress?(received)
        }
        var request = request
        request.sink = sink
        // It says that what is kept is not of the file, and then the file is asked for as a whole: nobody in the stack
        // may throw for it.
        request.acceptedStatuses = request.acceptedStatuses.union([416])
        if request.body != nil, let handler {
            request.progressHandler = { transfer in
                // What is received counts when it is written.
                _ = sent.replace(with: transfer.sent)
                handler(TransferProgress(sent: transfer.sent, received: sink.received))
            }
        } else {
            request.progressHandler = nil
        }
        do {
            let response = try await fetch(request, into: sink)
            try await verify(part)
            return try await finish(part, sink, response)
        } catch {
            sink.close()
            part.close(isKept: sink.isKept && (error as? NetworkingError)?.kind != .checksumMismatch)
            throw error
        }
    }

    /// What is kept of this download; nil when nothing is that could be gone on with.
    func keptState() -> DownloadState? {
        try? DownloadState(path: partPath)
    }

    // MARK: Fetching

    /// Makes exchanges until all of it is there: one, unless the server has changed its mind about parts.
    private func fetch(_ request: HTTPRequestData, into sink: DownloadSink) async throws -> HTTPResponseData {
        let clock = NetworkEnvironment.current.clock
        let start = clock.now
        while true {
            let count = sink.received.count
            var request = request
            // It is for all exchanges together.
            request.deadline = request.deadline.map { $0 - (clock.now - start) }
            var response = try await network.begin(request)
            response.request = original
            if try sink.refusesRest(response) { continue }
            guard self.request.acceptedStatuses.contains(response.status) else {
                throw NetworkingError.refusedStatus(of: response)
            }
            guard let hasProgressed = sink.progressed(from: count) else { return response }
            guard hasProgressed else {
                throw failure(.truncated, "The server's answers bring the download no further.", response)
            }
        }
    }

    private func verify(_ part: PartialFile) async throws {
        guard let checksum = options.checksum else { return }
        let actual: Data
        do {
            actual = try await part.checksum(checksum)
        } catch let fault as FileFault {
            throw failure(.storage, fault.reason)
        }
        guard actual == checksum.expected else {
            throw failure(
                .checksumMismatch,
                "All of the file has arrived, and it is not the one that was expected: its checksum is \(actual.hexadecimal) and should be "
                    + "\(checksum.expected.hexadecimal). It was removed."
            )
        }
    }

    private func finish(
        _ part: PartialFile,
        _ sink: DownloadSink,
        _ response: HTTPResponseData
    ) async throws -> DownloadedFile {
        let path =
            switch destination.place {
            case .file: destination.url.path
            case .directory: destination.url.appending(path: response.suggestedFileName ?? "download").path
            }
        let place: String
        do {
            place = try await part.place(at: path, ifExists: destination.existingFile)
        } catch {
            throw failure(.storage, error.reason)
        }
        return DownloadedFile(
            url: URL(fileURLWithPath: place),
            byteCount: sink.received.count,
            resumedByteCount: sink.resumedCount,
            response: response
        )
    }

    // MARK: Where

    private var partPath: String {
        switch destination.place {
        case .file: PartialFile.path(for: destination.url.path)
        // Nobody knows yet what it will be called.
        case .directory: PartialFile.path(for: destination.url.appending(path: resource).path)
        }
    }

    /// What is downloaded, by a digest.
    private var resource: String {
        if let key = options.resumptionKey { return StableDigest.hex(of: ["key", key]) }
        return StableDigest.hex(
            of: [request.method.rawValue, request.absoluteString ?? "", network.principal(for: request)?.id ?? ""]
        )
    }

    /// Fails where the file could not be put in its place, before anything is sent.
    private func checkDestination() throws {
        let url = destination.url
        guard url.isFileURL else {
            throw failure(
                .storage,
                "A download goes to a file, and \(url.scheme ?? "a URL without a scheme") names none."
            )
        }
        let path = url.path
        let name = PrintableText.singleLine(path)
        switch destination.place {
        case .directory:
            guard PrivateFile.isDirectory(path) else {
                throw failure(.storage, "There is no directory at \(name). Create it first.")
            }
        case .file:
            guard !PrivateFile.isDirectory(path) else {
                throw failure(.storage, "\(name) is a directory. Name a file in it, or use .directory(_:).")
            }
            guard let parent = PrivateFile.parent(of: path), PrivateFile.isDirectory(parent) else {
                throw failure(.storage, "There is no directory for \(name). Create it first.")
            }
            guard destination.existingFile != .fail || !PrivateFile.isTaken(path) else {
                throw failure(
                    .storage,
                    "There is something at \(name) already. Remove it, or download with ifExists: .replace or .number."
                )
            }
        }
    }

    private func storing<Value>(_ work: () throws -> Value) throws -> Value {
        do {
            return try work()
        } catch let fault as FileFault {
            throw failure(.storage, fault.reason)
        } catch let error as DownloadStateError {
            throw failure(.storage, error.reason)
        }
    }

    private func failure(
        _ kind: NetworkingError.Kind,
        _ reason: String,
        _ response: HTTPResponseData? = nil
    ) -> NetworkingError {
        NetworkingError(kind, request: request, response: response, reason: reason)
    }
}
