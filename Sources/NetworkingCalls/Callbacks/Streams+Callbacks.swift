public import Dispatch
public import FoundationForNetworking
public import NetworkingCore
public import NetworkingTransfers

// Each stream reads its next element after the closure has returned, so that a slow closure slows the server down.

extension NetworkingComponent {
    /// Sends a request and passes its body to a closure on a queue, chunk by chunk, as it arrives.
    ///
    /// ```swift
    /// network.stream(request, queue: .main) { chunk in
    ///     print(chunk.count)
    /// } completion: { result in
    ///     if case .failure(let error) = result { print(error.localizedDescription) }
    /// }
    /// ```
    ///
    /// The next chunk is read when the closure has returned. After ``CallHandle/cancel()`` no further chunk is passed,
    /// and the transfer ends at once.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - queue: The queue for the closures.
    ///   - onChunk: Receives each chunk, which is never empty.
    ///   - completion: Called once after the last chunk. Receives the response, as it was when its head arrived, or the
    ///     error that ended the stream; `CancellationError` after a cancellation.
    /// - Returns: A handle that can cancel the call. Releasing it does not cancel the call.
    @discardableResult
    public func stream(
        _ request: HTTPRequestData,
        queue: DispatchQueue,
        onChunk: @escaping @Sendable (Data) -> Void,
        completion: @escaping @Sendable (Result<HTTPResponseData, any Error>) -> Void
    ) -> CallHandle {
        let callback = Callback(on: queue, completion: completion)
        return callback.start {
            let chunks = try await stream(request)
            for try await chunk in chunks {
                try await callback.perform { onChunk(chunk) }
            }
            return chunks.response
        }
    }

    /// Sends a request and passes each line of its body to a closure on a queue, as it arrives.
    ///
    /// ```swift
    /// network.lines(request, queue: logs) { line in
    ///     print(line)
    /// } completion: { result in
    ///     print(result)
    /// }
    /// ```
    ///
    /// The next line is read when the closure has returned. After ``CallHandle/cancel()`` no further line is passed,
    /// and the transfer ends at once.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - queue: The queue for the closures.
    ///   - onLine: Receives each line, without its line break.
    ///   - completion: Called once after the last line. Receives the response, as it was when its head arrived, or the
    ///     error that ended the stream; `CancellationError` after a cancellation.
    /// - Returns: A handle that can cancel the call. Releasing it does not cancel the call.
    @discardableResult
    public func lines(
        _ request: HTTPRequestData,
        queue: DispatchQueue,
        onLine: @escaping @Sendable (String) -> Void,
        completion: @escaping @Sendable (Result<HTTPResponseData, any Error>) -> Void
    ) -> CallHandle {
        let callback = Callback(on: queue, completion: completion)
        return callback.start {
            let elements = try await lines(request)
            for try await line in elements {
                try await callback.perform { onLine(line) }
            }
            return elements.response
        }
    }

    /// Sends a request and passes each server-sent event of its response to a closure on a queue, reconnecting when
    /// necessary.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - terminator: The data of the last event, such as `[DONE]`, which is not delivered; `nil` if there is none.
    ///   - lastEventID: The last id of an earlier stream, to continue after that event.
    ///   - queue: The queue for the closures.
    ///   - onEvent: Receives each event. The next event is read when it has returned.
    ///   - completion: Called once after the last event. Receives the first response, or the error that ended the
    ///     stream.
    /// - Returns: A handle that can cancel the call.
    @discardableResult
    public func events(
        _ request: HTTPRequestData,
        until terminator: String? = nil,
        after lastEventID: String = "",
        queue: DispatchQueue,
        onEvent: @escaping @Sendable (ServerSentEvent) -> Void,
        completion: @escaping @Sendable (Result<HTTPResponseData, any Error>) -> Void
    ) -> CallHandle {
        let callback = Callback(on: queue, completion: completion)
        return callback.start {
            let elements = try await events(request, until: terminator, after: lastEventID)
            for try await event in elements {
                try await callback.perform { onEvent(event) }
            }
            return elements.response
        }
    }

