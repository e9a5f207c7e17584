import FoundationForNetworking
import HTTPTypes
public import NetworkingCore

extension NetworkingComponent {
    /// Serves GET, HEAD and QUERY requests from a cache where HTTP allows it (RFC 9111, 5861, 8246), and stores
    /// responses.
    ///
    /// ```swift
    /// let network = URLSession.shared
    ///     .authenticated(with: tokens)
    ///     .cached()
    ///     .server(authority: "api.example.com")
    /// ```
    ///
    /// The cache stores a response if its server permits that. It uses the response while it is fresh, and validates it
    /// afterwards. If the server cannot be reached, the cache returns a stale response, unless that response has
    /// `must-revalidate` or `no-cache`. If the server fails, the cache returns a stale response within its
    /// `stale-if-error` window. Within its `stale-while-revalidate` window, a stale response is returned at once and
    /// validated in the background. A successful request with an unsafe method, such as POST, removes the stored
    /// responses of its URL, for every user. ``HTTPRequestData/cacheMode`` replaces these rules for one request.
    ///
    /// If the response to such a request has the field `Cache-Group-Invalidation`, the user's responses with one of the
    /// groups in `Cache-Groups` are removed, too (RFC 9875). A response with `No-Vary-Search` also answers requests for
    /// URLs with other parameters, as that field declares (draft-ietf-httpbis-no-vary-search).
    ///
    /// A response to a QUERY answers only requests with the same body and the same fields that describe it, such as
    /// Content-Type (RFC 10008 section 2.7). A body that is not in memory or larger than 1 MiB bypasses the cache, and
    /// so does the response to a POST that was sent in place of a QUERY.
    ///
    /// Place it outside `deduplicated`, `retry` and `authenticated`, so that no request gets a response that was
    /// fetched for another principal. A request with its own `Authorization` field bypasses the cache, unless the cache
    /// is shared.
    ///
    /// A response body that goes to a sink is copied on its way, up to the store's limit for an entry. The copy is
    /// stored once it is complete. A cancelled caller gets `CancellationError`. A response waits at most 250
    /// milliseconds for a slow store (``ResponseCache/flush()``). If the store throws, the cache reports an event
    /// (`cacheFailed`) and the request continues without the store. ``HTTPResponseData/cacheStatus`` describes how the
    /// cache handled the request.
    ///
    /// - Parameter cache: The cache. Stacks that use the same object share their responses.
    /// - Returns: A component that throws the errors of its upstream.
    public func cached(in cache: ResponseCache = ResponseCache()) -> some NetworkingComponent {
        modified(Cached(cache: cache))
    }

    /// Serves requests from a cache with the given store, and otherwise behaves like the form with a ``ResponseCache``.
    ///
    /// - Parameter store: The store for the responses.
    /// - Returns: A component that throws the errors of its upstream.
    public func cached(in store: some CacheStore) -> some NetworkingComponent {
        cached(in: ResponseCache(in: store))
    }
}

