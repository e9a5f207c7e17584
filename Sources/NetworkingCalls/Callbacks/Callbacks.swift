public import Dispatch
public import NetworkingCore

// The isolation of a closure is part of its type, so each form exists for a queue and for the main actor.

extension NetworkingComponent {
    /// Starts a call and passes its result to a closure on a queue.
    ///
    /// ```swift
    /// network.callback(queue: images) { try await $0.data(.get("logo.png")) } completion: { result in
    ///     print(result.map(\.data.count))
    /// }
    /// ```
    ///
    /// The call may be any work with the network: one request, several, or the whole of a task. It inherits the
    /// caller's environment and priority, and runs off the caller's actor.
    ///
    /// The completion is called exactly once. If ``CallHandle/cancel()`` is called before the completion runs, it
    /// receives `CancellationError`, even if the result is known. The closures for the queue run in order and one at a
    /// time, and are released after the completion.
    ///
    /// - Parameters:
    ///   - queue: The queue for the completion. It may be concurrent.
    ///   - call: Makes the call with the network that it is given.
    ///   - completion: Receives the value that the call returned, or the error that it threw.
    /// - Returns: A handle that can cancel the call. Releasing it does not cancel the call.
    @discardableResult
    public func callback<Value: Sendable>(
        queue: DispatchQueue,
        _ call: @escaping @Sendable (_ network: Self) async throws -> Value,
        completion: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) -> CallHandle {
        callback(queue: queue, { network, _ in try await call(network) }, progress: nil, completion: completion)
    }

    /// Starts a call and passes its progress and its result to closures on a queue.
    ///
    /// ```swift
    /// network.callback(queue: uploads) { network, progress in
    ///     try await network.upload(.file(url), to: .post("photos"), progress: progress)
    /// } progress: { progress in
    ///     print(progress.sent.count)
    /// } completion: { result in
    ///     print(result)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - queue: The queue for the closures. It may be concurrent.
    ///   - call: Makes the call with the network and the progress handler that it is given. A typed request takes the
    ///     handler with ``Request/reporting(to:)``.
    ///   - progress: Receives the progress in order; `nil` gives the call no handler. A busy queue gets only the newest
    ///     state, and nothing is reported after the completion.
    ///   - completion: Receives the value that the call returned, or the error that it threw.
    /// - Returns: A handle that can cancel the call; see `callback(queue:_:completion:)`.
    @discardableResult
    public func callback<Value: Sendable>(
        queue: DispatchQueue,
        _ call:
            @escaping @Sendable (
                _ network: Self,
                _ progress: (@Sendable (TransferProgress) -> Void)?
            ) async throws -> Value,
        progress: (@Sendable (TransferProgress) -> Void)?,
        completion: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) -> CallHandle {
        let callback = Callback(on: queue, progress: progress, completion: completion)
        return callback.start { try await call(self, callback.progressHandler) }
    }

    /// Starts a call and passes the elements that it returns to a closure on a queue, as they arrive.
    ///
    /// ```swift
    /// network.callback(queue: logs) { try await $0.lines(.get("log")) } onElement: { line in
    ///     print(line)
    /// } completion: { result in
    ///     print(result.map(\.response.status))
    /// }
    /// ```
    ///
    /// The next element is read when the closure has returned, so that a slow closure slows the server down. After
    /// ``CallHandle/cancel()`` no further element is passed, and the transfer ends at once.
    ///
    /// - Parameters:
    ///   - queue: The queue for the closures. It may be concurrent.
    ///   - call: Returns the sequence: `stream`, `lines`, `events`, `values`, `pages`, or one of your own.
    ///   - onElement: Receives each element.
    ///   - completion: Receives the sequence after its last element, for its response, or the error that ended it.
    /// - Returns: A handle that can cancel the call; see `callback(queue:_:completion:)`.
    @discardableResult
    public func callback<Elements: AsyncSequence & Sendable>(
        queue: DispatchQueue,
        _ call: @escaping @Sendable (_ network: Self) async throws -> Elements,
        onElement: @escaping @Sendable (Elements.Element) -> Void,
        completion: @escaping @Sendable (Result<Elements, any Error>) -> Void
    ) -> CallHandle where Elements.Element: Sendable {
        let callback = Callback(on: queue, completion: completion)
        return callback.start {
            let elements = try await call(self)
            try await callback.pass(elements, to: onElement)
            return elements
        }
    }
}

