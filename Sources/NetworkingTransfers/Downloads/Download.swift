public import FoundationForNetworking
import HTTPTypes
public import NetworkingCore

extension NetworkingComponent {
    /// Downloads a file, and resumes an earlier download to the same place if there is one.
    ///
    /// The request passes through the whole stack. The body is written to `film.mp4.download` next to the destination
    /// as it arrives. When the file is complete and on disk, it is renamed in one step, so no incomplete file ever
    /// appears at the destination.
    ///
    /// ```swift
    /// let film = try await network.download(HTTPRequestData(path: "film.mp4"), to: url) { progress in
    ///     print(progress.received.fractionCompleted ?? 0)
    /// }
    /// ```
    ///
    /// If the download ends early, through cancellation, an error or the end of the process, the received bytes are
    /// kept. The next download of the same URL to the same place requests the rest (`Range`), on the condition that the
    /// server still has the same file (`If-Range`). A `retry` in the stack does that too, within its budget and
    /// deadline. If the server has a different file by then, or cannot send parts, the download restarts. Resuming
    /// requires a GET, a strong validator (`ETag`, or a `Last-Modified` that is older than the response) and a known
    /// length; otherwise the partial file is removed.
    ///
    /// The download runs off the caller's actor, and so do the stack and the progress handler.
    ///
    /// Use `timeout(head:idle:)` in the stack, because the time limit of a plain `timeout` covers the whole download.
    /// The body is requested without compression (`Accept-Encoding: identity`), so that the download can be resumed. A
    /// request with its own `Accept-Encoding` keeps it.
    ///
    /// - Parameters:
    ///   - request: The request. Its own sink, if any, is not used.
    ///   - destination: The URL of the file. Nothing may exist there; see ``DownloadDestination`` for other policies.
    ///   - options: How to treat a partial file, and the expected checksum.
    ///   - tracker: Combines the progress of several transfers; `nil` if that is not needed.
    ///   - progress: Receives the progress in order. ``TransferProgress/received`` counts the bytes written, from the
    ///     kept bytes up to the complete file. The download waits for the handler, so keep it short.
    /// - Returns: The file, which only this user may read, and the response.
    /// - Throws: A ``NetworkingError`` of kind ``NetworkingError/Kind/status`` or ``NetworkingError/Kind/unauthorized``
    ///   if the request does not accept the status, of kind ``NetworkingError/Kind/storage`` if the file cannot be
    ///   written or another download is writing it, of kind ``NetworkingError/Kind/representationChanged`` if the file
    ///   has changed and the options say to fail, of kind ``NetworkingError/Kind/checksumMismatch`` if the file does
    ///   not have the expected checksum, and the errors of ``data(_:trackedBy:progress:)``.
    @discardableResult
    public func download(
        _ request: HTTPRequestData,
        to destination: URL,
        options: DownloadOptions = DownloadOptions(),
        trackedBy tracker: ProgressTracker? = nil,
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> DownloadedFile {
        try await download(
            request,
            to: .file(destination),
            options: options,
            trackedBy: tracker,
            progress: progress
        )
    }

    /// Downloads a file into a file or directory, with a policy for a file that already exists.
    ///
    /// ```swift
    /// let report = try await network.download(request, to: .directory(downloads))
    /// print(report.url.lastPathComponent)   // as the server suggests
    /// ```
    ///
    /// - Parameters:
    ///   - request: The request. Its own sink, if any, is not used.
    ///   - destination: A file or a directory, and the policy for a file that already exists.
    ///   - options: How to treat a partial file, and the expected checksum.
    ///   - tracker: Combines the progress of several transfers; `nil` if that is not needed.
    ///   - progress: Receives the progress. ``TransferProgress/received`` counts the bytes written.
    /// - Returns: The file and the response.
    /// - Throws: The same errors as the method that takes a URL.
    @discardableResult
    public func download(
        _ request: HTTPRequestData,
        to destination: DownloadDestination,
        options: DownloadOptions = DownloadOptions(),
        trackedBy tracker: ProgressTracker? = nil,
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> DownloadedFile {
        guard let tracker else {
            return try await Download(of: request, to: destination, options, over: self).run(progress)
        }
        return try await tracker.track(request) { request in
            try await Download(of: request, to: destination, options, over: self).run(progress)
        }
    }
}

/// A download in progress.
struct Download<Network: NetworkingComponent>: Sendable {
    private let network: Network
    private let original: HTTPRequestData
    /// The request after the components of the stack have rewritten it.
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
        // All parts of the file belong to the same user.
        var request = network.routed(request, keepingUsers: true)
        if !request.headerFields.contains(.acceptEncoding) {
            request.headerFields[.acceptEncoding] = "identity"
        }
        #if Crypto
        if options.digest == .required {
            request.askForDigests(HTTPDigestAlgorithm.allCases)
        }
        #endif
        self.request = request
        self.destination = destination
        self.options = options
    }

    /// Performs the download off the caller's actor, because it reads and writes files throughout.
    @concurrent
    func run(_ progress: (@Sendable (TransferProgress) -> Void)?) async throws -> DownloadedFile {
        try Task.checkCancellation()
        if let flaw = options.checksum?.flaw {
            throw failure(.invalidRequest, flaw)
        }
        try await DiskQueue.run(until: nil) { try checkDestination() }
        // Once, because another user may be signed in after a wait.
        let resource = resource
        let part = try await openPart(resource)
        var request = request
        if let progress {
            request.addProgressHandler(progress)
        }
        let report = request.progressHandler
        let toSend = request.bytesToSend
        let sent = LastValue<BytesSent>()
        let sink = DownloadSink(into: part, for: request, resource, options.changedFile) { received in
            report?(TransferProgress(sent: sent.value ?? toSend, received: received))
        }
        request.sink = sink
        // A 416 means that the kept bytes do not belong to the server's file. The download then requests the whole
        // file, so no component of the stack may throw for this status.
        request.acceptedStatuses = request.acceptedStatuses.union([416])
        if request.body != nil, let report {
            request.progressHandler = { transfer in
                // Received bytes count only when they are written, and then the sink reports them.
                guard sent.replace(with: transfer.sent) else { return }
                report(TransferProgress(sent: transfer.sent, received: sink.received))
            }
        } else {
            request.progressHandler = nil
        }
        do {
            let response = try await fetch(request, into: sink)
            try await verify(part)
            #if Crypto
            try await verifyDigest(of: part, after: response)
            #endif
            return try await finish(part, sink, response)
        } catch {
            sink.close()
            await part.close(isKept: sink.isKept && (error as? NetworkingError)?.kind != .checksumMismatch)
            throw error
        }
    }

    /// Returns the state of the partial file; `nil` if there is nothing to resume from.
    func keptState() -> DownloadState? {
        try? DownloadState(path: partPath(for: resource))
    }

    // MARK: Fetching

    /// Sends requests until the file is complete: one, unless the server changes or refuses the requested range.
    private func fetch(_ request: HTTPRequestData, into sink: DownloadSink) async throws -> HTTPResponseData {
        var request = request
        // A deadline covers all requests together.
        request.spanningDeadline = SpanningDeadline()
        while true {
            let count = sink.received.count
            let response = try await network.begin(routed: request, for: original)
            if try sink.refusesRest(response) { continue }
            guard self.request.acceptedStatuses.contains(response.status) else {
                throw NetworkingError.refusedStatus(of: response)
            }
            guard let hasProgressed = sink.progressed(from: count) else { return response }
            guard hasProgressed else {
                throw failure(.truncated, "The server's responses do not advance the download.", response)
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
                "The download is complete, but its checksum is \(actual.hexadecimal) instead of the expected "
                    + "\(checksum.expected.hexadecimal). The file was removed."
            )
        }
    }

    #if Crypto
    /// Compares the complete file with the digests that the last response states for the whole representation.
    private func verifyDigest(of part: PartialFile, after response: HTTPResponseData) async throws {
        guard options.digest != .ignored else { return }
        let isPart = request.headerFields.contains(.range)
        switch isPart ? .unknown("The request asks for a part of it.") : StatedDigests(of: response.http, to: request) {
        case .known(let digests):
            for digest in digests {
                let actual: Data
                do {
                    actual = try await part.checksum(Checksum(digest))
                } catch let fault as FileFault {
                    throw failure(.storage, fault.reason)
                }
                guard actual == digest.bytes else {
                    throw failure(
                        .checksumMismatch,
                        "The download is complete, but does not match its Repr-Digest field "
                            + "(\(digest.algorithm.rawValue)). The file was removed.",
                        response
                    )
                }
            }
        case .unknown(let reason):
            guard options.digest == .required else { return }
            throw failure(.invalidResponse, "The digest of the file cannot be checked. \(reason)", response)
        }
    }
    #endif

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
        } catch let fault as FileFault {
            throw failure(.storage, fault.reason)
        }
        return DownloadedFile(
            url: URL(fileURLWithPath: place),
            byteCount: sink.received.count,
            resumedByteCount: sink.resumedCount,
            response: response
        )
    }

    // MARK: Paths

    private func partPath(for resource: String) -> String {
        switch destination.place {
        case .file: PartialFile.path(for: destination.url.path)
        // The file name is not known yet.
        case .directory: PartialFile.path(for: destination.url.appending(path: resource).path)
        }
    }

    /// A digest that identifies the downloaded resource.
    private var resource: String {
        if let key = options.resumptionKey { return StableDigest.hex(of: ["key", key]) }
        return StableDigest.hex(
            of: [request.method.rawValue, request.absoluteString ?? "", network.principal(for: request)?.id ?? ""]
        )
    }

    /// Throws, before anything is sent, if the file could not be moved to its destination.
    private func checkDestination() throws {
        let url = destination.url
        guard url.isFileURL else {
            throw failure(
                .storage,
                "The destination of a download must be a file URL (is \(url.scheme ?? "a URL without a scheme"))."
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
            // A name whose status cannot be read is checked again when the file gets it.
            guard destination.existingFile != .fail || (try? PrivateFile.isTaken(path)) != true else {
                throw failure(
                    .storage,
                    "\(name) already exists. Remove it, or download with ifExists: .replace or .number."
                )
            }
        }
    }

    private func openPart(_ resource: String) async throws -> PartialFile {
        do {
            return try await PartialFile.open(at: partPath(for: resource), for: resource, options.partialFile)
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
