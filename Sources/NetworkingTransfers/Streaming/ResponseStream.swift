public import NetworkingCore
import Synchronization

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension NetworkingComponent {
    /// Sends a request and returns its response as soon as the head is there, with the body as a sequence of chunks.
    ///
    /// ```swift
    /// let stream = try await network.stream(HTTPRequestData(path: "film"))
    /// print(stream.response.headerFields[.contentLength] ?? "")
    /// for try await chunk in stream {
    ///     player.play(chunk)
    /// }
    /// ```
    ///
    /// It goes through the whole stack. The body is never in memory as a whole: a server that is faster than the reader
    /// is held back where the transport can do that, and URLSession keeps what is ahead in a private file from 1 MiB
    /// on, up to ``HTTPRequestData/maximumBufferedBytes``. The stack's `throttled` gives the slot back at the head, and
    /// its `timeout` counts the time to the head and then the times in which nothing comes, not those in which a chunk
    /// waits for the reader; a `deadline` is for all of it.
    ///
    /// The stream is read once. Giving up the iteration, or letting go of a stream that nobody iterates, ends the
    /// transfer at once, and so does the cancellation of the reading task. A `retry` in the stack tries again until the
    /// head has come.
    ///
    /// - Parameter request: The request; a sink of its own is not used.
    /// - Returns: The response's head and body.
    /// - Throws: A ``NetworkingError`` of kind ``NetworkingError/Kind/status`` or
    ///   ``NetworkingError/Kind/unauthorized`` when the status is not among the request's accepted ones, with up to 1
    ///   MiB of the body, and what ``data(_:progress:)`` throws. What ends the body early is thrown by the iteration.
    public func stream(_ request: HTTPRequestData) async throws -> ResponseStream {
        let transfer = StreamTransfer(of: request, over: self)
        return ResponseStream(response: try await transfer.response(), transfer: transfer)
    }

    /// Sends a request and gives its body to a closure as it comes.
    ///
    /// When this returns or throws, the transfer has ended, whether the closure has read all of it or not.
    ///
    /// ```swift
    /// let count = try await network.stream(HTTPRequestData(path: "log")) { response, bytes in
    ///     var count = 0
    ///     for try await chunk in bytes { count += chunk.count }
    ///     return count
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - body: Reads the stream. It may send requests over the same stack.
    /// - Returns: What the closure returns.
    /// - Throws: What the closure throws, and what ``stream(_:)`` throws.
    public func stream<Result>(
        _ request: HTTPRequestData,
        _ body: nonisolated(nonsending) (HTTPResponseData, ResponseStream) async throws -> Result
    ) async throws -> Result {
        let transfer = StreamTransfer(of: request, over: self)
        do {
            let response = try await transfer.response()
            let result = try await body(response, ResponseStream(response: response, transfer: transfer))
            await transfer.end()
            return result
        } catch {
            await transfer.end()
            throw error
        }
    }
}

/// The body of a response in chunks as they come, and its head.
public struct ResponseStream: AsyncSequence, Sendable {
    /// A chunk of bytes; never empty.
    public typealias Element = Data

    /// The response as it was when its head had come: status and header fields, without a body.
    public let response: HTTPResponseData

    private let transfer: StreamTransfer

    init(response: HTTPResponseData, transfer: StreamTransfer) {
        self.response = response
        self.transfer = transfer
    }

    /// Begins to read.
    ///
    /// Only one iterator gets the body; any other fails.
    public func makeAsyncIterator() -> Iterator {
        Iterator(reader: StreamReader(of: transfer))
    }

    /// Reads the body once, and ends the transfer when it goes.
    public struct Iterator: AsyncIteratorProtocol {
        private let reader: StreamReader

        fileprivate init(reader: StreamReader) {
            self.reader = reader
        }

        /// Brings the next chunk; nil after the last.
        ///
        /// - Throws: A ``NetworkingError`` for what ended the body early, `CancellationError` when the caller is
        ///   cancelled.
        public mutating func next() async throws -> Data? {
            try await reader.next()
        }
    }
}

/// A transfer whose body somebody reads: it is cancelled when nobody can any more.
final class StreamTransfer: Sendable {
    private let request: HTTPRequestData
    private let channel: StreamChannel
    private let task: OwnedTask<Void>
    private let isRead = Atomic(false)

    /// Starts the transfer, in the caller's environment and priority.
    init(of request: HTTPRequestData, over network: some NetworkingComponent) {
        // As the chain rewrites it: a stack may accept more than its caller knows of.
        var streamed = network.resolved(request)
        let channel = StreamChannel(accepting: streamed.acceptedStatuses)
        streamed.sink = channel
        self.request = request
        self.channel = channel
        // It holds on to the channel alone: who reads decides how long it goes on.
        task = .immediate { [streamed] in
            do {
                channel.end(with: .success(try await network.begin(streamed)))
            } catch {
                channel.end(with: .failure(error))
            }
        }
    }

    deinit {
        cancel()
    }

    /// The response, once its head is there.
    func response() async throws -> HTTPResponseData {
        do {
            switch try await channel.beginning() {
            case .stream(let head):
                return HTTPResponseData(request: request, http: head, body: .delivered(byteCount: 0))
            case .response(var response):
                response.request = request
                throw NetworkingError.refusedStatus(of: response)
            }
        } catch {
            task.cancel()
            throw error
        }
    }

    /// Lets one reader in.
    func claim() throws {
        guard !isRead.exchange(true, ordering: .relaxed) else {
            throw NetworkingError(
                .rejected,
                request: request,
                reason:
                    "This response is being read already, and arrives once. Iterate it in one place, or send another request."
            )
        }
    }

    func next() async throws -> Data? {
        do {
            return try await channel.next()
        } catch {
            task.cancel()
            throw error
        }
    }

    func cancel() {
        channel.abandon()
        task.cancel()
    }

    /// Ends the transfer, and returns when it has ended.
    func end() async {
        cancel()
        _ = try? await task.value
    }
}

/// The one who reads a transfer; when it goes, the transfer ends.
private final class StreamReader: Sendable {
    private let transfer: StreamTransfer
    private let claim: Result<Void, any Error>

    init(of transfer: StreamTransfer) {
        self.transfer = transfer
        claim = Result { try transfer.claim() }
    }

    deinit {
        if case .success = claim {
            transfer.cancel()
        }
    }

    func next() async throws -> Data? {
        try claim.get()
        return try await transfer.next()
    }
}
