public import Dispatch
public import FoundationForNetworking
public import NetworkingCore
public import NetworkingTransfers

extension NetworkingComponent {
    /// Sends a body and passes the response to a closure on a queue, if the request accepts its status.
    ///
    /// ```swift
    /// network.upload(.file(url), to: photos, queue: uploads) { progress in
    ///     print(progress.sent.count)
    /// } completion: { result in
    ///     print(result)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - body: The body to send: bytes, a file, parts, a form or a stream.
    ///   - request: The request. A GET becomes a POST.
    ///   - queue: The queue for the closures.
    ///   - progress: Receives the progress. A busy queue gets only the newest state.
    ///   - completion: Receives the response, or the error that `upload` throws.
    /// - Returns: A handle that can cancel the call; see `data(_:queue:progress:completion:)`.
    @discardableResult
    public func upload(
        _ body: RequestBody,
        to request: HTTPRequestData,
        queue: DispatchQueue,
        progress: (@Sendable (TransferProgress) -> Void)? = nil,
        completion: @escaping @Sendable (Result<HTTPResponseData, any Error>) -> Void
    ) -> CallHandle {
        let callback = Callback(on: queue, progress: progress, completion: completion)
        return callback.start { try await upload(body, to: request, progress: callback.progressHandler) }
    }

    /// Sends a body and passes the decoded response to a closure on a queue.
    ///
    /// - Parameters:
    ///   - body: The body to send.
    ///   - request: The request, and how to decode its response. A GET becomes a POST.
    ///   - queue: The queue for the closures.
    ///   - progress: Receives the progress. A busy queue gets only the newest state.
    ///   - completion: Receives the value and the response, or the error that `upload` throws.
    /// - Returns: A handle that can cancel the call; see `data(_:queue:progress:completion:)`.
    @discardableResult
    public func upload<Response: Sendable>(
        _ body: RequestBody,
        to request: Request<Response>,
        queue: DispatchQueue,
        progress: (@Sendable (TransferProgress) -> Void)? = nil,
        completion: @escaping @Sendable (Result<(body: Response, response: HTTPResponseData), any Error>) -> Void
    ) -> CallHandle {
        let callback = Callback(on: queue, progress: progress, completion: completion)
        return callback.start { try await upload(body, to: request, progress: callback.progressHandler) }
    }

    /// Sends a body and passes the decoded body of the response to a closure on a queue, together with the response.
    ///
    /// - Parameters:
    ///   - body: The body to send.
    ///   - request: The request. A GET becomes a POST.
    ///   - type: The type to decode.
    ///   - decoder: The decoder; `nil` uses that of the request or the stack, and then a plain `JSONDecoder`.
    ///   - queue: The queue for the closures.
    ///   - progress: Receives the progress. A busy queue gets only the newest state.
    ///   - completion: Receives the value and the response, or the error that `upload` throws.
    /// - Returns: A handle that can cancel the call; see `data(_:queue:progress:completion:)`.
    @discardableResult
    public func upload<Value: Decodable & Sendable>(
        _ body: RequestBody,
        to request: HTTPRequestData,
        as type: Value.Type,
        decoder: (any BodyDecoder)? = nil,
        queue: DispatchQueue,
        progress: (@Sendable (TransferProgress) -> Void)? = nil,
        completion: @escaping @Sendable (Result<(body: Value, response: HTTPResponseData), any Error>) -> Void
    ) -> CallHandle {
        let typed = Request<Value>(request, decoder: decoder)
        return upload(body, to: typed, queue: queue, progress: progress, completion: completion)
    }

