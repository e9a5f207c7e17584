public import Dispatch
public import HTTPTypes
public import NetworkingCore

extension NetworkingComponent {
    /// Prepares a call that is sent once, however many handlers it has.
    ///
    /// ```swift
    /// let call = network.prepare(request)
    ///     .onProgress { progress in bar.fraction = progress.received.fractionCompleted ?? 0 }
    ///     .decode(as: User.self)
    ///     .onSuccess { user in label.text = user.name }
    ///     .onFailure { error in label.text = error.localizedDescription }
    /// call.start()
    /// ```
    ///
    /// Nothing is sent before ``PreparedCall/start()`` is called or ``PreparedCall/value`` is awaited. A status that
    /// the request does not accept is a failure, of kind ``NetworkingError/Kind/status`` or
    /// ``NetworkingError/Kind/unauthorized``.
    ///
    /// - Parameter request: The request.
    /// - Returns: The call. Its value is the response.
    public func prepare(_ request: HTTPRequestData) -> PreparedCall<HTTPResponseData> {
        prepare(Request<HTTPResponseData>(request) { $0 })
    }

    /// Prepares a call of a typed request, which is sent once, however many handlers it has.
    ///
    /// For the call of an endpoint, write `network.prepare(Request(endpoint))`.
    ///
    /// - Parameter request: The request, and how to decode its response.
    /// - Returns: The call. Its value is the decoded response.
    public func prepare<Response: Sendable>(_ request: Request<Response>) -> PreparedCall<Response> {
        let outcome = Outcome<Response>()
        let first = notingUsers(of: request.http)
        let exchange = CallExchange(
            request.http,
            endingIn: outcome,
            resolve: { resolved(first) },
            send: { http in
                var observed = request
                observed.http = http.keepingUsers(of: first)
                return try await value(observed)
            }
        )
        return PreparedCall(exchange: exchange, outcome: outcome)
    }
}

/// A call that is sent at most once, with handlers for its head, its progress and its result.
///
/// The handlers run on the main actor, in the order in which they were added; ``queue(_:)`` selects another queue. A
/// call ends with either a value or an error, and each handler for that result is called once. A handler that is added
/// after the end of the call is called with the result too. Handlers are released when the call has ended.
///
/// Copies of a call, and the calls that ``map(_:)``, `decode` and `text` return, share one exchange.
///
/// ``cancel()`` ends the exchange for all of them. A task that is cancelled while it awaits ``value`` gets
/// `CancellationError` at once. The exchange is then cancelled if no other task awaits a value and ``start()`` was not
/// called. A cancelled call is not sent again; prepare another one.
public struct PreparedCall<Value: Sendable>: Sendable {
    let exchange: CallExchange
    let outcome: Outcome<Value>

    /// The request, as the app created it.
    public var request: HTTPRequestData {
        exchange.request
    }

    /// Sends the request, unless it was sent before.
    ///
    /// - Returns: A handle that can cancel the call. Releasing it does not cancel the call.
    @discardableResult
    public func start() -> CallHandle {
        exchange.start(isKept: true)
        return CallHandle { [exchange] in exchange.cancel() }
    }

    /// Cancels the exchange for every handler and waiter, from any thread.
    ///
    /// They receive `CancellationError`. A call that has not been sent yet is never sent. Does nothing if the call has
    /// its result; handlers that wait for their queue are then still called with it.
    public func cancel() {
        exchange.cancel()
    }

    /// The value of the call; awaiting it sends the request, unless it was sent before.
    ///
    /// - Throws: The errors of `value` with a typed request, the error of a transformation, or `CancellationError`.
    public var value: Value {
        get async throws {
            try Task.checkCancellation()
            exchange.start(isKept: false)
            defer { exchange.leave() }
            return try await outcome.value()
        }
    }

    // MARK: Transforming

