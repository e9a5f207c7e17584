import FoundationForNetworking
public import NetworkingCore

extension NetworkingComponent {
    /// Downloads a file into a new temporary directory that only this user may read.
    ///
    /// ```swift
    /// let file = try await network.download(.get("reports/7"))
    /// print(file.url)
    /// ```
    ///
    /// The file has the name that the server suggests, or `download`. Move it to keep it: the system may delete
    /// temporary files. A download that fails removes its bytes, so it does not resume; name a destination for that.
    ///
    /// - Parameters:
    ///   - request: The request. Its own sink, if any, is not used.
    ///   - options: The expected checksum.
    ///   - tracker: A tracker that the download is part of.
    ///   - progress: Receives the progress.
    /// - Returns: The file.
    /// - Throws: The errors of `download` with a destination.
    public func download(
        _ request: HTTPRequestData,
        options: DownloadOptions = DownloadOptions(),
        trackedBy tracker: ProgressTracker? = nil,
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> DownloadedFile {
        try Task.checkCancellation()
        let directory = FileManager.default.temporaryDirectory.appending(path: "networking-download-\(UUID())")
        // The removal comes after the creation, even if no caller waits for that any more.
        let disk = DiskQueue()
        do {
            try await disk.run(until: nil) { try PrivateFile.makeDirectory(directory.path, isDurable: false) }
            return try await download(
                request,
                to: .directory(directory),
                options: options,
                trackedBy: tracker,
                progress: progress
            )
        } catch {
            try? await disk.run(until: nil) { try? FileManager.default.removeItem(at: directory) }
            guard let fault = error as? FileFault else { throw error }
            throw NetworkingError(.storage, request: request, reason: fault.reason)
        }
    }
}
