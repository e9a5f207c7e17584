public import NetworkingCore

extension NetworkingComponent {
    /// Uploads a body by a protocol that can resume after an interruption, and resumes an earlier upload if there is
    /// one.
    ///
    /// ```swift
    /// try await network.upload(.file(film), to: films, resumable: .automatic) { progress in
    ///     print(progress.sent.fractionCompleted ?? 0)
    /// }
    /// ```
    ///
    /// Each request passes through the whole stack. After a lost connection or a temporary failure of the server, the
    /// upload asks the server how many bytes it has, and continues there. A file has a state file beside it, from which
    /// the same call resumes after a cancellation, an error or the end of the process. A file that has changed
    /// meanwhile is refused. If the server no longer has the upload, it restarts once, unless it may be complete.
    ///
    /// If the URL that the server names for the upload has another origin than the request, it receives the bytes but
    /// no credentials.
    ///
    /// Use `timeout(head:idle:)` in the stack, because the time limit of a plain `timeout` covers a whole request. A
    /// `deadline` covers all requests of the call and the waits between them. A cancelled caller gets
    /// `CancellationError`, and the upload can be resumed.
    ///
    /// Source: draft-ietf-httpbis-resumable-upload, the editors' text after draft 11 (interop version 8), and tus
    /// resumable upload protocol 1.0.0.
    ///
    /// - Parameters:
    ///   - body: A file or bytes in memory. With ``ResumableUpload/automatic``, any other body is sent in one request.
    ///   - request: The request. A GET becomes a POST. An upload by tus is created with a POST in any case.
    ///   - resumable: The protocol.
    ///   - options: How the upload is divided, retried and checked, and where its state is stored.
    ///   - tracker: Combines the progress of several transfers; `nil` if that is not needed.
    ///   - progress: Receives each change of the progress. ``TransferProgress/sent`` never decreases.
    /// - Returns: The response to the request that completed the upload. If that response was lost, it is the one that
    ///   states that the upload is complete, without a body.
    /// - Throws: A ``NetworkingError`` of kind ``NetworkingError/Kind/representationChanged`` if the file has changed
    ///   since the upload began, of kind ``NetworkingError/Kind/tooLarge`` if the server does not accept its size, of
    ///   kind ``NetworkingError/Kind/storage`` if the file or the state cannot be read or another upload is using the
    ///   state, of kind ``NetworkingError/Kind/invalidResponse`` if the server breaks the protocol, and the errors of
    ///   ``upload(_:to:trackedBy:progress:)-(_,HTTPRequestData,_,_)``.
    @discardableResult
    public func upload(
        _ body: RequestBody,
        to request: HTTPRequestData,
        resumable: ResumableUpload,
        options: UploadOptions = UploadOptions(),
        trackedBy tracker: ProgressTracker? = nil,
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> HTTPResponseData {
        let request = request.uploading(body, progress: progress)
        guard let tracker else {
            return try await ResumingUpload(body, to: request, resumable, options, over: self).run().response
        }
        return try await tracker.track(request) { request in
            try await ResumingUpload(body, to: request, resumable, options, over: self).run().response
        }
    }

    /// Uploads a body by a protocol that can resume after an interruption, and decodes the response.
    ///
    /// ```swift
    /// let user = Request<User>.post("users")
    /// let (emily, _) = try await network.upload(.file(photo), to: user, resumable: .ietf)
    /// ```
    ///
    /// A server that supports tus sends no body in its last response, and a lost response cannot be repeated. Use an
    /// optional or `Void` for such a server.
    ///
    /// - Parameters:
    ///   - body: A file or bytes in memory. It replaces the request's own body.
    ///   - request: The request, and how to decode its response. A GET becomes a POST.
    ///   - resumable: The protocol.
    ///   - options: How the upload is divided, retried and checked, and where its state is stored.
    ///   - tracker: Combines the progress of several transfers.
    ///   - progress: Receives each change of the progress.
    /// - Returns: The value and the response that it was decoded from.
    /// - Throws: The errors of the method that takes an ``HTTPRequestData``, and a ``NetworkingError`` of kind
    ///   ``NetworkingError/Kind/decoding`` if the body cannot be decoded.
    public func upload<Response: Sendable>(
        _ body: RequestBody,
        to request: Request<Response>,
        resumable: ResumableUpload,
        options: UploadOptions = UploadOptions(),
        trackedBy tracker: ProgressTracker? = nil,
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> (body: Response, response: HTTPResponseData) {
        let http = request.http.uploading(body, progress: progress)
        guard let tracker else {
            return try await ResumingUpload(body, to: http, resumable, options, over: self).run().decoded(by: request)
        }
        return try await tracker.track(http) { http in
            try await ResumingUpload(body, to: http, resumable, options, over: self).run().decoded(by: request)
        }
    }

    /// Starts to upload a body by a protocol that can resume, and returns a handle to the transfer.
    ///
    /// ```swift
    /// let transfer = network.transfer(uploading: .file(film), to: films, resumable: .automatic)
    /// pauseButton.action = { await transfer.pause() }
    /// resumeButton.action = { transfer.resume() }
    /// let response = try await transfer.value
    /// ```
    ///
    /// - Parameters:
    ///   - body: A file or bytes in memory.
    ///   - request: The request. A GET becomes a POST.
    ///   - resumable: The protocol.
    ///   - options: How the upload is divided, retried and checked, and where its state is stored.
    ///   - group: Retains the transfer until it ends, counts it, and can cancel it; `nil` if it belongs to no group.
    /// - Returns: The handle. Releasing it cancels the transfer, unless a group retains it. Its value is the response,
    ///   or the error that `upload` throws.
    public func transfer(
        uploading body: RequestBody,
        to request: HTTPRequestData,
        resumable: ResumableUpload,
        options: UploadOptions = UploadOptions(),
        in group: TransferGroup? = nil
    ) -> Transfer<HTTPResponseData> {
        let pauses = TransferPauses()
        return Transfer(of: notingUsers(of: request.uploading(body)), in: group, pauses: pauses) { http in
            let upload = ResumingUpload(body, to: http, resumable, options, over: self)
            return try await pauses.run { try await upload.run().response }
        }
    }

    /// Starts to upload a body by a protocol that can resume, and returns a handle to the transfer.
    ///
    /// Its value is the decoded response.
    ///
    /// - Parameters:
    ///   - body: A file or bytes in memory.
    ///   - request: The request, and how to decode its response. A GET becomes a POST.
    ///   - resumable: The protocol.
    ///   - options: How the upload is divided, retried and checked, and where its state is stored.
    ///   - group: Retains the transfer until it ends, counts it, and can cancel it; `nil` if it belongs to no group.
    /// - Returns: The handle. Releasing it cancels the transfer, unless a group retains it. Its value is the decoded
    ///   value and the response.
    public func transfer<Response: Sendable>(
        uploading body: RequestBody,
        to request: Request<Response>,
        resumable: ResumableUpload,
        options: UploadOptions = UploadOptions(),
        in group: TransferGroup? = nil
    ) -> Transfer<(body: Response, response: HTTPResponseData)> {
        let pauses = TransferPauses()
        return Transfer(of: notingUsers(of: request.http.uploading(body)), in: group, pauses: pauses) { http in
            let upload = ResumingUpload(body, to: http, resumable, options, over: self)
            return try await pauses.run { try await upload.run().decoded(by: request) }
        }
    }

    /// Removes an interrupted upload from the server, and its state file.
    ///
    /// ```swift
    /// try await network.cancelUpload(.file(film), to: films)
    /// ```
    ///
    /// Cancel the task or the transfer of a running upload first.
    ///
    /// - Parameters:
    ///   - body: The file that was uploaded.
    ///   - request: The request of the upload.
    ///   - options: The options of the upload.
    /// - Returns: `true` if there was an upload to remove.
    /// - Throws: A ``NetworkingError`` of kind ``NetworkingError/Kind/storage`` if an upload is using the state, and
    ///   the errors of ``data(_:trackedBy:progress:)`` if the server could not be asked. The state file is kept then.
    @discardableResult
    public func cancelUpload(
        _ body: RequestBody,
        to request: HTTPRequestData,
        options: UploadOptions = UploadOptions()
    ) async throws -> Bool {
        try await ResumingUpload(body, to: request.uploading(body), .automatic, options, over: self).cancel()
    }
}

extension HTTPRequestData {
    /// Returns the request with a body, and with a closure that receives the progress.
    fileprivate func uploading(
        _ body: RequestBody,
        progress: (@Sendable (TransferProgress) -> Void)?
    ) -> HTTPRequestData {
        var request = uploading(body)
        if let progress {
            request.addProgressHandler(progress)
        }
        return request
    }
}

extension ResumingUpload.Result {
    /// Returns the decoded response.
    func decoded<Response: Sendable>(
        by request: Request<Response>
    ) throws -> (body: Response, response: HTTPResponseData) {
        do {
            return (try request.decode(response), response)
        } catch let error as DecodingError {
            guard isLost else { throw NetworkingError.undecodable(response, as: Response.self, error) }
            throw NetworkingError(
                .decoding,
                request: response.sentRequest,
                response: response,
                underlying: error,
                reason: "The upload is complete, but the connection was lost before its response arrived, so there is "
                    + "no body to decode. Ask the server for the result."
            )
        }
    }
}
