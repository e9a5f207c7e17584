import HTTPTypes

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A GET or HEAD that goes through a cache.
struct CachedExchange: Sendable {
    let cache: ResponseCache
    let key: CacheKey
    let request: HTTPRequestData

    private var rules: CacheRules {
        cache.rules
    }

    // MARK: Asking

    /// Asks the server, and keeps what it answers.
    func forward(
        _ reason: CacheStatus.Forward,
        _ entries: [CachedEntry],
        over upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        try await fetching { fetch in
            let (sent, tee) = copying(request, withholding: nil)
            let response = try await upstream.send(sent)
            return await kept(response, reason, copy: tee?.body, entries, fetch)
        }
    }

    /// Asks the server whether entries still hold.
    func validate(
        _ candidates: [CachedEntry],
        chosen: CachedEntry?,
        over upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        // The caller's own condition is the caller's to be told of.
        let asksItself = !request.isConditional && request.headerFields[.range] == nil
        let confirmed: HTTPResponseData? = try await fetching { fetch in
            let (sent, tee) = copying(asksItself ? conditional(candidates, chosen) : request, withholding: chosen)
            let outcome = try await upstream.outcome(of: sent)
            let now = fetch.clock.date
            if let chosen, let isUnreachable = outcome.failsUnreachable, tee?.canTakeAnother != false,
                rules.mayStandIn(chosen, for: request, unreachable: isUnreachable, at: now)
            {
                let status = try? outcome.get().status
                return try await answer(with: chosen, age: rules.age(of: chosen, at: now) ?? 0, .standIn, status)
            }
            let response = try outcome.get()
            guard asksItself, response.status == .notModified else {
                return await kept(response, .stale, copy: tee?.body, candidates, fetch)
            }
            // A caller who has asked for no 304 must not get one, whatever it speaks of.
            guard response.principal == nil || response.principal == key.principal,
                let entry = candidates.confirmed(by: response.http, chosen: chosen)?
                    .freshened(by: response.http, for: request, sent: fetch.sent, received: now)
            else { return nil }
            request.emit(.cacheRevalidated)
            await write(entry, fetch)
            return try await answer(with: entry, age: rules.age(of: entry, at: now) ?? 0, .revalidated, .notModified)
        }
        if let confirmed { return confirmed }
        return try await forward(.stale, candidates, over: upstream)
    }

    /// Asks the server in the background whether entries still hold.
    func revalidate(_ entries: [CachedEntry], chosen: CachedEntry, over upstream: some NetworkingComponent) {
        var request = request
        // Its caller has the answer, and hears no more.
        request.sink = nil
        request.progressHandler = nil
        request.settings.observers = []
        request.settings.stackObservers = []
        let exchange = CachedExchange(cache: cache, key: key, request: request)
        cache.revalidate(key) {
            _ = try await exchange.validate(entries, chosen: chosen, over: upstream)
        }
    }

    /// The request with the conditions that entries give (RFC 9111 section 4.3.1).
    private func conditional(_ candidates: [CachedEntry], _ chosen: CachedEntry?) -> HTTPRequestData {
        var conditional = request
        let tags = candidates.compactMap(\.facts.tag)
        if !tags.isEmpty {
            conditional.headerFields[.ifNoneMatch] = tags.joined(separator: ", ")
        }
        if let modified = chosen?.response.headerFields[.lastModified] {
            conditional.headerFields[.ifModifiedSince] = modified
        }
        return conditional
    }

    /// A request whose body is copied on its way to the sink, and the copy.
    private func copying(
        _ request: HTTPRequestData,
        withholding chosen: CachedEntry?
    ) -> (HTTPRequestData, CacheTee?) {
        guard let sink = request.sink else { return (request, nil) }
        let (rules, isConditional) = (rules, !self.request.isConditional && request.isConditional)
        let tee = CacheTee(
            sink,
            limit: cache.store.entryCostLimit,
            keeps: { [request] head in
                request.cacheMode.writes && rules.refusal(toStore: head, of: request) == nil
            },
            withholds: { head in
                head.status == .notModified && isConditional
                    || chosen != nil && HTTPResponseData.unavailable.contains(head.status.code)
            }
        )
        var request = request
        request.sink = tee
        return (request, tee)
    }

    // MARK: Keeping

    /// A fetch that is under way.
    private struct Fetch {
        let beginning: CacheFetches.Beginning
        let clock: NetworkClock
        let sent: Date
    }

    private func fetching<Value>(
        since sent: Date? = nil,
        _ body: (Fetch) async throws -> Value
    ) async rethrows -> Value {
        let clock = NetworkEnvironment.current.clock
        let fetch = Fetch(beginning: cache.fetches.begin(key.url), clock: clock, sent: sent ?? clock.date)
        defer { cache.fetches.end(key.url) }
        return try await body(fetch)
    }

    /// Puts a response into the cache, where it may be, and marks it.
    private func kept(
        _ response: HTTPResponseData,
        _ reason: CacheStatus.Forward,
        copy: Data?,
        _ entries: [CachedEntry],
        _ fetch: Fetch
    ) async -> HTTPResponseData {
        var response = response
        var record = CacheRecord.forwarded(reason, response.status)
        if request.cacheMode.writes {
            if let refusal = await keep(response, copy: copy, entries, fetch) {
                record.status.detail = refusal.rawValue
                request.emit(.cacheBypassed(refusal))
            } else {
                record.status.isStored = true
            }
        }
        response.cacheRecord = record
        return response
    }

