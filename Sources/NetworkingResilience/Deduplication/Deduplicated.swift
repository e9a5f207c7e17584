public import HTTPTypes
public import NetworkingCore

extension NetworkingComponent {
    /// Sends identical concurrent requests once and returns the response to every caller.
    ///
    /// It belongs inside `cached` and outside `retry`, `redirected` and `throttled`, so that the whole call is shared.
    /// Two requests are identical if they would get the same response: same method, URL, header fields, body and
    /// options, the same principal, and equal values of the environment (``NetworkEnvironment/identities``). Requests
    /// with a sink are never shared, because a sink has a single writer. Neither are QUERY requests whose body is a
    /// file or a stream, because its bytes may differ from one request to the next.
    ///
    /// ```swift
    /// let network = URLSession.shared.retry().deduplicated()
    /// ```
    ///
    /// No caller owns the shared exchange. A cancelled caller gets `CancellationError` at once, even if it started the
    /// exchange, and the other callers still get their response. When the last caller has left, the exchange is
    /// cancelled. Each caller keeps its own `timeout` and `deadline` if they are outside `deduplicated`. The exchange
    /// has the priority of its most urgent caller. If it fails, every caller receives the error, and the next request
    /// starts a new exchange.
    ///
    /// If a component further in adds a credential without naming a principal, only the caller that started the
    /// exchange gets its response or error. Each other caller sends its own request.
    ///
    /// A request that writes to a URL (any method except GET, HEAD, OPTIONS, TRACE and QUERY) keeps later reads of that
    /// URL from joining reads that started before or during the write.
    ///
    /// - Parameters:
    ///   - methods: The methods of the requests to share; `nil` for GET, HEAD and QUERY. If writes are shared, two
    ///     identical orders become one.
    ///   - excluding: Header fields in which identical requests may differ, in addition to those for tracing. Fields
    ///     that hold credentials, such as Authorization and Cookie, are always compared.
    ///   - waitersRetryOnFailure: Whether the callers that joined share one more exchange when the first one fails;
    ///     `false` by default.
    ///   - inFlight: The exchanges in flight. Stacks that use the same object share their exchanges.
    /// - Returns: A component that shares exchanges and throws their errors.
    public func deduplicated(
        methods: Set<HTTPRequest.Method>? = nil,
        excluding: [HTTPField.Name] = [],
        waitersRetryOnFailure: Bool = false,
        sharing inFlight: InFlightRequests = InFlightRequests()
    ) -> some NetworkingComponent {
        modified(
            Deduplicated(
                methods: methods.map { Array($0) } ?? Deduplicated.sharedMethods,
                excluded: Deduplicated.excludedFields
                    .union(excluding.lazy.filter { !$0.isCredential }.map(\.canonicalName)),
                waitersRetryOnFailure: waitersRetryOnFailure,
                inFlight: inFlight
            )
        )
    }
}

extension HTTPRequestData {
    /// Whether `deduplicated` may share this request's exchange; `true` by default.
    public var isDeduplicated: Bool {
        get { self[.isDeduplicated] }
        set { self[.isDeduplicated] = newValue }
    }
}

extension RequestOptionKey {
    /// ``HTTPRequestData/isDeduplicated``.
    public static let isDeduplicated = RequestOption("isDeduplicated", default: true, affects: .nothing)
}

struct Deduplicated: UpstreamLimited, CustomStringConvertible {
    // Arrays, because comparing with a few elements takes less time than hashing, which takes 290 instructions.
    static let sharedMethods: [HTTPRequest.Method] = [.get, .head, .query]

    /// Fields that identify the caller or the trace, and do not affect the response.
    static let excludedFields: Set<String> = ["traceparent", "tracestate", "baggage", "x-request-id", "user-agent"]

    let methods: [HTTPRequest.Method]
    let excluded: Set<String>
    let waitersRetryOnFailure: Bool
    let inFlight: InFlightRequests

    // Inlined into its witness, so that a call has one frame less.
    @inline(__always)
    func send(
        _ request: HTTPRequestData,
        upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        guard request.method.isSafe else { return try await write(request, upstream: upstream) }
        return try await share(request, upstream: upstream)
    }

    /// Sends a request that may change its resource.
    @inline(never)
    private func write(
        _ request: HTTPRequestData,
        upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        // A read that started before or during the write must not be joined by a read that starts after it.
        let url = DeduplicationURL(request)
        inFlight.detachReads(of: url)
        defer { inFlight.detachReads(of: url) }
        return try await share(request, upstream: upstream)
    }

    // Inlined, so that a call has one frame less.
    @inline(__always)
    private func share(
        _ request: HTTPRequestData,
        upstream: some NetworkingComponent,
        isLast: Bool = false
    ) async throws -> HTTPResponseData {
        guard let (exchange, waiter) = try join(request, upstream: upstream) else {
            return try await upstream.send(request)
        }
        if let waiter {
            return try await wait(waiter, for: exchange, of: request, upstream: upstream, isLast: isLast)
        }
        guard exchange.audience == nil, request.recorder == nil else {
            return try await shareObserved(exchange, of: request, upstream: upstream)
        }
        start(exchange, of: request, recordingInto: nil, upstream: upstream)
        return try await exchange.work.valueForCreator(until: request.exchangeLimit)
    }