    /// Returns a call with a value that is computed from the value of this one.
    ///
    /// - Parameter transform: Computes the new value, once and off the main thread. An error that it throws is the
    ///   failure of the returned call, and not of this one.
    /// - Returns: A call that shares this one's exchange.
    public func map<New: Sendable>(_ transform: @escaping @Sendable (Value) throws -> New) -> PreparedCall<New> {
        PreparedCall<New>(exchange: exchange, outcome: outcome.map(transform))
    }

    /// Returns the same call, for adding handlers that run on a queue.
    ///
    /// - Parameter queue: The queue for the handlers. It may be concurrent; the handlers run one at a time.
    /// - Returns: The call with that queue.
    public func queue(_ queue: DispatchQueue) -> QueuedCall<Value> {
        QueuedCall(call: self, queue: CallbackQueue(queue))
    }

    // MARK: Handlers

    /// Adds a handler for the value.
    ///
    /// - Parameter handler: Receives the value, on the main actor.
    /// - Returns: The same call.
    @discardableResult
    public func onSuccess(_ handler: @escaping @MainActor (Value) -> Void) -> PreparedCall {
        onMain.onSuccess(MainQueue.closure(handler)).call
    }

    /// Adds a handler for the error.
    ///
    /// - Parameter handler: Receives the error, on the main actor; `CancellationError` if the call was cancelled.
    /// - Returns: The same call.
    @discardableResult
    public func onFailure(_ handler: @escaping @MainActor (any Error) -> Void) -> PreparedCall {
        onMain.onFailure(MainQueue.closure(handler)).call
    }

    /// Adds a handler for the result.
    ///
    /// - Parameter handler: Receives the value or the error, on the main actor.
    /// - Returns: The same call.
    @discardableResult
    public func onCompletion(_ handler: @escaping @MainActor (Result<Value, any Error>) -> Void) -> PreparedCall {
        onMain.onCompletion(MainQueue.closure(handler)).call
    }

    /// Adds a handler for the head of the response, which arrives before the body.
    ///
    /// If the stack retries the request, the handler receives the head of each attempt. A handler that is added after
    /// the start may miss the heads of earlier attempts. A call that starts with such a handler is not shared by
    /// `deduplicated`.
    ///
    /// - Parameter handler: Receives the status and the header fields, on the main actor.
    /// - Returns: The same call.
    @discardableResult
    public func onHeaders(_ handler: @escaping @MainActor (HTTPResponse) -> Void) -> PreparedCall {
        onMain.onHeaders(MainQueue.closure(handler)).call
    }

    /// Adds a handler for the progress, which must be added before the start.
    ///
    /// - Parameter handler: Receives the progress, on the main actor. A busy main thread gets only the newest state.
    /// - Returns: The same call.
    @discardableResult
    public func onProgress(_ handler: @escaping @MainActor (TransferProgress) -> Void) -> PreparedCall {
        onMain.onProgress(MainQueue.closure(handler)).call
    }

    /// The call with handlers on the main queue.
    var onMain: QueuedCall<Value> {
        QueuedCall(call: self, queue: .main)
    }
}

extension PreparedCall where Value == HTTPResponseData {
    /// Returns a call that decodes the body.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - decoder: The decoder; `nil` uses that of the request or the stack, and then a plain `JSONDecoder`.
    /// - Returns: A call that shares this one's exchange. It fails with ``NetworkingError/Kind/decoding`` if the body
    ///   cannot be decoded.
    public func decode<Body: Decodable & Sendable>(
        as type: Body.Type,
        decoder: (any BodyDecoder)? = nil
    ) -> PreparedCall<Body> {
        map { response in try response.json(as: Body.self, decoder: decoder) }
    }

    /// Returns a call that reads the body as text, in the charset of its Content-Type, UTF-8 by default.
    ///
    /// - Returns: A call that shares this one's exchange. It fails with ``NetworkingError/Kind/decoding`` if the body
    ///   is not text in that charset.
    public func text() -> PreparedCall<String> {
        decode(as: String.self)
    }
}