    /// Keeps the response to a POST that says that it is what a GET of the URL brings, and for how long (RFC 9110 section
    /// 9.3.3).
    func keepPosted(_ response: inout HTTPResponseData, sent: Date) async {
        guard request.method == .post, response.status == .ok, rules.saysHowLong(response.http),
            let location = response.headerFields[.contentLocation],
            let url = URL(string: location, relativeTo: request.url)?.absoluteURL,
            CacheKey(HTTPRequestData(url: url), principal: key.principal) == key
        else { return }
        var get = request
        get.method = .get
        get.body = nil
        let exchange = CachedExchange(cache: cache, key: key, request: get)
        let posted = response
        let kept = await exchange.fetching(since: sent) { fetch in
            await exchange.kept(posted, .method, copy: nil, [], fetch)
        }
        response.cacheRecord = kept.cacheRecord
    }

    /// Returns why a response is not kept; nil when it is.
    private func keep(
        _ response: HTTPResponseData,
        copy: Data?,
        _ entries: [CachedEntry],
        _ fetch: Fetch
    ) async -> CacheBypass? {
        guard response.principal == nil || response.principal == key.principal else { return .principal }
        let received = fetch.clock.date
        if request.method == .head {
            await freshen(entries, byHead: response.http, fetch)
            return .method
        }
        if response.status == .notModified {
            let fitting = entries.first { CacheRules.matches($0, request) }
            guard
                let entry = entries.confirmed(by: response.http, chosen: fitting)?
                    .freshened(by: response.http, for: nil, sent: fetch.sent, received: received)
            else { return .status }
            return await write(entry, fetch)
        }
        if let refusal = rules.refusal(toStore: response.http, of: request) { return refusal }
        guard let data = response.body.data ?? copy else { return .size }
        // What a server cannot count, it has not sent whole.
        guard let part = CacheRules.part(of: response.http, with: data.count, for: request) else { return .incomplete }
        var entry = CachedEntry(
            response: CacheRules.stored(response.http),
            body: data,
            part: response.status.code == 206 ? part : nil,
            varying: CacheRules.varying(response.http, request),
            requestDate: fetch.sent,
            responseDate: received
        )
        // A mode that does not read has not seen what it takes the place of.
        let known = request.cacheMode.reads ? entries : await cache.entries(for: key, request)
        for old in known where CacheRules.matches(old, request) {
            if entry.part != nil, let combined = old.combined(with: entry) {
                entry = combined
            } else if entry.part != nil, old.part == nil {
                // A part does not take the place of the whole.
                return .status
            }
            await cache.remove(old.id, key, request)
        }
        return await write(entry, fetch)
    }

    /// What a HEAD says of what is stored (RFC 9111 section 4.3.5).
    private func freshen(_ entries: [CachedEntry], byHead head: HTTPResponse, _ fetch: Fetch) async {
        guard head.status == .ok else { return }
        for entry in entries where CacheRules.matches(entry, request) && entry.part == nil {
            let length = head.headerFields[.contentLength].flatMap { Int($0) }
            let isSame =
                entry.facts.tag == head.headerFields[.eTag]
                && entry.response.headerFields[.lastModified] == head.headerFields[.lastModified]
                && (length == nil || length == entry.body.count)
            if isSame {
                let received = fetch.clock.date
                await write(entry.freshened(by: head, for: nil, sent: fetch.sent, received: received), fetch)
            } else {
                await cache.remove(entry.id, key, request)
            }
        }
    }

    /// Returns why an entry is not written; nil when it is.
    @discardableResult
    private func write(_ entry: CachedEntry, _ fetch: Fetch) async -> CacheBypass? {
        guard entry.cost <= cache.store.entryCostLimit else {
            await cache.remove(entry.id, key, request)
            return .size
        }
        guard cache.fetches.isCurrent(fetch.beginning, key.url) else { return .outdated }
        guard await cache.write(entry, key, request) else { return .store }
        // What was removed while this was written must not come back by it.
        guard cache.fetches.isCurrent(fetch.beginning, key.url) else {
            await cache.remove(entry.id, key, request)
            return .outdated
        }
        return nil
    }
}

extension Result<HTTPResponseData, any Error> {
    /// Whether the server failed because it could not be reached, and not by its answer; nil when it did not fail.
    fileprivate var failsUnreachable: Bool? {
        switch self {
        case .success(let response):
            return HTTPResponseData.unavailable.contains(response.status.code) ? false : nil
        case .failure(let error):
            switch (error as? NetworkingError)?.kind {
            case .offline, .nameResolution, .connection, .connectionLost, .tls, .timeout, .truncated: return true
            default: return nil
            }
        }
    }
}

extension HTTPResponseData {
    /// The statuses for which `stale-if-error` is meant (RFC 5861 section 4).
    fileprivate static let unavailable: Set<Int> = [500, 502, 503, 504]
}