struct Cached: NetworkingModifier, CustomStringConvertible {
    let cache: ResponseCache

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        let principal = upstream.principal(for: request)
        if request.requiresStoredResponse { return try await storedResponse(to: request, for: principal) }
        guard let key = CacheKey(request, principal: principal) else { return try await upstream.send(request) }
        var exchange = cache.exchange(of: request, key)
        let isAnonymous = isAnonymous(request)
        let mayUseStored = request.method.mayUseStored && !exchange.hasUnkeyedBody && !isAnonymous
        // The request would be sent, because the cache stores no response to it.
        if !mayUseStored, cache.rules.mayNotAsk(request.cacheMode, CacheRules.directives(of: request)) {
            return exchange.unsatisfiable()
        }
        guard request.method.mayUseStored else {
            guard !request.method.isSafe else { return try await upstream.send(request) }
            return try await exchange.change(mayKeep: !isAnonymous, over: upstream)
        }
        guard !isAnonymous else {
            request.emit(CacheEvent.bypassed(.credentials))
            var response = try await upstream.send(request)
            response.cacheRecord = .forwarded(.bypass, response.status, detail: .credentials)
            return response
        }
        // The response depends on the body, and not only on the URL.
        guard !exchange.hasUnkeyedBody else {
            request.emit(CacheEvent.bypassed(.body))
            var response = try await upstream.send(request)
            response.cacheRecord = .forwarded(.bypass, response.status, detail: .body)
            return response
        }
        let mode = request.cacheMode
        let entries = try await exchange.lookUp(reads: mode.reads)
        let now = NetworkEnvironment.current.clock.date
        let exact = cache.rules.decide(about: request, exchange.credentials, entries: entries, mode: mode, now: now)
        // Not before a hit, which should cost nothing more.
        let other = exact.isHit ? nil : try await exchange.equivalent(to: exact, now: now)
        switch other?.decision ?? exact {
        case .serve(let entry, let age, let isStale):
            if isStale {
                exchange.revalidate(other?.entries ?? entries, chosen: entry, from: other?.source, over: upstream)
            }
            return try await (other?.source ?? exchange).respond(with: entry, age: age, isStale ? .stale : .fresh)
        case .unsatisfiable:
            return exchange.unsatisfiable()
        case .validate(let candidates, let chosen):
            return try await exchange.validate(candidates, chosen: chosen, from: other?.source, over: upstream)
        case .forward(let reason):
            request.emit(mode.reads || mode.writes ? CacheEvent.missed : CacheEvent.bypassed(.request))
            return try await exchange.forward(reason, entries, over: upstream)
        }
    }

    /// Whether a request has a credential whose user the cache does not know.
    private func isAnonymous(_ request: HTTPRequestData) -> Bool {
        // An option with a credential that cannot be compared.
        if request.optionIdentities == nil { return true }
        // The user of an Authorization field is unknown, and a key must not contain credentials. A shared cache needs
        // no user, because it stores only responses for all users.
        return !cache.rules.isShared && request.headerFields.contains(.authorization)
    }

    /// Returns a stored response of any age, for a request that must not be sent.
    private func storedResponse(
        to request: HTTPRequestData,
        for principal: Principal?
    ) async throws -> HTTPResponseData {
        if request.method.mayUseStored, !request.hasUnkeyedBody, !isAnonymous(request),
            let key = CacheKey(request, principal: principal)
        {
            var exchange = cache.exchange(of: request, key)
            let entries = try await exchange.lookUp(reads: true)
            let now = NetworkEnvironment.current.clock.date
            let exact = cache.rules.decide(
                about: request,
                exchange.credentials,
                entries: entries,
                mode: .onlyIfCached,
                now: now
            )
            let other = try await exchange.equivalent(to: exact, now: now)
            if case .serve(let entry, let age, _) = other?.decision ?? exact {
                return try await (other?.source ?? exchange).respond(with: entry, age: age, .offline)
            }
        }
        try Task.checkCancellation()
        request.emit(CacheEvent.missed)
        throw NetworkingError(
            .offline,
            request: request,
            reason: "There is no network for the request, and the cache has no response for it. "
                + "Try again when the device is online."
        )
    }

    var stackPart: StackPart {
        StackPart(
            roles: [.caching],
            options: [.cacheMode],
            // A shared cache does not separate users, because the responses state whether it may store them.
            rules: (cache.rules.isShared ? [] : StackRule.ofPrivateCaches) + StackRule.ofCaches
        )
    }

    var description: String {
        "cached"
    }
}

extension StackRule {
    fileprivate static let ofPrivateCaches: [StackRule] = [
        .not(
            "is inside authenticated, so it sees credentials but not their user, and stores nothing. "
                + "Put a cache outside."
        ) { $0.isInsideWithoutCache(.authentication) },
        .not("is inside signed, so it does not know whose key a response belongs to. Put a cache outside.") {
            $0.isInsideWithoutCache(.signing)
        },
        StackRule { place in
            (place.outer + place.inner).first { $0.stackPart.roles.contains(.authorizationField) }
                .map { field in
                    "\(place.name) stores no response to a request with the Authorization of \(field.outlineName), "
                        + "because that names no user. Use authenticated instead."
                }
        },
    ]

    fileprivate static let ofCaches: [StackRule] = [
        StackRule { place in
            place.inner.first { $0.stackPart.roles.contains(.adaptation) }
                .map { part in
                    "\(place.name) is outside \(part.outlineName), so it does not see the fields that are set there. "
                        + "It stores no response that varies by them. Set fields outside of the cache, and use "
                        + "authenticated for credentials."
                }
        },
        StackRule { place in
            let probe = HTTPRequestData()
            return place.inner
                .first { part in
                    !part.stackPart.roles.isDisjoint(with: [.authentication, .signing])
                        && part.principal(for: probe, upstream: UnimplementedTransport("")) == nil
                }
                .map { part in
                    "\(place.name) is outside \(part.outlineName), which adds credentials and names no principal, so "
                        + "it stores no response to a request with them. Implement principal(for:upstream:)."
                }
        },
        .not("is inside deduplicated, so misses for one URL are not shared. Put it outside.") {
            $0.isInside(.deduplication) && !$0.isOutside(.deduplication)
        },
    ]
}

extension StackPlace {
    /// Returns whether the place is inside a modifier with a role, and no other cache is outside that modifier.
    ///
    /// With a cache outside that modifier, this cache serves the requests without credentials.
    fileprivate func isInsideWithoutCache(_ role: StackRole) -> Bool {
        guard let index = outer.firstIndex(where: { $0.stackPart.roles.contains(role) }) else { return false }
        return !outer[index...].contains { $0.stackPart.roles.contains(.caching) }
    }
}
