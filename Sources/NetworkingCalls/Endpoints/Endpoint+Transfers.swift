public import NetworkingCore
public import NetworkingTransfers

extension NetworkingComponent {
    /// Sends a body with the request of an endpoint and returns the decoded response, together with the response.
    ///
    /// - Parameters:
    ///   - body: The body to send. It replaces the body of the endpoint.
    ///   - endpoint: The endpoint. A GET becomes a POST.
    ///   - progress: Receives the progress.
    /// - Returns: The value and the response that it was decoded from.
    /// - Throws: The errors of `upload` with a typed request.
    @discardableResult
    public func upload<E: Endpoint>(
        _ body: RequestBody,
        to endpoint: E,
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> (body: E.Response, response: HTTPResponseData) {
        try await upload(body, to: Request(endpoint), progress: progress)
    }

    /// Downloads the file of an endpoint.
    ///
    /// ```swift
    /// let file = try await network.download(GetUser(id: 7), to: .directory(downloads))
    /// ```
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint, whose response is not decoded.
    ///   - destination: The file or the directory.
    ///   - options: How to treat a partial file, and the expected checksum.
    ///   - progress: Receives the progress.
    /// - Returns: The file.
    /// - Throws: The errors of `download` with a request.
    @discardableResult
    public func download(
        _ endpoint: some Endpoint,
        to destination: DownloadDestination,
        options: DownloadOptions = DownloadOptions(),
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> DownloadedFile {
        try await download(HTTPRequestData(endpoint), to: destination, options: options, progress: progress)
    }

    /// Starts to send the request of an endpoint and returns a handle to the call.
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint.
    ///   - group: The group that the call belongs to.
    /// - Returns: The call. Its value is the decoded response, together with the response.
    public func transfer<E: Endpoint>(
        _ endpoint: E,
        in group: TransferGroup? = nil
    ) -> Transfer<(body: E.Response, response: HTTPResponseData)> {
        transfer(Request(endpoint), in: group)
    }

    /// Starts to download the file of an endpoint and returns a handle to the transfer, which can be paused.
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint, whose response is not decoded.
    ///   - destination: The file or the directory.
    ///   - options: How to treat a partial file, and the expected checksum.
    ///   - group: The group that the transfer belongs to.
    /// - Returns: The transfer.
    public func transfer(
        downloading endpoint: some Endpoint,
        to destination: DownloadDestination,
        options: DownloadOptions = DownloadOptions(),
        in group: TransferGroup? = nil
    ) -> Transfer<DownloadedFile> {
        transfer(downloading: HTTPRequestData(endpoint), to: destination, options: options, in: group)
    }

    /// Starts to send a body with the request of an endpoint and returns a handle to the transfer.
    ///
    /// - Parameters:
    ///   - body: The body to send. It replaces the body of the endpoint.
    ///   - endpoint: The endpoint. A GET becomes a POST.
    ///   - group: The group that the transfer belongs to.
    /// - Returns: The transfer. Its value is the decoded response, together with the response.
    public func transfer<E: Endpoint>(
        uploading body: RequestBody,
        to endpoint: E,
        in group: TransferGroup? = nil
    ) -> Transfer<(body: E.Response, response: HTTPResponseData)> {
        transfer(uploading: body, to: Request(endpoint), in: group)
    }
}