    // Neither of the two is inlined, because their values would take memory in every call that waits.

    /// Joins the exchange for a request, or creates one; `nil` if the request is not shared.
    @inline(never)
    private func join(
        _ request: HTTPRequestData,
        upstream: some NetworkingComponent
    ) throws -> (InFlightRequest, SharedOperation<HTTPResponseData>.Waiter?)? {
        guard mayShare(request),
            let key = DeduplicationKey(request, principal: upstream.principal(for: request), excluding: excluded)
        else { return nil }
        // The exchange runs in its own task, which would not notice an earlier cancellation of the caller.
        try Task.checkCancellation()
        return inFlight.join(key, replacingErrors: request.refusedResponse != nil)
    }

    /// Shares a new exchange of a request with listeners or a recorder.
    @inline(never)
    private func shareObserved(
        _ exchange: InFlightRequest,
        of request: HTTPRequestData,
        upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        let branch = request.recorder?.branch()
        defer {
            if let branch {
                request.recorder?.join(branch)
            }
        }
        return try await exchange.listening(as: request) {
            start(exchange, of: request, recordingInto: branch, upstream: upstream)
            return try await exchange.work.valueForCreator(until: request.exchangeLimit)
        }
    }

    private func mayShare(_ request: HTTPRequestData) -> Bool {
        request.sink == nil && methods.contains(request.method) && request.isDeduplicated
            && (request.method != .query || request.body == nil || request.body?.data != nil)
    }

    /// Starts a new exchange.
    private func start(
        _ exchange: InFlightRequest,
        of request: HTTPRequestData,
        recordingInto branch: (any CallRecording)?,
        upstream: some NetworkingComponent
    ) {
        let own = request.shared(recordingInto: branch)
        let shared = exchange.audience?.observing(own) ?? own
        exchange.work.start { [inFlight, shared] in
            // Removed before any caller receives the result, so that a caller that then repeats the request starts
            // a new exchange.
            defer { inFlight.remove(exchange) }
            do {
                return try await upstream.send(shared)
            } catch {
                // Each caller has a record of its own, because one of them may already send the request again.
                if let refused = exchange.refused, let response = shared.response(of: error) {
                    refused.record(response, as: error)
                }
                throw error
            }
        }
    }

    /// Waits for an exchange that another request has started.
    @inline(never)
    private func wait(
        _ waiter: SharedOperation<HTTPResponseData>.Waiter,
        for exchange: InFlightRequest,
        of request: HTTPRequestData,
        upstream: some NetworkingComponent,
        isLast: Bool
    ) async throws -> HTTPResponseData {
        request.emit(DeduplicationEvent.shared)
        do {
            // The request listens after its wait has begun, because its observers leave out the other call's events
            // during that wait only.
            let response = try await request.waiting(.sharing, on: NetworkEnvironment.current.clock) {
                try await exchange.listening(as: request) {
                    try await exchange.work.value(for: waiter, until: request.exchangeLimit)
                }
            }
            // If this request has no user yet, the user of the response becomes its user.
            guard !isForAnotherUser(response, response.principal, exchange.key, request),
                response.principal == nil || upstream.principal(for: request).isSame(as: exchange.key.principal)
            else {
                return try await upstream.send(request)
            }
            return response
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            // The error may be the app's, which does not contain its response.
            let refused = exchange.refused?.response(of: error)
            let response = (error as? NetworkingError)?.response ?? refused
            let principal = (error as? NetworkingError)?.principal ?? response?.principal
            if (error as? NetworkingError)?.isOfAnotherUser == true, !isLast {
                // The creator has met another user, and this caller may have met none.
                return try await share(request, upstream: upstream, isLast: true)
            }
            guard !isForAnotherUser(response, principal, exchange.key, request) else {
                try request.checkCancellation()
                return try await upstream.send(request)
            }
            if waitersRetryOnFailure, !isLast {
                return try await share(request, upstream: upstream, isLast: true)
            }
            if let refused {
                request.refusedResponse?.record(refused, as: error)
            }
            throw error
        }
    }

    /// Whether a response or an error may belong to a user other than that of a request that has joined the exchange.
    ///
    /// Another user may have signed in since then. A component further in may have added a credential without naming
    /// a principal, so that the key does not know the user.
    private func isForAnotherUser(
        _ response: HTTPResponseData?,
        _ principal: Principal?,
        _ key: DeduplicationKey,
        _ request: HTTPRequestData
    ) -> Bool {
        guard principal == nil || principal == key.principal else { return true }
        return key.principal == nil && response?.hasCredentials(notIn: request) == true
    }

    var stackPart: StackPart {
        StackPart(
            roles: [.deduplication],
            options: [.isDeduplicated],
            rules: [
                .notInside(
                    .retry,
                    "is inside retry, so each caller of a failed shared exchange retries. Put it outside."
                )
            ]
        )
    }

    var description: String {
        guard Set(methods) != Set(Self.sharedMethods) else { return "deduplicated()" }
        let names = methods.map(\.rawValue).sorted().joined(separator: ", ")
        return "deduplicated(\(names.isEmpty ? "" : "methods: \(names)"))"
    }
}