    /// Downloads a file and passes it to a closure on a queue.
    ///
    /// A cancelled download keeps its bytes, so that the next one to the same place resumes. For a download that can
    /// be paused, use `transfer(downloading:to:)`.
    ///
    /// - Parameters:
    ///   - request: The request. Its own sink, if any, is not used.
    ///   - destination: The URL of the file. Nothing may exist there.
    ///   - options: How to treat a partial file, and the expected checksum.
    ///   - queue: The queue for the closures.
    ///   - progress: Receives the progress. A busy queue gets only the newest state.
    ///   - completion: Receives the file, or the error that `download` throws.
    /// - Returns: A handle that can cancel the call; see `data(_:queue:progress:completion:)`.
    @discardableResult
    public func download(
        _ request: HTTPRequestData,
        to destination: URL,
        options: DownloadOptions = DownloadOptions(),
        queue: DispatchQueue,
        progress: (@Sendable (TransferProgress) -> Void)? = nil,
        completion: @escaping @Sendable (Result<DownloadedFile, any Error>) -> Void
    ) -> CallHandle {
        download(
            request,
            to: .file(destination),
            options: options,
            queue: queue,
            progress: progress,
            completion: completion
        )
    }

    /// Downloads a file into a file or directory, with a policy for a file that already exists, and passes it to a
    /// closure on a queue.
    ///
    /// - Parameters:
    ///   - request: The request. Its own sink, if any, is not used.
    ///   - destination: A file or a directory, and the policy for a file that already exists.
    ///   - options: How to treat a partial file, and the expected checksum.
    ///   - queue: The queue for the closures.
    ///   - progress: Receives the progress. A busy queue gets only the newest state.
    ///   - completion: Receives the file, or the error that `download` throws.
    /// - Returns: A handle that can cancel the call; see `data(_:queue:progress:completion:)`.
    @discardableResult
    public func download(
        _ request: HTTPRequestData,
        to destination: DownloadDestination,
        options: DownloadOptions = DownloadOptions(),
        queue: DispatchQueue,
        progress: (@Sendable (TransferProgress) -> Void)? = nil,
        completion: @escaping @Sendable (Result<DownloadedFile, any Error>) -> Void
    ) -> CallHandle {
        let callback = Callback(on: queue, progress: progress, completion: completion)
        return callback.start {
            try await download(request, to: destination, options: options, progress: callback.progressHandler)
        }
    }
}

extension NetworkingComponent {
    /// Sends a body and passes the response to a closure on the main actor, if the request accepts its status.
    ///
    /// ```swift
    /// network.upload(.file(url), to: photos, on: .main) { progress in
    ///     bar.fraction = progress.sent.fractionCompleted ?? 0
    /// } completion: { result in
    ///     label.text = "\(result)"
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - body: The body to send.
    ///   - request: The request. A GET becomes a POST.
    ///   - main: The main queue, on which the closures run.
    ///   - progress: Receives the progress. A busy queue gets only the newest state.
    ///   - completion: Receives the response, or the error that `upload` throws.
    /// - Returns: A handle that can cancel the call; see `data(_:on:progress:completion:)`.
    @discardableResult
    public func upload(
        _ body: RequestBody,
        to request: HTTPRequestData,
        on main: MainQueue,
        progress: (@MainActor (TransferProgress) -> Void)? = nil,
        completion: @escaping @MainActor (Result<HTTPResponseData, any Error>) -> Void
    ) -> CallHandle {
        upload(
            body,
            to: request,
            queue: .main,
            progress: progress.map { MainQueue.closure($0) },
            completion: MainQueue.closure(completion)
        )
    }

    /// Sends a body and passes the decoded response to a closure on the main actor.
    ///
    /// - Parameters:
    ///   - body: The body to send.
    ///   - request: The request, and how to decode its response. A GET becomes a POST.
    ///   - main: The main queue, on which the closures run.
    ///   - progress: Receives the progress. A busy queue gets only the newest state.
    ///   - completion: Receives the value and the response, or the error that `upload` throws.
    /// - Returns: A handle that can cancel the call; see `data(_:on:progress:completion:)`.
    @discardableResult
    public func upload<Response: Sendable>(
        _ body: RequestBody,
        to request: Request<Response>,
        on main: MainQueue,
        progress: (@MainActor (TransferProgress) -> Void)? = nil,
        completion: @escaping @MainActor (Result<(body: Response, response: HTTPResponseData), any Error>) -> Void
    ) -> CallHandle {
        upload(
            body,
            to: request,
            queue: .main,
            progress: progress.map { MainQueue.closure($0) },
            completion: MainQueue.closure(completion)
        )
    }

