public import NetworkingCore

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension NetworkingComponent {
    /// Sends a body and returns the response, if its status is one that the request accepts.
    ///
    /// It goes through the whole stack: it is authenticated, throttled and, if the body can be sent again, retried like
    /// any other request.
    ///
    /// ```swift
    /// let photos = HTTPRequestData(path: "photos")
    /// try await network.upload(.file(url), to: photos) { sent in
    ///     print(sent.fractionCompleted ?? 0)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - body: What is sent: bytes, a file, parts, a form, a stream.
    ///   - request: Where to. A GET, which has no body, becomes a POST.
    ///   - tracker: Adds up the progress of several; nil when nobody does.
    ///   - progress: Hears how much of the body has left, from none of it to all; when it is sent again, from none
    ///     anew.
    /// - Returns: The response.
    /// - Throws: A ``NetworkingError`` of kind ``NetworkingError/Kind/status`` or
    ///   ``NetworkingError/Kind/unauthorized`` when the status is not accepted, of kind
    ///   ``NetworkingError/Kind/storage`` when a file cannot be read, and what ``data(_:progress:)`` throws.
    @discardableResult
    public func upload(
        _ body: RequestBody,
        to request: HTTPRequestData,
        trackedBy tracker: ProgressTracker? = nil,
        progress: (@Sendable (BytesSent) -> Void)? = nil
    ) async throws -> HTTPResponseData {
        try await upload(body, to: Request<HTTPResponseData>(request) { $0 }, trackedBy: tracker, progress: progress)
            .body
    }

    /// Sends a body and returns what the response decodes to, with the response.
    ///
    /// ```swift
    /// let (photo, _) = try await network.upload(.file(url), to: photos, as: Photo.self)
    /// ```
    ///
    /// - Parameters:
    ///   - body: What is sent.
    ///   - request: Where to. A GET becomes a POST.
    ///   - type: The type to decode.
    ///   - decoder: The decoder; a plain `JSONDecoder` by default.
    ///   - tracker: Adds up the progress of several.
    ///   - progress: Hears how much of the body has left.
    /// - Returns: The value and the response that it was decoded from.
    /// - Throws: What the form without a type throws, and ``NetworkingError/Kind/decoding``.
    public func upload<Value: Decodable & Sendable>(
        _ body: RequestBody,
        to request: HTTPRequestData,
        as type: Value.Type,
        decoder: any BodyDecoder = JSONDecoder(),
        trackedBy tracker: ProgressTracker? = nil,
        progress: (@Sendable (BytesSent) -> Void)? = nil
    ) async throws -> (body: Value, response: HTTPResponseData) {
        try await upload(body, to: Request(request, decoder: decoder), trackedBy: tracker, progress: progress)
    }

    /// Sends a body and returns what the response decodes to, with the response.
    ///
    /// - Parameters:
    ///   - body: What is sent; it replaces the request's own.
    ///   - request: Where to, and how to decode the response. A GET becomes a POST.
    ///   - tracker: Adds up the progress of several.
    ///   - progress: Hears how much of the body has left.
    /// - Returns: The value and the response that it was decoded from.
    /// - Throws: What ``value(_:)`` throws.
    public func upload<Response: Sendable>(
        _ body: RequestBody,
        to request: Request<Response>,
        trackedBy tracker: ProgressTracker? = nil,
        progress: (@Sendable (BytesSent) -> Void)? = nil
    ) async throws -> (body: Response, response: HTTPResponseData) {
        let upload = request.uploading(body, progress: progress)
        guard let tracker else { return try await value(upload) }
        return try await tracker.track(upload.http) { try await value(upload.sending($0)) }
    }
}

extension HTTPRequestData {
    /// The request with a body, and with a method for it.
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
    /// The request with a body, and someone who hears how much of it has left.
    func uploading(_ body: RequestBody, progress: (@Sendable (BytesSent) -> Void)?) -> Request {
        var request = self
        request.http = http.uploading(body)
        if let progress {
            let handler = request.http.progressHandler
            // Only what is new: the response has progress of its own.
            let last = LastValue<BytesSent>()
            request.http.progressHandler = { transfer in
                handler?(transfer)
                if last.replace(with: transfer.sent) {
                    progress(transfer.sent)
                }
            }
        }
        return request
    }
}

extension NetworkingComponent {
    /// Starts to send a body, and returns a handle on that.
    ///
    /// - Parameters:
    ///   - body: What is sent.
    ///   - request: Where to. A GET becomes a POST.
    /// - Returns: The handle, which ends the transfer when it goes. Its value is the response, or what
    ///   `upload` throws.
    public func transfer(uploading body: RequestBody, to request: HTTPRequestData) -> Transfer<HTTPResponseData> {
        Transfer(of: request.uploading(body), in: nil) { try await upload(body, to: $0) }
    }

    /// Starts to send a body as one of a group.
    ///
    /// - Parameters:
    ///   - body: What is sent.
    ///   - request: Where to. A GET becomes a POST.
    ///   - group: Holds on to the transfer until it is over, counts it, and can end it.
    /// - Returns: The handle.
    @discardableResult
    public func transfer(
        uploading body: RequestBody,
        to request: HTTPRequestData,
        in group: TransferGroup
    ) -> Transfer<HTTPResponseData> {
        Transfer(of: request.uploading(body), in: group) { try await upload(body, to: $0) }
    }

    /// Starts to send a body, and returns a handle on that and on what the response decodes to.
    ///
    /// - Parameters:
    ///   - body: What is sent.
    ///   - request: Where to, and how to decode the response. A GET becomes a POST.
    /// - Returns: The handle, which ends the transfer when it goes. Its value is what the response decodes to, with the
    ///   response.
    public func transfer<Response: Sendable>(
        uploading body: RequestBody,
        to request: Request<Response>
    ) -> Transfer<(body: Response, response: HTTPResponseData)> {
        Transfer(of: request.http.uploading(body), in: nil) { try await upload(body, to: request.sending($0)) }
    }

    /// Starts to send a body as one of a group, and decodes the response.
    ///
    /// - Parameters:
    ///   - body: What is sent.
    ///   - request: Where to, and how to decode the response. A GET becomes a POST.
    ///   - group: Holds on to the transfer until it is over, counts it, and can end it.
    /// - Returns: The handle.
    @discardableResult
    public func transfer<Response: Sendable>(
        uploading body: RequestBody,
        to request: Request<Response>,
        in group: TransferGroup
    ) -> Transfer<(body: Response, response: HTTPResponseData)> {
        Transfer(of: request.http.uploading(body), in: group) { try await upload(body, to: request.sending($0)) }
    }
}

extension Request {
    /// The same decoding for another message.
    fileprivate func sending(_ http: HTTPRequestData) -> Request {
        var request = self
        request.http = http
        return request
    }
}