extension NetworkingComponent {
    /// Starts a call and passes its result to a closure on the main actor.
    ///
    /// ```swift
    /// network.callback { try await $0.perform(.delete("users/42")) } completion: { result in
    ///     label.text = (try? result.get()) == nil ? "Not deleted" : "Deleted"
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - main: The main queue, on which the completion runs.
    ///   - call: Makes the call with the network that it is given, off the main actor.
    ///   - completion: Receives the value that the call returned, or the error that it threw.
    /// - Returns: A handle that can cancel the call; see `callback(queue:_:completion:)`.
    @discardableResult
    public func callback<Value: Sendable>(
        on main: MainQueue = .main,
        _ call: @escaping @Sendable (_ network: Self) async throws -> Value,
        completion: @escaping @MainActor (Result<Value, any Error>) -> Void
    ) -> CallHandle {
        callback(queue: .main, call, completion: MainQueue.closure(completion))
    }

    /// Starts a call and passes its progress and its result to closures on the main actor.
    ///
    /// ```swift
    /// network.callback { network, progress in
    ///     try await network.download(.get("film.mp4"), to: url, progress: progress)
    /// } progress: { progress in
    ///     bar.fraction = progress.received.fractionCompleted ?? 0
    /// } completion: { result in
    ///     label.text = "\(result)"
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - main: The main queue, on which the closures run.
    ///   - call: Makes the call with the network and the progress handler that it is given, off the main actor.
    ///   - progress: Receives the progress in order; `nil` gives the call no handler. A busy main thread gets only the
    ///     newest state.
    ///   - completion: Receives the value that the call returned, or the error that it threw.
    /// - Returns: A handle that can cancel the call; see `callback(queue:_:progress:completion:)`.
    @discardableResult
    public func callback<Value: Sendable>(
        on main: MainQueue = .main,
        _ call:
            @escaping @Sendable (
                _ network: Self,
                _ progress: (@Sendable (TransferProgress) -> Void)?
            ) async throws -> Value,
        progress: (@MainActor (TransferProgress) -> Void)?,
        completion: @escaping @MainActor (Result<Value, any Error>) -> Void
    ) -> CallHandle {
        let progress = progress.map { MainQueue.closure($0) }
        return callback(queue: .main, call, progress: progress, completion: MainQueue.closure(completion))
    }

    /// Starts a call and passes the elements that it returns to a closure on the main actor, as they arrive.
    ///
    /// ```swift
    /// network.callback { try await $0.events(prompt, as: Token.self) } onElement: { token in
    ///     label.text += token.text
    /// } completion: { _ in }
    /// ```
    ///
    /// - Parameters:
    ///   - main: The main queue, on which the closures run.
    ///   - call: Returns the sequence, off the main actor.
    ///   - onElement: Receives each element. The next one is read when it has returned.
    ///   - completion: Receives the sequence after its last element, for its response, or the error that ended it.
    /// - Returns: A handle that can cancel the call; see `callback(queue:_:onElement:completion:)`.
    @discardableResult
    public func callback<Elements: AsyncSequence & Sendable>(
        on main: MainQueue = .main,
        _ call: @escaping @Sendable (_ network: Self) async throws -> Elements,
        onElement: @escaping @MainActor (Elements.Element) -> Void,
        completion: @escaping @MainActor (Result<Elements, any Error>) -> Void
    ) -> CallHandle where Elements.Element: Sendable {
        callback(
            queue: .main,
            call,
            onElement: MainQueue.closure(onElement),
            completion: MainQueue.closure(completion)
        )
    }
}
