import HTTPTypes
public import NetworkingCore

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension NetworkingComponent {
    /// Answers GET and HEAD from a cache where HTTP allows it (RFC 9111, 5861, 8246), and keeps what comes.
    ///
    /// ```swift
    /// let network = URLSession.shared
    ///     .authenticated(with: tokens)
    ///     .cached()
    ///     .server(authority: "api.example.com")
    /// ```
    ///
    /// What the server lets it keep is used for as long as it is fresh, and then validated. A stale response stands in
    /// for a server that cannot be reached, unless it says `must-revalidate` or `no-cache`, and for one that fails
    /// within its `stale-if-error`; within its `stale-while-revalidate` it is used at once and validated in the
    /// background. A success of any other method removes what is kept for its URL, for every user.
    /// ``HTTPRequestData/cacheMode`` replaces all this for one request.
    ///
    /// Outside of `deduplicated`, `retry` and `authenticated`: nobody gets what was fetched for another principal. A
    /// request with an `Authorization` of its own, which no principal stands for, passes.
    ///
    /// A body that goes to a sink is copied on its way, up to the store's limit for an entry, and kept once it is
    /// complete. A cancelled caller gets `CancellationError`. What the store throws is told as an event
    /// (`cacheFailed`), and the request goes on without it. ``HTTPResponseData/cacheStatus`` says what became of a
    /// request.
    ///
    /// - Parameter cache: The cache; stacks that have the same one share it.
    /// - Returns: A component that throws what its upstream throws.
    public func cached(in cache: ResponseCache = ResponseCache()) -> some NetworkingComponent {
        modified(Cached(cache: cache))
    }

    /// Answers from a cache in a store of its own; for the rest it is the form with a ``ResponseCache``.
    ///
    /// - Parameter store: Where the responses are kept.
    /// - Returns: A component that throws what its upstream throws.
    public func cached(in store: some CacheStore) -> some NetworkingComponent {
        cached(in: ResponseCache(in: store))
    }
}

struct Cached: NetworkingModifier, CustomStringConvertible {
    let cache: ResponseCache

    private static let safe: Set<HTTPRequest.Method> = [.get, .head, .options, .trace]

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        let principal = upstream.principal(for: request)
        guard let key = CacheKey(request, principal: principal) else { return try await upstream.send(request) }
        var exchange = CachedExchange(cache: cache, key: key, request: request, glance: cache.fetches.glance())
        // Whose they are nobody says, and a key must not hold them. A shared cache keeps only what is for all.
        let isAnonymous = !cache.rules.isShared && request.headerFields.contains(.authorization)
        guard request.method == .get || request.method == .head else {
            guard !Self.safe.contains(request.method) else { return try await upstream.send(request) }
            return try await exchange.change(mayKeep: !isAnonymous, over: upstream)
        }
        guard !isAnonymous else {
            if request.cacheMode == .onlyIfCached { return exchange.unsatisfiable() }
            request.emit(CacheEvent.bypassed(.credentials))
            var response = try await upstream.send(request)
            response.cacheRecord = .forwarded(.bypass, response.status, detail: .credentials)
            return response
        }
        // Its answer is one to what it asks, and not what its URL brings.
        guard request.body == nil else {
            request.emit(CacheEvent.bypassed(.body))
            var response = try await upstream.send(request)
            response.cacheRecord = .forwarded(.bypass, response.status, detail: .body)
            return response
        }
        let mode = request.cacheMode
        let credentials = await cache.credentials(of: request)
        exchange.credentials = credentials
        let entries = mode.reads ? await cache.entries(for: key, request, credentials, exchange.glance) : []
        let now = NetworkEnvironment.current.clock.date
        switch cache.rules.decide(about: request, credentials, entries: entries, mode: mode, now: now) {
        case .serve(let entry, let age, let isStale):
            if isStale {
                exchange.revalidate(entries, chosen: entry, over: upstream)
            }
            return try await exchange.answer(with: entry, age: age, isStale ? .stale : .fresh)
        case .unsatisfiable:
            return exchange.unsatisfiable()
        case .validate(let candidates, let chosen):
            return try await exchange.validate(candidates, chosen: chosen, over: upstream)
        case .forward(let reason):
            request.emit(mode.reads || mode.writes ? CacheEvent.missed : CacheEvent.bypassed(.request))
            return try await exchange.forward(reason, entries, over: upstream)
        }
    }

    var roles: Set<StackRole> { [.caching] }
    var requestOptions: Set<RequestOptionKey> { [.cacheMode] }

    func diagnostics(in stack: StackPlace) -> [StackDiagnostic] {
        var diagnostics: [StackDiagnostic] = []
        func report(_ message: String) {
            diagnostics.append(StackDiagnostic("\(self) \(message)", about: self))
        }
        // A shared cache has no users, and the responses say whether it may store them.
        if !cache.rules.isShared {
            if isInside(.authentication, withoutOuterCacheIn: stack) {
                report(
                    "is inside authenticated, so it sees credentials but not their user, and stores nothing. Put a cache outside."
                )
            }
            if isInside(.signing, withoutOuterCacheIn: stack) {
                report("is inside signed, so it does not know whose key a response belongs to. Put a cache outside.")
            }
            if let field = (stack.outer + stack.inner).first(where: { $0.roles.contains(.authorizationField) }) {
                report(
                    "stores no response to a request with the Authorization of \(field.outlineName), because that names no user. "
                        + "Use authenticated instead."
                )
            }
        }
        if stack.isInside(.deduplication), !stack.isOutside(.deduplication) {
            report("is inside deduplicated, so misses for one URL are not shared. Put it outside.")
        }
        return diagnostics
    }

    /// Returns whether the place is inside a modifier with a role, and no other cache is outside that modifier.
    ///
    /// With another cache there, this one serves the requests without credentials.
    private func isInside(_ role: StackRole, withoutOuterCacheIn stack: StackPlace) -> Bool {
        guard let index = stack.outer.firstIndex(where: { $0.roles.contains(role) }) else { return false }
        return !stack.outer[index...].contains { $0.roles.contains(.caching) }
    }

    var description: String {
        "cached"
    }
}
