import HTTPTypes
import Synchronization

/// A component at the end of a stack: it makes single exchanges, and the library adds checks, redirects and sinks.
///
/// Before ``exchange(_:)``, the library checks the request. Afterwards it follows redirects under the request's policy,
/// with the same rules for every transport, and delivers a collected body to the request's sink.
///
/// ```swift
/// struct Loopback: NetworkingTransport {
///     func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
///         HTTPResponseData(request: request, status: .ok, data: request.body?.data ?? Data())
///     }
/// }
/// ```
///
/// A transport that receives a body in chunks passes them on with ``HTTPRequestData/deliver(_:body:)``. A request body
/// that is not in memory is read from ``RequestBody/chunks``; the transport may let its errors through. A transport
/// reports the bytes that it has sent to ``HTTPRequestData/progressHandler``; the library counts them for a body of
/// unknown length. A transport with its own timeout waits for at least ``HTTPRequestData/allowedSilence``, and needs no
/// timeout if ``HTTPRequestData/isSilenceLimited`` is `true`.
///
/// A transport describes itself in ``StackDescribing/stackPart``: the options that it reads, and the rules about its
/// configuration. A component that ends a stack without being such a transport conforms to ``StackDescribing``.
public protocol NetworkingTransport: NetworkingComponent, StackDescribing {
    /// Makes one exchange: sends the request and returns when the body has arrived.
    ///
    /// It follows no redirects. If the caller is cancelled, it throws `CancellationError` without waiting for the
    /// network.
    ///
    /// - Parameter request: The request, with scheme, authority and path, and already checked.
    /// - Returns: The response.
    /// - Throws: A ``NetworkingError`` that contains the transport's own error, or `CancellationError`.
    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData

    /// Returns whether the transport ends an exchange at the time limit of its request, so that it needs no task.
    ///
    /// A transport returns `true` if it can end every phase of an exchange from another thread:
    ///
    /// ```swift
    /// func enforcesLimit(of request: HTTPRequestData) -> Bool {
    ///     request.sink == nil   // a sink that waits does not notice that the socket is closed
    /// }
    ///
    /// // In `exchange(_:)`:
    /// let alarm = request.exchangeLimit?.alarm { socket.close() }
    /// defer { alarm?.cancel() }
    /// ```
    ///
    /// At the limit, the transport ends the exchange as if the calling task had been cancelled, and throws any error.
    /// ``ExchangeLimit/isReached`` is then `true`, and `timeout` or `deadline` throws its own error in place of that
    /// one. A response that is already complete at the limit is returned.
    ///
    /// The default returns `false`. The exchange then runs in a task that is cancelled at the limit.
    ///
    /// - Parameter request: The request, with an ``HTTPRequestData/exchangeLimit``.
    /// - Returns: `true` if each part of the exchange ends at the limit.
    func enforcesLimit(of request: HTTPRequestData) -> Bool
}

// swift-format-ignore: NoLeadingUnderscores
extension NetworkingTransport {
    /// Returns `false`.
    public func enforcesLimit(of request: HTTPRequestData) -> Bool {
        false
    }

    /// `true`, because an exchange that does not end at a limit runs in a task.
    public var _endsAtLimit: Bool {
        true
    }
}

extension NetworkingTransport {
    /// Checks the request, exchanges it, and follows redirects.
    public func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        guard request.isUnderway else { return try await begin(request) }
        guard request.exchangeLimit == nil || enforcesLimit(of: request) else { return try await sendInTask(request) }
        try Task.checkCancellation()
        if !request.withheldCredentials.isEmpty {
            let withheld = WithheldCredentials(request.withheldCredentials, reason: .otherServer)
            request.emit(CredentialsEvent.withheld(withheld))
        }
        let response = try await attempt(request)
        guard response.isRedirect, !request.isHandled(.redirects) else { return response }
        return try await request.followingRedirects(from: response) { try await attempt($0) }
    }

    /// Sends a request in a task that is cancelled at the time limit of the request.
    @inline(never)
    private func sendInTask(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        try await request.enforcingLimit { try await send($0) }
    }

    /// Checks a request and makes its exchange, and repeats it if a reused connection ended before the response.
    private func attempt(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        var request = request
        // Modifiers may have set fields or a body since the request was checked.
        request.describeBody()
        // A transport does not wait for a slow disk on the threads of tasks.
        if let body = request.body, body.isOnDisk {
            request.body = try await body.measured(until: request.exchangeLimit)
        }
        let sent = request.countSentBytes()
        var repeated: [RepeatedExchange] = []
        while true {
            try request.start()
            do {
                var response = try await exchange(request)
                // Asked here, because the function copies all options of a request.
                if request.hasListeners || !repeated.isEmpty {
                    request.end(with: &response, sent: sent?.count, after: repeated)
                }
                return response
            } catch {
                repeated = try request.exchanges(repeated, andFailed: error)
            }
        }
    }
}