    /// Sends a body and passes the decoded body of the response to a closure on the main actor, together with the
    /// response.
    ///
    /// - Parameters:
    ///   - body: The body to send.
    ///   - request: The request. A GET becomes a POST.
    ///   - type: The type to decode.
    ///   - decoder: The decoder; `nil` uses that of the request or the stack, and then a plain `JSONDecoder`.
    ///   - main: The main queue, on which the closures run.
    ///   - progress: Receives the progress. A busy queue gets only the newest state.
    ///   - completion: Receives the value and the response, or the error that `upload` throws.
    /// - Returns: A handle that can cancel the call; see `data(_:on:progress:completion:)`.
    @discardableResult
    public func upload<Value: Decodable & Sendable>(
        _ body: RequestBody,
        to request: HTTPRequestData,
        as type: Value.Type,
        decoder: (any BodyDecoder)? = nil,
        on main: MainQueue,
        progress: (@MainActor (TransferProgress) -> Void)? = nil,
        completion: @escaping @MainActor (Result<(body: Value, response: HTTPResponseData), any Error>) -> Void
    ) -> CallHandle {
        let typed = Request<Value>(request, decoder: decoder)
        return upload(body, to: typed, on: main, progress: progress, completion: completion)
    }

    /// Downloads a file and passes it to a closure on the main actor.
    ///
    /// - Parameters:
    ///   - request: The request. Its own sink, if any, is not used.
    ///   - destination: The URL of the file. Nothing may exist there.
    ///   - options: How to treat a partial file, and the expected checksum.
    ///   - main: The main queue, on which the closures run.
    ///   - progress: Receives the progress. A busy queue gets only the newest state.
    ///   - completion: Receives the file, or the error that `download` throws.
    /// - Returns: A handle that can cancel the call; see `data(_:on:progress:completion:)`.
    @discardableResult
    public func download(
        _ request: HTTPRequestData,
        to destination: URL,
        options: DownloadOptions = DownloadOptions(),
        on main: MainQueue,
        progress: (@MainActor (TransferProgress) -> Void)? = nil,
        completion: @escaping @MainActor (Result<DownloadedFile, any Error>) -> Void
    ) -> CallHandle {
        download(
            request,
            to: .file(destination),
            options: options,
            on: main,
            progress: progress,
            completion: completion
        )
    }

    /// Downloads a file into a file or directory, with a policy for a file that already exists, and passes it to a
    /// closure on the main actor.
    ///
    /// - Parameters:
    ///   - request: The request. Its own sink, if any, is not used.
    ///   - destination: A file or a directory, and the policy for a file that already exists.
    ///   - options: How to treat a partial file, and the expected checksum.
    ///   - main: The main queue, on which the closures run.
    ///   - progress: Receives the progress. A busy queue gets only the newest state.
    ///   - completion: Receives the file, or the error that `download` throws.
    /// - Returns: A handle that can cancel the call; see `data(_:on:progress:completion:)`.
    @discardableResult
    public func download(
        _ request: HTTPRequestData,
        to destination: DownloadDestination,
        options: DownloadOptions = DownloadOptions(),
        on main: MainQueue,
        progress: (@MainActor (TransferProgress) -> Void)? = nil,
        completion: @escaping @MainActor (Result<DownloadedFile, any Error>) -> Void
    ) -> CallHandle {
        download(
            request,
            to: destination,
            options: options,
            queue: .main,
            progress: progress.map { MainQueue.closure($0) },
            completion: MainQueue.closure(completion)
        )
    }
}
