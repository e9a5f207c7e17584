public import NetworkingCore

extension NetworkingComponent {
    /// Sends a body and returns the response, if the request accepts its status.
    ///
    /// The request passes through the whole stack: it is authenticated, throttled and, if the body can be sent again,
    /// retried like any other request.
    ///
    /// ```swift
    /// let photos = HTTPRequestData(path: "photos")
    /// try await network.upload(.file(url), to: photos) { progress in
    ///     print(progress.sent.fractionCompleted ?? 0)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - body: The body to send: bytes, a file, parts, a form or a stream.
    ///   - request: The request. A GET, which has no body, becomes a POST.
    ///   - tracker: Combines the progress of several transfers; `nil` if that is not needed.
    ///   - progress: Receives each change of the progress. ``TransferProgress/sent`` counts the body from zero to all
    ///     of its bytes, and restarts at zero if the body is sent again. ``TransferProgress/received`` counts the
    ///     response.
    /// - Returns: The response.
    /// - Throws: A ``NetworkingError`` of kind ``NetworkingError/Kind/status`` or ``NetworkingError/Kind/unauthorized``
    ///   if the status is not accepted, of kind ``NetworkingError/Kind/storage`` if a file cannot be read, and the
    ///   errors of ``data(_:trackedBy:progress:)``.
    @discardableResult
    public func upload(
        _ body: RequestBody,
        to request: HTTPRequestData,
        trackedBy tracker: ProgressTracker? = nil,
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> HTTPResponseData {
        try await upload(body, to: Request<HTTPResponseData>(request) { $0 }, trackedBy: tracker, progress: progress)
            .body
    }

    /// Sends a body and decodes the response as the request specifies.
    ///
    /// ```swift
    /// let (photo, _) = try await network.upload(.file(url), to: Request<Photo>.post("photos"))
    /// ```
    ///
    /// - Parameters:
    ///   - body: The body to send. It replaces the request's own body.
    ///   - request: The request, and how to decode its response. A GET becomes a POST.
    ///   - tracker: Combines the progress of several transfers.
    ///   - progress: Receives each change of the progress.
    /// - Returns: The value and the response that it was decoded from.
    /// - Throws: The errors of ``value(_:)-(Request<Response>)``.
    public func upload<Response: Sendable>(
        _ body: RequestBody,
        to request: Request<Response>,
        trackedBy tracker: ProgressTracker? = nil,
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> (body: Response, response: HTTPResponseData) {
        let upload = request.uploading(body, progress: progress)
        guard let tracker else { return try await value(upload) }
        return try await tracker.track(upload.http) { try await value(upload.sending($0)) }
    }
}

extension HTTPRequestData {
    /// Returns the request with a body, and with a method that allows one.
    package func uploading(_ body: RequestBody) -> HTTPRequestData {
        var request = self
        request.body = body
        if method == .get {
            request.method = .post
        }
        return request
    }
}

extension Request {
    /// Returns the request with a body, and with a closure that receives each change of the progress.
    func uploading(_ body: RequestBody, progress: (@Sendable (TransferProgress) -> Void)?) -> Request {
        var request = self
        request.http = http.uploading(body)
        if let progress {
            // A transport may report the same state several times.
            let last = LastValue<TransferProgress>()
            request.http.addProgressHandler { transfer in
                if last.replace(with: transfer) {
                    progress(transfer)
                }
            }
        }
        return request
    }
}

extension NetworkingComponent {
    /// Starts to send a body and returns a handle to the transfer.
    ///
    /// ```swift
    /// let transfer = network.transfer(uploading: .file(film), to: films)
    /// stopButton.action = { transfer.cancel() }
    /// let response = try await transfer.value
    /// ```
    ///
    /// - Parameters:
    ///   - body: The body to send.
    ///   - request: The request. A GET becomes a POST.
    ///   - group: Retains the transfer until it ends, counts it, and can cancel it; `nil` if it belongs to no group.
    /// - Returns: The handle. Releasing it cancels the transfer, unless a group retains it. Its value is the response,
    ///   or the error that `upload` throws.
    public func transfer(
        uploading body: RequestBody,
        to request: HTTPRequestData,
        in group: TransferGroup? = nil
    ) -> Transfer<HTTPResponseData> {
        Transfer(of: notingUsers(of: request.uploading(body)), in: group) { try await upload(body, to: $0) }
    }

    /// Starts to send a body and returns a handle to the transfer.
    ///
    /// Its value is the decoded response.
    ///
    /// - Parameters:
    ///   - body: The body to send.
    ///   - request: The request, and how to decode its response. A GET becomes a POST.
    ///   - group: Retains the transfer until it ends, counts it, and can cancel it; `nil` if it belongs to no group.
    /// - Returns: The handle. Releasing it cancels the transfer, unless a group retains it. Its value is the decoded
    ///   value and the response.
    public func transfer<Response: Sendable>(
        uploading body: RequestBody,
        to request: Request<Response>,
        in group: TransferGroup? = nil
    ) -> Transfer<(body: Response, response: HTTPResponseData)> {
        Transfer(of: notingUsers(of: request.http.uploading(body)), in: group) {
            try await upload(body, to: request.sending($0))
        }
    }
}

extension Request {
    /// Returns the same decoding for another request message.
    fileprivate func sending(_ http: HTTPRequestData) -> Request {
        var request = self
        request.http = http
        return request
    }
}