// The steps before and after an exchange are not inlined, because their values would take memory in every call that
// waits for a response.
extension HTTPRequestData {
    @inline(never)
    fileprivate mutating func start() throws {
        // No redirect or repetition starts after the limit.
        try exchangeLimit?.check()
        beginExchange()
        try check()
        emit(ExchangeEvent.started)
    }

    @inline(never)
    fileprivate func end(
        with response: inout HTTPResponseData,
        sent count: Int64?,
        after repeated: [RepeatedExchange]
    ) {
        if !repeated.isEmpty {
            response.repeatedExchanges = repeated
        }
        // A recorder does not use the response, and copying it costs more than recording an event.
        if isObserved {
            notifyObservers(of: ExchangeEvent.responseReceived(response))
        }
        emit(ExchangeEvent.ended(sent: count ?? body?.length ?? 0, received: response.body.count))
    }

    /// Counts the bytes that the transport reports as sent, if the end of the exchange needs them.
    @inline(never)
    fileprivate mutating func countSentBytes() -> SentByteCounter? {
        guard hasListeners, let body, body.length == nil else { return nil }
        let sent = SentByteCounter()
        addProgressHandler { sent.count = $0.sent.count }
        return sent
    }
}

/// The number of bytes of a body that the transport has reported as sent in the last exchange.
private final class SentByteCounter: Sendable {
    private let value = Atomic<Int64>(0)

    var count: Int64 {
        get { value.load(ordering: .relaxed) }
        set { value.store(newValue, ordering: .relaxed) }
    }
}

extension HTTPRequestData {
    /// The maximum number of repetitions of an exchange, because several reused connections may turn out to be closed.
    private static let maximumRepetitions = 16

    /// Returns the failed exchanges if the transport may send the request again by itself.
    ///
    /// - Parameters:
    ///   - earlier: The exchanges before the last one.
    ///   - error: The error of the last exchange.
    /// - Returns: The exchanges including the last one.
    /// - Throws: The error, with the earlier exchanges, if the request is not sent again.
    @inline(never)
    fileprivate func exchanges(
        _ earlier: [RepeatedExchange],
        andFailed error: any Error
    ) throws -> [RepeatedExchange] {
        let error = (error as? RequestBody.Failure)?.error(of: self) ?? error
        emit(ExchangeEvent.failed(error))
        guard var error = error as? NetworkingError else { throw error }
        let elapsed = error.noResponseAfter
        error.noResponseAfter = nil
        if !earlier.isEmpty {
            error.repeatedExchanges = earlier
        }
        guard let elapsed, earlier.count < Self.maximumRepetitions, !hasRetriesOff else { throw error }
        try Task.checkCancellation()
        return earlier + [RepeatedExchange(error: error, elapsed: elapsed)]
    }

    /// Whether the app has switched retries off, for the request or for the stack.
    private var hasRetriesOff: Bool {
        forbidsResending || NetworkEnvironment.current.retries == .off
    }
}

/// An exchange that a transport repeated by itself, because a reused connection ended before the response.
package struct RepeatedExchange: Sendable {
    package let error: NetworkingError
    package let elapsed: Duration
}

extension HTTPResponseData {
    /// The exchanges that the transport repeated before this response, oldest first.
    package var repeatedExchanges: [RepeatedExchange] {
        get { self[metadata: RepeatedExchangesKey.self] }
        set { self[metadata: RepeatedExchangesKey.self] = newValue }
    }
}

extension NetworkingError {
    /// The exchanges that the transport repeated before this failure, oldest first.
    package var repeatedExchanges: [RepeatedExchange] {
        get { self[metadata: RepeatedExchangesKey.self] }
        set { self[metadata: RepeatedExchangesKey.self] = newValue }
    }
}

private enum RepeatedExchangesKey: ResponseMetadata {
    static let defaultValue: [RepeatedExchange] = []
}
