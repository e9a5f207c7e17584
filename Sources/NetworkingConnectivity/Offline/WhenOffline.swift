public import NetworkingCore

extension NetworkingComponent {
    /// Decides what happens to requests while there is no network that they may use.
    ///
    /// ```swift
    /// let network = URLSession.shared
    ///     .retry()
    ///     .whenOffline(.wait(upTo: .seconds(30)))
    ///     .server(authority: "api.example.com")
    /// ```
    ///
    /// A network that the request does not allow (``HTTPRequestData/allowsCellularAccess`` and the properties like it)
    /// counts as none. A request to the loopback address is always sent. A wait emits a ``WaitEvent`` with
    /// ``Wait/connectivity``; a cancelled caller gets `CancellationError` at once, and nothing is sent.
    ///
    /// It belongs outside `retry`, so that a request that is refused is not retried, and inside `cached`, so that
    /// fresh responses need no network. With ``OfflinePolicy/cached`` it belongs outside `cached`.
    ///
    /// ``NetworkEnvironment/connectivity`` reports the network. If none is set, the modifier creates
    /// a ``SystemConnectivity`` and sets it for everything upstream.
    ///
    /// - Parameter policy: The policy; ``HTTPRequestData/offlinePolicy`` replaces it for one request.
    /// - Returns: A component that throws a ``NetworkingError`` of kind ``NetworkingError/Kind/offline`` for requests
    ///   that it does not send.
    /// - Precondition: The duration of a wait is not negative.
    public func whenOffline(_ policy: OfflinePolicy = .fail) -> some NetworkingComponent {
        if case .wait(let limit?) = policy {
            precondition(limit >= .zero, "upTo must not be negative (is \(limit))")
        }
        return modified(WhenOffline(policy: policy))
    }
}

struct WhenOffline: NetworkingModifier, CustomStringConvertible {
    let policy: OfflinePolicy
    private let system = SystemConnectivity()

    init(policy: OfflinePolicy) {
        self.policy = policy
    }

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        var environment = NetworkEnvironment.current
        if let connectivity = environment.connectivity {
            let request = try await decide(about: request, connectivity, environment, upstream)
            return try await upstream.send(request)
        }
        let request = try await decide(about: request, system, environment, upstream)
        environment.connectivity = system
        return try await withEnvironment(environment) { try await upstream.send(request) }
    }

    /// Returns the request when it may be sent on, perhaps only to a cache.
    private func decide(
        about request: HTTPRequestData,
        _ connectivity: any Connectivity,
        _ environment: NetworkEnvironment,
        _ upstream: some NetworkingComponent
    ) async throws -> HTTPRequestData {
        let policy = request.offlinePolicy ?? policy
        guard policy != .send, !request.isLoopback else { return request }
        let clock = environment.clock
        let start = clock.now
        guard
            let reason = try await connectivity.refusal(
                of: request.networkAccess,
                until: policy.maximumWaitForStatus.map { start + $0 },
                on: clock
            )
        else { return request }
        try Task.checkCancellation()
        switch policy {
        case .send:
            return request
        case .fail:
            throw refused(request, reason)
        case .wait(let limit):
            try await wait(for: connectivity, request, upTo: limit, since: start, reason, on: clock)
            return request
        case .cached:
            guard upstream.modifiers.contains(where: { $0.stackPart.roles.contains(.caching) }) else {
                throw refused(request, "\(reason) The stack has no cache inside of whenOffline.")
            }
            request.emit(OfflineEvent.usesStoredResponse)
            var request = request
            request.requiresStoredResponse = true
            return request
        }
    }

    private func wait(
        for connectivity: any Connectivity,
        _ request: HTTPRequestData,
        upTo limit: Duration?,
        since start: Duration,
        _ reason: String,
        on clock: NetworkClock
    ) async throws {
        let isOnline = try await request.waiting(.connectivity, upTo: limit, on: clock) {
            try await connectivity.waitUntilOnline(
                for: request.networkAccess,
                until: limit.map { start + $0 },
                on: clock
            )
        }
        guard isOnline else {
            throw refused(request, "\(reason) None was available within \((limit ?? .zero).roundedText).")
        }
        try Task.checkCancellation()
    }

    private func refused(_ request: HTTPRequestData, _ reason: String) -> NetworkingError {
        request.emit(OfflineEvent.refused)
        return NetworkingError(.offline, request: request, reason: "\(reason) The request was not sent.")
    }

    var stackPart: StackPart {
        StackPart(roles: [.connectivity], options: [.offlinePolicy, .networkAccess], rules: policy.rules)
    }

    var description: String {
        "whenOffline(.\(policy))"
    }
}

extension OfflinePolicy {
    fileprivate var rules: [StackRule] {
        switch self {
        case .send: []
        case .fail:
            [.notInside(.retry, "is inside retry, which retries the requests that it refuses. Put it outside.")]
        case .wait:
            [
                .notInside(
                    .timeout,
                    "is inside timeout, so the wait for the network counts as a part of an attempt. Put it outside."
                ),
                .notInside(
                    .concurrencyLimit,
                    "is inside throttled, so a request that waits for the network holds a permit. Put it outside."
                ),
            ]
        case .cached:
            [.not("has no cached inside, so it fails like .fail. Put cached inside.") { !$0.isOutside(.caching) }]
        }
    }

    /// The maximum time until the status of the network is known; `nil` for no limit.
    fileprivate var maximumWaitForStatus: Duration? {
        switch self {
        case .send: .zero
        // The operating system reports the first status within milliseconds.
        case .fail, .cached: .seconds(2)
        case .wait(let limit): limit
        }
    }
}

extension Connectivity {
    /// Returns the reason why a request may not be sent over the current network; `nil` if it may.
    ///
    /// A source that ends without any status does not know the network, so the request is sent. A source that stays
    /// silent for too long counts as a missing network.
    fileprivate func refusal(
        of access: NetworkAccess,
        until deadline: Duration?,
        on clock: NetworkClock
    ) async throws -> String? {
        if let status { return access.refusal(over: status) }
        guard let first = try await firstStatus(until: deadline, on: clock, where: { _ in true }) else {
            return "It is not known whether there is a network."
        }
        return first.flatMap { access.refusal(over: $0) }
    }
}