    /// Sends a request, decodes the data of its server-sent events and passes each value to a closure on a queue.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - type: The type that the data of an event decodes to.
    ///   - terminator: The data of the last event; `[DONE]` by default.
    ///   - decoder: The decoder; `nil` uses that of the request or the stack, and then a plain `JSONDecoder`.
    ///   - failures: The policy for an event that cannot be decoded; by default it ends the stream.
    ///   - queue: The queue for the closures.
    ///   - onValue: Receives each value. The next event is read when it has returned.
    ///   - completion: Called once after the last value. Receives the first response, or the error that ended the
    ///     stream.
    /// - Returns: A handle that can cancel the call.
    @discardableResult
    public func events<Value: Decodable & Sendable>(
        _ request: HTTPRequestData,
        as type: Value.Type,
        until terminator: String? = "[DONE]",
        decoder: (any BodyDecoder)? = nil,
        onDecodingFailure failures: DecodingFailures = .fail,
        queue: DispatchQueue,
        onValue: @escaping @Sendable (Value) -> Void,
        completion: @escaping @Sendable (Result<HTTPResponseData, any Error>) -> Void
    ) -> CallHandle {
        let callback = Callback(on: queue, completion: completion)
        return callback.start {
            let elements = try await events(
                request,
                as: Value.self,
                until: terminator,
                decoder: decoder,
                onDecodingFailure: failures
            )
            for try await value in elements {
                try await callback.perform { onValue(value) }
            }
            return elements.response
        }
    }

    /// Sends a request, decodes the JSON documents of its body one by one and passes each value to a closure on a
    /// queue.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - type: The type of a document.
    ///   - format: How the documents are separated; `nil` to use the response's Content-Type.
    ///   - decoder: The decoder; `nil` uses that of the request or the stack, and then a plain `JSONDecoder`.
    ///   - failures: The policy for a document that cannot be decoded; by default it ends the stream.
    ///   - queue: The queue for the closures.
    ///   - onValue: Receives each value. The next document is read when it has returned.
    ///   - completion: Called once after the last value. Receives the response, or the error that ended the stream.
    /// - Returns: A handle that can cancel the call.
    @discardableResult
    public func values<Value: Decodable & Sendable>(
        _ request: HTTPRequestData,
        as type: Value.Type,
        format: JSONStreamFormat? = nil,
        decoder: (any BodyDecoder)? = nil,
        onDecodingFailure failures: DecodingFailures = .fail,
        queue: DispatchQueue,
        onValue: @escaping @Sendable (Value) -> Void,
        completion: @escaping @Sendable (Result<HTTPResponseData, any Error>) -> Void
    ) -> CallHandle {
        let callback = Callback(on: queue, completion: completion)
        return callback.start {
            let elements = try await values(
                request,
                as: Value.self,
                format: format,
                decoder: decoder,
                onDecodingFailure: failures
            )
            for try await value in elements {
                try await callback.perform { onValue(value) }
            }
            return elements.response
        }
    }
}

extension NetworkingComponent {
    /// Sends a request and passes its body to a closure on the main actor, chunk by chunk, as it arrives.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - main: The main queue, on which the closures run.
    ///   - onChunk: Receives each chunk, which is never empty. The next chunk is read when it has returned.
    ///   - completion: Called once after the last chunk. Receives the response, or the error that ended the stream.
    /// - Returns: A handle that can cancel the call. Releasing it does not cancel the call.
    @discardableResult
    public func stream(
        _ request: HTTPRequestData,
        on main: MainQueue,
        onChunk: @escaping @MainActor (Data) -> Void,
        completion: @escaping @MainActor (Result<HTTPResponseData, any Error>) -> Void
    ) -> CallHandle {
        stream(
            request,
            queue: .main,
            onChunk: MainQueue.closure(onChunk),
            completion: MainQueue.closure(completion)
        )
    }

    /// Sends a request and passes each line of its body to a closure on the main actor, as it arrives.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - main: The main queue, on which the closures run.
    ///   - onLine: Receives each line, without its line break. The next line is read when it has returned.
    ///   - completion: Called once after the last line. Receives the response, or the error that ended the stream.
    /// - Returns: A handle that can cancel the call. Releasing it does not cancel the call.
    @discardableResult
    public func lines(
        _ request: HTTPRequestData,
        on main: MainQueue,
        onLine: @escaping @MainActor (String) -> Void,
        completion: @escaping @MainActor (Result<HTTPResponseData, any Error>) -> Void
    ) -> CallHandle {
        lines(
            request,
            queue: .main,
            onLine: MainQueue.closure(onLine),
            completion: MainQueue.closure(completion)
        )
    }

