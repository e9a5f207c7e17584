public import HTTPTypes
public import NetworkingCore

/// A prepared call with handlers that run on a queue of the app.
///
/// ```swift
/// network.prepare(request)
///     .queue(images)
///     .onSuccess { response in print(response.data.count) }
///     .start()
/// ```
public struct QueuedCall<Value: Sendable>: Sendable {
    /// The same call, for adding handlers that run on the main actor.
    public let call: PreparedCall<Value>

    let queue: CallbackQueue

    /// Sends the request, unless it was sent before.
    ///
    /// - Returns: A handle that can cancel the call. Releasing it does not cancel the call.
    @discardableResult
    public func start() -> CallHandle {
        call.start()
    }

    /// Returns a call with a value that is computed from the value of this one; see ``PreparedCall/map(_:)``.
    ///
    /// - Parameter transform: Computes the new value, once and off the main thread.
    /// - Returns: A call with the same exchange and queue.
    public func map<New: Sendable>(_ transform: @escaping @Sendable (Value) throws -> New) -> QueuedCall<New> {
        QueuedCall<New>(call: call.map(transform), queue: queue)
    }

    /// Adds a handler for the value.
    ///
    /// - Parameter handler: Receives the value, on the queue.
    /// - Returns: The same call.
    @discardableResult
    public func onSuccess(_ handler: @escaping @Sendable (Value) -> Void) -> QueuedCall {
        call.outcome.observe { [queue] result in
            if case .success(let value) = result {
                queue.run { handler(value) }
            }
        }
        return self
    }

    /// Adds a handler for the error.
    ///
    /// - Parameter handler: Receives the error, on the queue; `CancellationError` if the call was cancelled.
    /// - Returns: The same call.
    @discardableResult
    public func onFailure(_ handler: @escaping @Sendable (any Error) -> Void) -> QueuedCall {
        call.outcome.observe { [queue] result in
            if case .failure(let error) = result {
                queue.run { handler(error) }
            }
        }
        return self
    }

    /// Adds a handler for the result.
    ///
    /// - Parameter handler: Receives the value or the error, on the queue.
    /// - Returns: The same call.
    @discardableResult
    public func onCompletion(_ handler: @escaping @Sendable (Result<Value, any Error>) -> Void) -> QueuedCall {
        call.outcome.observe { [queue] result in
            queue.run { handler(result) }
        }
        return self
    }

    /// Adds a handler for the head of the response; see ``PreparedCall/onHeaders(_:)``.
    ///
    /// - Parameter handler: Receives the status and the header fields, on the queue.
    /// - Returns: The same call.
    @discardableResult
    public func onHeaders(_ handler: @escaping @Sendable (HTTPResponse) -> Void) -> QueuedCall {
        call.exchange.onHead { [queue] head in
            queue.run { handler(head) }
        }
        return self
    }

    /// Adds a handler for the progress, which must be added before the start.
    ///
    /// - Parameter handler: Receives the progress, on the queue. A busy queue gets only the newest state.
    /// - Returns: The same call.
    @discardableResult
    public func onProgress(_ handler: @escaping @Sendable (TransferProgress) -> Void) -> QueuedCall {
        call.exchange.onProgress(NewestReport(on: queue, handler))
        return self
    }
}

extension QueuedCall where Value == HTTPResponseData {
    /// Returns a call that decodes the body; see ``PreparedCall/decode(as:decoder:)``.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - decoder: The decoder; `nil` uses that of the request or the stack, and then a plain `JSONDecoder`.
    /// - Returns: A call with the same exchange and queue.
    public func decode<Body: Decodable & Sendable>(
        as type: Body.Type,
        decoder: (any BodyDecoder)? = nil
    ) -> QueuedCall<Body> {
        QueuedCall<Body>(call: call.decode(as: type, decoder: decoder), queue: queue)
    }

    /// Returns a call that reads the body as text; see ``PreparedCall/text()``.
    ///
    /// - Returns: A call with the same exchange and queue.
    public func text() -> QueuedCall<String> {
        QueuedCall<String>(call: call.text(), queue: queue)
    }
}
