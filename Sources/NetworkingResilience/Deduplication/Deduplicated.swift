public import HTTPTypes
public import NetworkingCore

extension NetworkingComponent {
    /// Makes one exchange of identical requests that are under way at the same time, and gives its response to all.
    ///
    /// It belongs under `cached` and outside `retry`, `redirected` and `throttled`, so that what is shared is the whole
    /// call. Two requests are identical when they would get the same: method, URL, header fields, body, options and the
    /// principal on whose behalf they are sent. Requests with a sink, which has one writer, go their own way.
    ///
    /// ```swift
    /// let network = URLSession.shared.retry().deduplicated()
    /// ```
    ///
    /// Nobody is the owner of the exchange: a caller that is cancelled gets `CancellationError` at once, whether it
    /// came first or not, and the others get their response. When the last one has left, the exchange is cancelled.
    /// Each keeps its own `timeout` and `deadline` where they are written outside. The exchange has the priority of its
    /// most urgent caller. A failure goes to all who wait and is not remembered. A request that writes to a URL (any
    /// method but GET, HEAD, OPTIONS, TRACE and QUERY) keeps later reads of it from joining those that began before or
    /// during the write.
    ///
    /// - Parameters:
    ///   - methods: The methods whose requests are shared; nil for GET, HEAD and QUERY. Sharing those that write makes
    ///     one order of two.
    ///   - excluding: Header fields in which identical requests may differ, besides those of tracing. Those that hold
    ///     credentials, such as Authorization and Cookie, always count.
    ///   - followersRetryOnFailure: Whether those that joined share one more exchange when the first fails.
    ///   - inFlight: The exchanges in flight. Stacks that share the object share their exchanges.
    /// - Returns: A component that shares exchanges. It throws what they throw.
    public func deduplicated(
        methods: Set<HTTPRequest.Method>? = nil,
        excluding: [HTTPField.Name] = [],
        followersRetryOnFailure: Bool = false,
        sharing inFlight: InFlightRequests = InFlightRequests()
    ) -> some NetworkingComponent {
        modified(
            Deduplicated(
                methods: methods.map { Array($0) } ?? Deduplicated.sharedMethods,
                excluded: Deduplicated.excludedFields
                    .union(excluding.lazy.filter { !$0.isCredential }.map(\.canonicalName)),
                followersRetryOnFailure: followersRetryOnFailure,
                inFlight: inFlight
            )
        )
    }
}

extension HTTPRequestData {
    /// Whether `deduplicated` may share this request's exchange.
    ///
    /// It may by default.
    public var isDeduplicated: Bool {
        get { self[option: IsDeduplicatedOption.self] }
        set { self[option: IsDeduplicatedOption.self] = newValue }
    }

    fileprivate enum IsDeduplicatedOption: RequestOption {
        static let name = "isDeduplicated"
        static let defaultValue = true
    }
}

extension RequestOptionKey {
    /// ``HTTPRequestData/isDeduplicated``.
    public static let isDeduplicated = RequestOptionKey(HTTPRequestData.IsDeduplicatedOption.self)
}

struct Deduplicated: NetworkingModifier, CustomStringConvertible {
    // Arrays, since comparing with a few costs less than hashing, which takes 290 instructions.
    static let sharedMethods: [HTTPRequest.Method] = [.get, .head, query]

    // A valid name, so there is a value.
    private static let query = HTTPRequest.Method("QUERY")!
    static let reads: [HTTPRequest.Method] = [.get, .head, .options, .trace, query]

    /// Which caller and which trace it is says nothing about the response.
    static let excludedFields: Set<String> = ["traceparent", "tracestate", "baggage", "x-request-id", "user-agent"]

    let methods: [HTTPRequest.Method]
    let excluded: Set<String>
    let followersRetryOnFailure: Bool
    let inFlight: InFlightRequests

    func send(
        _ request: HTTPRequestData,
        upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        guard Self.reads.contains(request.method) else {
            // A read that began before the write must not answer one that came after it.
            let url = DeduplicationURL(request)
            inFlight.detachReads(of: url)
            defer { inFlight.detachReads(of: url) }
            return try await share(request, upstream: upstream)
        }
        return try await share(request, upstream: upstream)
    }

    private func share(
        _ request: HTTPRequestData,
        upstream: some NetworkingComponent,
        isLast: Bool = false
    ) async throws -> HTTPResponseData {
        guard request.sink == nil, methods.contains(request.method), request.isDeduplicated,
            let key = DeduplicationKey(request, principal: upstream.principal(for: request), excluding: excluded)
        else { return try await upstream.send(request) }

        // The exchange is a task of its own, so it does not know of a cancellation that came before it.
        try Task.checkCancellation()
        let (exchange, waiter) = inFlight.join(key)
        let isNew = waiter == nil
        let branch = isNew ? request.recorder?.branch() : nil
        defer {
            if let branch {
                request.recorder?.join(branch)
            }
        }
        let listener = exchange.audience?.add(request)
        defer {
            if let listener {
                exchange.audience?.remove(listener)
            }
        }
        if isNew {
            var shared = exchange.audience?.heard(request) ?? request
            // Its creator's timeout does not end it, as long as others wait.
            shared.state.remove(.hasSilenceLimited)
            // It may go on without the one who measures.
            shared.recorder = branch
            exchange.work.start { [inFlight, shared] in
                // Before anybody hears of the result, so that whoever asks again then makes a new one.
                defer { inFlight.remove(key, exchange) }
                return try await upstream.send(shared)
            }
        } else {
            request.emit(DeduplicationEvent.shared)
        }
        do {
            guard let waiter else { return try await exchange.work.valueForCreator() }
            let response = try await request.waiting(.sharing, on: NetworkEnvironment.current.clock) {
                try await exchange.work.value(for: waiter)
            }
            // Signed in anew meanwhile: it is somebody else's response.
            guard response.principal == nil || response.principal == key.principal else {
                return try await upstream.send(request)
            }
            return response
        } catch let error where !isNew && followersRetryOnFailure && !isLast && !(error is CancellationError) {
            return try await share(request, upstream: upstream, isLast: true)
        }
    }

    var roles: Set<StackRole> { [.deduplication] }
    var requestOptions: Set<RequestOptionKey> { [.isDeduplicated] }

    func diagnostics(in stack: StackPlace) -> [StackDiagnostic] {
        guard stack.isInside(.retry) else { return [] }
        return [
            StackDiagnostic(
                "\(self) is inside retry, so each caller of a failed shared exchange retries. Put it outside.",
                about: self
            )
        ]
    }

    var description: String {
        guard Set(methods) != Set(Self.sharedMethods) else { return "deduplicated()" }
        let names = methods.map(\.rawValue).sorted().joined(separator: ", ")
        return "deduplicated(\(names.isEmpty ? "" : "methods: \(names)"))"
    }
}
