public import NetworkingCore

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension NetworkingComponent {
    /// Starts to download a file, and returns a handle on that.
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
    ///   - destination: Where the file will be. Nothing may be there.
    ///   - options: How it goes on with what is there, and what is expected of it.
    /// - Returns: The handle, which ends the transfer when it goes. Its value is the file, or what `download` throws.
    public func transfer(
        downloading request: HTTPRequestData,
        to destination: URL,
        options: DownloadOptions = DownloadOptions()
    ) -> Transfer<DownloadedFile> {
        transfer(downloading: request, to: .file(destination), options: options)
    }

    /// Starts to download a file as one of a group.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - destination: Where the file will be. Nothing may be there.
    ///   - options: How it goes on with what is there, and what is expected of it.
    ///   - group: Holds on to the transfer until it is over, counts it, and can end it.
    /// - Returns: The handle.
    @discardableResult
    public func transfer(
        downloading request: HTTPRequestData,
        to destination: URL,
        options: DownloadOptions = DownloadOptions(),
        in group: TransferGroup
    ) -> Transfer<DownloadedFile> {
        transfer(downloading: request, to: .file(destination), options: options, in: group)
    }

    /// Starts to download a file to a place, under conditions for what is there.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - destination: A file or a directory, and what becomes of a file that is there.
    ///   - options: How it goes on with what is there, and what is expected of it.
    /// - Returns: The handle.
    public func transfer(
        downloading request: HTTPRequestData,
        to destination: DownloadDestination,
        options: DownloadOptions = DownloadOptions()
    ) -> Transfer<DownloadedFile> {
        startDownload(of: request, to: destination, options, in: nil)
    }

    /// Starts to download a file to a place, as one of a group.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - destination: A file or a directory, and what becomes of a file that is there.
    ///   - options: How it goes on with what is there, and what is expected of it.
    ///   - group: Holds on to the transfer until it is over, counts it, and can end it.
    /// - Returns: The handle.
    @discardableResult
    public func transfer(
        downloading request: HTTPRequestData,
        to destination: DownloadDestination,
        options: DownloadOptions = DownloadOptions(),
        in group: TransferGroup
    ) -> Transfer<DownloadedFile> {
        startDownload(of: request, to: destination, options, in: group)
    }

    private func startDownload(
        of request: HTTPRequestData,
        to destination: DownloadDestination,
        _ options: DownloadOptions,
        in group: TransferGroup?
    ) -> Transfer<DownloadedFile> {
        let pauses = TransferPauses { Download(of: request, to: destination, options, over: self).keptState() }
        return Transfer(of: request, in: group, pauses: pauses) { request in
            try await pauses.run { try await download(request, to: destination, options: options) }
        }
    }
}

extension Transfer where Value == DownloadedFile {
    /// Whether it stands still until ``resume()``.
    public var isPaused: Bool {
        pauses?.isPaused ?? false
    }

    /// Ends the exchange and keeps what has arrived; ``value`` goes on waiting, until ``resume()``.
    ///
    /// What is kept survives the process: after a restart, download the same URL to the same place. Where the server
    /// gives nothing by which the rest could be asked for, nothing is kept, and the download begins anew.
    ///
    /// - Returns: What is kept, when the exchange has ended; nil when that is nothing, as when it was over already.
    @discardableResult
    public func pause() async -> DownloadState? {
        guard let pauses else { return nil }
        await pauses.pause()
        // Reading what is kept is not for the caller's actor.
        return (try? await DiskQueue.run { () throws(FileFault) in pauses.keptState() }) ?? nil
    }

    /// Goes on after a pause; does nothing else.
    public func resume() {
        pauses?.resume()
    }
}
