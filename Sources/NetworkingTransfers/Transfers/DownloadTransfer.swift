public import FoundationForNetworking
public import NetworkingCore

extension NetworkingComponent {
    /// Starts to download a file and returns a handle to the transfer.
    ///
    /// ```swift
    /// let transfer = network.transfer(downloading: request, to: url)
    /// pauseButton.action = { await transfer.pause() }
    /// resumeButton.action = { transfer.resume() }
    /// let film = try await transfer.value
    /// ```
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - destination: The URL of the file. Nothing may exist there.
    ///   - options: How to treat a partial file, and the expected checksum.
    ///   - group: Retains the transfer until it ends, counts it, and can cancel it; `nil` if it belongs to no group.
    /// - Returns: The handle. Releasing it cancels the transfer, unless a group retains it. Its value is the file, or
    ///   the error that `download` throws.
    public func transfer(
        downloading request: HTTPRequestData,
        to destination: URL,
        options: DownloadOptions = DownloadOptions(),
        in group: TransferGroup? = nil
    ) -> Transfer<DownloadedFile> {
        transfer(downloading: request, to: .file(destination), options: options, in: group)
    }

    /// Starts to download a file into a file or directory, with a policy for a file that already exists.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - destination: A file or a directory, and the policy for a file that already exists.
    ///   - options: How to treat a partial file, and the expected checksum.
    ///   - group: Retains the transfer until it ends, counts it, and can cancel it; `nil` if it belongs to no group.
    /// - Returns: The handle.
    public func transfer(
        downloading request: HTTPRequestData,
        to destination: DownloadDestination,
        options: DownloadOptions = DownloadOptions(),
        in group: TransferGroup? = nil
    ) -> Transfer<DownloadedFile> {
        let request = notingUsers(of: request)
        let pauses = TransferPauses { Download(of: request, to: destination, options, over: self).keptState() }
        return Transfer(of: request, in: group, pauses: pauses) { request in
            try await pauses.run { try await download(request, to: destination, options: options) }
        }
    }
}

extension Transfer where Value == DownloadedFile {
    /// Ends the exchange and keeps the received bytes; ``value`` continues to wait until ``resume()`` is called.
    ///
    /// The partial file survives the process: after a restart, download the same URL to the same place. If the server
    /// sends no validator for requesting the rest, nothing is kept and the download restarts.
    ///
    /// If the calling task is cancelled, this method may return before the exchange has ended. The transfer is paused
    /// nevertheless.
    ///
    /// - Returns: The state of the partial file after the exchange has ended; `nil` if nothing is kept, for example
    ///   because the transfer had already ended.
    @discardableResult
    public func pause() async -> DownloadState? {
        guard let pauses else { return nil }
        await pauses.pause()
        // The partial file must not be read on the caller's actor.
        return (try? await DiskQueue.run(until: nil) { pauses.keptState() }) ?? nil
    }
}