    /// Sends a request and passes each server-sent event of its response to a closure on the main actor, reconnecting
    /// when necessary.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - terminator: The data of the last event, which is not delivered; `nil` if there is none.
    ///   - lastEventID: The last id of an earlier stream, to continue after that event.
    ///   - main: The main queue, on which the closures run.
    ///   - onEvent: Receives each event. The next event is read when it has returned.
    ///   - completion: Called once after the last event. Receives the first response, or the error that ended the
    ///     stream.
    /// - Returns: A handle that can cancel the call.
    @discardableResult
    public func events(
        _ request: HTTPRequestData,
        until terminator: String? = nil,
        after lastEventID: String = "",
        on main: MainQueue,
        onEvent: @escaping @MainActor (ServerSentEvent) -> Void,
        completion: @escaping @MainActor (Result<HTTPResponseData, any Error>) -> Void
    ) -> CallHandle {
        events(
            request,
            until: terminator,
            after: lastEventID,
            queue: .main,
            onEvent: MainQueue.closure(onEvent),
            completion: MainQueue.closure(completion)
        )
    }

    /// Sends a request, decodes the data of its server-sent events and passes each value to a closure on the main
    /// actor.
    ///
    /// ```swift
    /// network.events(prompt, as: Token.self, on: .main) { token in
    ///     label.text += token.text
    /// } completion: { _ in }
    /// ```
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - type: The type that the data of an event decodes to.
    ///   - terminator: The data of the last event; `[DONE]` by default.
    ///   - decoder: The decoder; `nil` uses that of the request or the stack, and then a plain `JSONDecoder`.
    ///   - failures: The policy for an event that cannot be decoded; by default it ends the stream.
    ///   - main: The main queue, on which the closures run.
    ///   - onValue: Receives each value. The next event is read when it has returned.
    ///   - completion: Called once after the last value. Receives the first response, or the error that ended the
    ///     stream.
    /// - Returns: A handle that can cancel the call.
    @discardableResult
    public func events<Value: Decodable & Sendable>(
        _ request: HTTPRequestData,
        as type: Value.Type,
        until terminator: String? = "[DONE]",
        decoder: (any BodyDecoder)? = nil,
        onDecodingFailure failures: DecodingFailures = .fail,
        on main: MainQueue,
        onValue: @escaping @MainActor (Value) -> Void,
        completion: @escaping @MainActor (Result<HTTPResponseData, any Error>) -> Void
    ) -> CallHandle {
        events(
            request,
            as: type,
            until: terminator,
            decoder: decoder,
            onDecodingFailure: failures,
            queue: .main,
            onValue: MainQueue.closure(onValue),
            completion: MainQueue.closure(completion)
        )
    }

    /// Sends a request, decodes the JSON documents of its body one by one and passes each value to a closure on the
    /// main actor.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - type: The type of a document.
    ///   - format: How the documents are separated; `nil` to use the response's Content-Type.
    ///   - decoder: The decoder; `nil` uses that of the request or the stack, and then a plain `JSONDecoder`.
    ///   - failures: The policy for a document that cannot be decoded; by default it ends the stream.
    ///   - main: The main queue, on which the closures run.
    ///   - onValue: Receives each value. The next document is read when it has returned.
    ///   - completion: Called once after the last value. Receives the response, or the error that ended the stream.
    /// - Returns: A handle that can cancel the call.
    @discardableResult
    public func values<Value: Decodable & Sendable>(
        _ request: HTTPRequestData,
        as type: Value.Type,
        format: JSONStreamFormat? = nil,
        decoder: (any BodyDecoder)? = nil,
        onDecodingFailure failures: DecodingFailures = .fail,
        on main: MainQueue,
        onValue: @escaping @MainActor (Value) -> Void,
        completion: @escaping @MainActor (Result<HTTPResponseData, any Error>) -> Void
    ) -> CallHandle {
        values(
            request,
            as: type,
            format: format,
            decoder: decoder,
            onDecodingFailure: failures,
            queue: .main,
            onValue: MainQueue.closure(onValue),
            completion: MainQueue.closure(completion)
        )
    }
}
