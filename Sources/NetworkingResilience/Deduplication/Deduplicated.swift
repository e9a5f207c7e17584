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
    /// Nobody is the owner of the exchange: a caller that is cancelled gets `CancellationError` at once, whether it came
    /// first or not, and the others get their response. When the last one has left, the exchange is cancelled. Each keeps
    /// its own `timeout` and `deadline` where they are written outside. The exchange has the priority of its most urgent
    /// caller. A failure goes to all who wait and is not remembered. A request that writes to a URL (any method but GET, HEAD,
    /// OPTIONS, TRACE and QUERY) keeps later reads of it from joining those that began before or during the write.
    ///
    /// - Parameters:
    ///   - methods: The methods whose requests are shared; nil for GET, HEAD and QUERY. Sharing those that write makes one
    ///     order of two.
    ///   - excluding: Header fields in which identical requests may differ, besides those of tracing. Those that hold
    ///     credentials, such as Authorization and Cookie, always count.
    ///   - followersRetryOnFailure: Whether those that joined share one more exchange when the first fails.
    ///   - flights: Where the exchanges under way are kept; stacks that share it share their exchanges.
    /// - Returns: A component that shares exchanges. It throws what they throw.
    public func deduplicated(
        methods: Set<HTTPRequest.Method>? = nil,
        excluding: [HTTPField.Name] = [],
        followersRetryOnFailure: Bool = false,
        sharing flights: Flights = Flights()
    ) -> some NetworkingComponent {
        modified(
            Deduplicated(
                methods: methods.map { Array($0) } ?? Deduplicated.sharedMethods,
                excluded: Deduplicated.excludedFields
                    .union(excluding.lazy.filter { !$0.isCredential }.map(\.canonicalName)),
                followersRetryOnFailure: followersRetryOnFailure,
                flights: flights
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
    let flights: Flights

    func send(
        _ request: HTTPRequestData,
        upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        guard Self.reads.contains(request.method) else {
            // A read that began before the write must not answer one that came after it.
            let url = FlightURL(request)
            flights.detachReads(of: url)
            defer { flights.detachReads(of: url) }
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
            let key = FlightKey(request, principal: upstream.principal(for: request), excluding: excluded)
        else { return try await upstream.send(request) }

        // The exchange is a task of its own, so it does not know of a cancellation that came before it.
        try Task.checkCancellation()
        let (flight, passenger) = flights.board(key)
        let isNew = passenger == nil
        let branch = isNew ? request.recorder?.branch() : nil
        defer {
            if let branch {
                request.recorder?.join(branch)
            }
        }
        let listener = flight.audience?.add(request)
        defer {
            if let listener {
                flight.audience?.remove(listener)
            }
        }
        if isNew {
            var shared = flight.audience?.heard(request) ?? request
            // Its creator's timeout does not end it, as long as others wait.
            shared.state.remove(.hasSilenceLimited)
            // It may go on without the one who measures.
            shared.recorder = branch
            flight.work.start { [flights, shared] in
                // Before anybody hears of the result, so that whoever asks again then makes a new one.
                defer { flights.remove(key, flight) }
                return try await upstream.send(shared)
            }
        } else {
            request.emit(DeduplicationEvent.shared)
        }
        do {
            guard let passenger else { return try await flight.work.valueForCreator() }
            let response = try await request.waiting(.sharing, on: NetworkEnvironment.current.clock) {
                try await flight.work.value(for: passenger)
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
