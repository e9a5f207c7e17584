public import FoundationForNetworking
public import NetworkingCore
import Synchronization

extension NetworkingComponent {
    /// Sends a request and returns its response as soon as the head arrives, with the body as a sequence of chunks.
    ///
    /// ```swift
    /// let stream = try await network.stream(HTTPRequestData(path: "film"))
    /// print(stream.response.headerFields[.contentLength] ?? "")
    /// for try await chunk in stream {
    ///     player.play(chunk)
    /// }
    /// ```
    ///
    /// The request passes through the whole stack. The body is never in memory as a whole: a server that is faster than
    /// the reader is slowed down if the transport supports that. URLSession stores unread data beyond 1 MiB in a
    /// private file, up to ``HTTPRequestData/maximumBufferedBytes``. The stack's `throttled` releases its permit when
    /// the head arrives. Its `timeout` counts the time to the head and then the times without data, but not the times
    /// in which a chunk waits for the reader. A `deadline` covers the whole stream.
    ///
    /// The stream can be read once. Ending the iteration, or releasing a stream that is not being iterated, ends the
    /// transfer at once, and so does cancelling the reading task. A `retry` in the stack tries again until the head has
    /// arrived.
    ///
    /// - Parameter request: The request. Its own sink, if any, is not used.
    /// - Returns: The head and body of the response.
    /// - Throws: A ``NetworkingError`` of kind ``NetworkingError/Kind/status`` or ``NetworkingError/Kind/unauthorized``
    ///   if the request does not accept the status, with up to 1 MiB of the body, and the errors of
    ///   ``data(_:trackedBy:progress:)``. The iteration throws the errors that end the body early.
    public func stream(_ request: HTTPRequestData) async throws -> ResponseStream {
        let transfer = StreamTransfer(of: request, over: self)
        return ResponseStream(response: try await transfer.response(), transfer: transfer)
    }

    /// Sends a request and passes its body to a closure as it arrives.
    ///
    /// When this method returns or throws, the transfer has ended, whether the closure has read the whole body or not.
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
    /// - Returns: The result of the closure.
    /// - Throws: The errors of the closure, and of ``stream(_:)``.
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

/// A response body as a sequence of chunks, and the response's head.
public struct ResponseStream: AsyncSequence, Sendable {
    /// A chunk of bytes; never empty.
    public typealias Element = Data

    /// The response as it was when its head arrived: status and header fields, without a body.
    public let response: HTTPResponseData

    let transfer: StreamTransfer

    /// Starts to read.
    ///
    /// Only one iterator receives the body; any other fails.
    public func makeAsyncIterator() -> Iterator {
        Iterator(reader: StreamReader(of: transfer))
    }

    /// Reads the body once; releasing the iterator ends the transfer.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let reader: StreamReader

        /// Returns the next chunk; `nil` after the last.
        ///
        /// - Throws: A ``NetworkingError`` if the body ends early, or `CancellationError` if the caller is cancelled.
        public mutating func next() async throws -> Data? {
            try await reader.next()
        }
    }
}

/// A transfer with one reader of its body; it is cancelled when no reader is left.
final class StreamTransfer: Sendable {
    private let request: HTTPRequestData
    private let channel: StreamChannel
    private let task: OwnedTask<Void>
    private let isRead = Atomic(false)

    /// Starts the transfer, in the caller's environment and priority.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - network: The stack.
    ///   - statuses: The statuses with a streamed body; `nil` for those that the request accepts.
    init(of request: HTTPRequestData, over network: some NetworkingComponent, streaming statuses: StatusSet? = nil) {
        // The request as the stack rewrites it, because a stack may accept more statuses than its caller knows of.
        var streamed = network.routed(request)
        let channel = StreamChannel(accepting: statuses ?? streamed.acceptedStatuses)
        streamed.sink = channel
        self.request = request
        self.channel = channel
        // The task retains only the channel, so that the reader decides how long the transfer runs.
        task = .immediate { [streamed] in
            do {
                channel.end(with: .success(try await network.begin(routed: streamed, for: request)))
            } catch {
                channel.end(with: .failure(error))
            }
        }
    }

    deinit {
        cancel()
    }

    /// Returns the response as soon as its head has arrived.
    ///
    /// If it throws, no reader is left, so the transfer is cancelled.
    func response() async throws -> HTTPResponseData {
        let (response, isComplete) = try await beginning()
        guard !isComplete else { throw NetworkingError.refusedStatus(of: response) }
        return response
    }

    /// Returns the response as soon as its head has arrived, or the complete response if its body is not streamed.
    ///
    /// If it throws, no reader is left, so the transfer is cancelled.
    func beginning() async throws -> (response: HTTPResponseData, isComplete: Bool) {
        switch try await channel.beginning() {
        case .stream(let head):
            return (HTTPResponseData(request: request, http: head, body: .delivered(byteCount: 0)), false)
        case .response(var response):
            response.request = request
            return (response, true)
        }
    }

    /// Claims the body for one reader, and throws if it already has one.
    func claim() throws {
        guard !isRead.exchange(true, ordering: .relaxed) else {
            throw NetworkingError(
                .rejected,
                request: request,
                underlying: RefusedUse(textOf: .invalidRequest),
                reason:
                    "This response is already being read, and can be read only once. Iterate it in one place, or send "
                    + "another request."
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

/// The only reader of a transfer; releasing it ends the transfer.
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
