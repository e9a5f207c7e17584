import HTTPTypes

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
    /// What the server lets it keep is used for as long as it is fresh, and then validated. A stale response stands in for a server
    /// that cannot be reached, unless it says `must-revalidate` or `no-cache`, and for one that fails within its `stale-if-error`;
    /// within its `stale-while-revalidate` it is used at once and validated in the background. A success of any other method
    /// removes what is kept for its URL. ``HTTPRequestData/cacheMode`` replaces all this for one request.
    ///
    /// Outside of `deduplicated`, `retry` and `authenticated`: nobody gets what was fetched for another principal. A request with
    /// an `Authorization` of its own, which no principal stands for, passes.
    ///
    /// Bodies that go to a sink are answered from the cache, and are not put into it. A cancelled caller gets
    /// `CancellationError`. What the store throws is told as an event (`cacheFailed`), and the request goes on without it.
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

    private var rules: CacheRules {
        cache.rules
    }

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        let principal = upstream.principal(for: request)
        guard let url = request.absoluteString else { return try await upstream.send(request) }
        let key = CacheKey(principal: principal, url: url)
        guard request.method == .get || request.method == .head else {
            let response = try await upstream.send(request)
            if !Self.safe.contains(request.method), response.status.code < 400 {
                await invalidate(after: response, to: request, key)
            }
            return response
        }
        // Whose they are nobody says, and a key must not hold them. A shared cache keeps only what is for all.
        guard rules.isShared || principal != nil || !request.headerFields.contains(.authorization) else {
            request.emit(.cacheBypassed(.credentials))
            return try await upstream.send(request)
        }
        let mode = request.cacheMode
        let environment = NetworkEnvironment.current
        let entries = mode.reads ? await self.entries(for: key, request) : []
        switch rules.decide(about: request, entries: entries, mode: mode, now: environment.clock.date) {
        case .serve(let entry, let age, let isStale):
            if isStale {
                var background = request
                // Its caller has the answer, and hears no more.
                background.sink = nil
                background.progressHandler = nil
                background.settings.observers = []
                background.settings.stackObservers = []
                cache.revalidate(key) { [self, background] in
                    _ = try await validate(background, entries, chosen: entry, key, upstream: upstream)
                }
            }
            return try await answer(request, with: entry, age: age, isStale ? .stale : .fresh, principal)
        case .unsatisfiable:
            return HTTPResponseData(request: request, status: .gatewayTimeout)
        case .validate(let candidates, let chosen):
            return try await validate(request, candidates, chosen: chosen, key, upstream: upstream)
        case .forward:
            request.emit(.cacheMissed)
            return try await forward(request, entries, key, upstream: upstream)
        }
    }

    // MARK: Asking

    private func forward(
        _ request: HTTPRequestData,
        _ entries: [CachedEntry],
        _ key: CacheKey,
        upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        let clock = NetworkEnvironment.current.clock
        let sent = clock.date
        let response = try await upstream.send(request)
        await keep(response, of: request, entries, key, sent: sent, received: clock.date)
        return response
    }

    private func validate(
        _ request: HTTPRequestData,
        _ candidates: [CachedEntry],
        chosen: CachedEntry?,
        _ key: CacheKey,
        upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        // The caller's own condition is the caller's to be told of.
        guard !request.isConditional, request.headerFields[.range] == nil else {
            return try await forward(request, candidates, key, upstream: upstream)
        }
        var conditional = request
        let tags = candidates.compactMap { $0.response.headerFields[.eTag] }
        if !tags.isEmpty {
            conditional.headerFields[.ifNoneMatch] = tags.joined(separator: ", ")
        }
        if let modified = chosen?.response.headerFields[.lastModified] {
            conditional.headerFields[.ifModifiedSince] = modified
        }
        let clock = NetworkEnvironment.current.clock
        let sent = clock.date
        let outcome = try await upstream.outcome(of: conditional)
        let now = clock.date
        if let chosen, let isUnreachable = outcome.failsUnreachable,
            rules.mayStandIn(chosen, for: request, unreachable: isUnreachable, at: now)
        {
            return try await answer(
                request,
                with: chosen,
                age: rules.age(of: chosen, at: now) ?? 0,
                .standIn,
                key.principal
            )
        }
        let response = try outcome.get()
        guard response.status == .notModified else {
            await keep(response, of: request, candidates, key, sent: sent, received: now)
            return response
        }
        // A caller who has asked for no 304 must not get one, whatever it speaks of.
        guard response.principal == nil || response.principal == key.principal,
            var entry = candidates.confirmed(by: response.http, chosen: chosen)
        else { return try await forward(request, candidates, key, upstream: upstream) }
        entry.freshen(by: response.http, sent: sent, received: now)
        // Another variant answers this request from now on.
        entry.varying = CacheRules.varying(entry.response, request)
        request.emit(.cacheRevalidated)
        await write(entry, key, request)
        return try await answer(
            request,
            with: entry,
            age: rules.age(of: entry, at: now) ?? 0,
            .revalidated,
            key.principal
        )
    }

    // MARK: Storing

    private func keep(
        _ response: HTTPResponseData,
        of request: HTTPRequestData,
        _ entries: [CachedEntry],
        _ key: CacheKey,
        sent: Date,
        received: Date
    ) async {
        guard request.cacheMode.writes else { return }
        guard response.principal == nil || response.principal == key.principal else {
            return request.emit(.cacheBypassed(.principal))
        }
        if request.method == .head {
            return await freshen(entries, byHead: response.http, request, key, sent: sent, received: received)
        }
        if response.status == .notModified {
            let fitting = entries.first { CacheRules.matches($0, request) }
            guard var entry = entries.confirmed(by: response.http, chosen: fitting) else { return }
            entry.freshen(by: response.http, sent: sent, received: received)
            return await write(entry, key, request)
        }
        if let refusal = rules.refusal(toStore: response.http, of: request) {
            return request.emit(.cacheBypassed(refusal))
        }
        guard let data = response.body.data else { return request.emit(.cacheBypassed(.size)) }
        var part = CacheRules.part(of: response.http)
        if let length = part?.length, part?.range.count != data.count,
            let wanted = request.byteRange?.bounds(of: length), wanted.count == data.count
        {
            // What was asked for, and counted wrongly.
            part?.range = wanted
        }
        // A server that cannot count is not to be believed.
        guard part == nil || part?.range.count == data.count else { return }
        var entry = CachedEntry(
            response: CacheRules.stored(response.http),
            body: data,
            part: part,
            varying: CacheRules.varying(response.http, request),
            requestDate: sent,
            responseDate: received
        )
        // A mode that does not read has not seen what it takes the place of.
        let known = request.cacheMode.reads ? entries : await self.entries(for: key, request)
        for old in known where CacheRules.matches(old, request) {
            if entry.part != nil, let combined = old.combined(with: entry) {
                entry = combined
            } else if entry.part != nil, old.part == nil {
                // A part does not take the place of the whole.
                return
            }
            await remove(old.id, key, request)
        }
        await write(entry, key, request)
    }

    /// What a HEAD says of what is stored (RFC 9111 section 4.3.5).
    private func freshen(
        _ entries: [CachedEntry],
        byHead head: HTTPResponse,
        _ request: HTTPRequestData,
        _ key: CacheKey,
        sent: Date,
        received: Date
    ) async {
        guard head.status == .ok else { return }
        for old in entries where CacheRules.matches(old, request) && old.part == nil {
            var entry = old
            let length = head.headerFields[.contentLength].flatMap { Int($0) }
            let isSame =
                entry.response.headerFields[.eTag] == head.headerFields[.eTag]
                && entry.response.headerFields[.lastModified] == head.headerFields[.lastModified]
                && (length == nil || length == entry.body.count)
            if isSame {
                entry.freshen(by: head, sent: sent, received: received)
                await write(entry, key, request)
            } else {
                await remove(old.id, key, request)
            }
        }
    }

    /// RFC 9111 section 4.4: what was changed, and what the response names, at the same origin.
    private func invalidate(after response: HTTPResponseData, to request: HTTPRequestData, _ key: CacheKey) async {
        var urls = [key.url]
        for name in [HTTPField.Name.location, .contentLocation] {
            guard let location = response.headerFields[name],
                let url = URL(string: location, relativeTo: request.url)?.absoluteURL
            else { continue }
            let other = HTTPRequestData(url: url)
            if other.authority?.lowercased() == request.authority?.lowercased(), let text = other.absoluteString {
                urls.append(text)
            }
        }
        for url in urls {
            await remove(nil, CacheKey(principal: key.principal, url: url), request)
        }
    }

    // MARK: The store, whose failures are not the caller's

    private func entries(for key: CacheKey, _ request: HTTPRequestData) async -> [CachedEntry] {
        do {
            return try await cache.store.entries(for: key)
        } catch {
            request.emit(.cacheFailed(error))
            return []
        }
    }

    private func write(_ entry: CachedEntry, _ key: CacheKey, _ request: HTTPRequestData) async {
        do {
            try await cache.store.store(entry, for: key)
            request.emit(.cacheStored)
        } catch {
            request.emit(.cacheFailed(error))
        }
    }

    private func remove(_ id: CachedEntry.ID?, _ key: CacheKey, _ request: HTTPRequestData) async {
        do {
            try await cache.store.remove(id, for: key)
        } catch {
            request.emit(.cacheFailed(error))
        }
    }

    // MARK: Answering

    private func answer(
        _ request: HTTPRequestData,
        with entry: CachedEntry,
        age: Double,
        _ hit: NetworkEvent.CacheHit,
        _ principal: Principal?
    ) async throws -> HTTPResponseData {
        try Task.checkCancellation()
        request.emit(.cacheHit(hit))
        var head = entry.response
        let unshown = rules.directives(of: head).fieldNames("no-cache")
        for name in unshown {
            if let name = HTTPField.Name(name) {
                head.headerFields[name] = nil
            }
        }
        head.headerFields[.age] = "\(Int(min(age, 2_147_483_648)))"
        var body = entry.body
        if request.alreadyHas(entry) {
            head.status = .notModified
            body = Data()
        } else if let range = request.byteRange, request.ifRangeHolds(for: head) {
            let offset = entry.part?.range.lowerBound ?? 0
            let length = entry.part.map { $0.length } ?? entry.body.count
            if let bounds = range.bounds(of: length) {
                body = body.subdata(in: bounds.lowerBound - offset..<bounds.upperBound - offset)
                head.status = .partialContent
                head.headerFields[.contentRange] =
                    "bytes \(bounds.lowerBound)-\(bounds.upperBound - 1)/\(length.map { "\($0)" } ?? "*")"
                head.headerFields[.contentLength] = "\(body.count)"
            }
        }
        if request.method == .head {
            body = Data()
        }
        var response = HTTPResponseData(request: request, http: head, body: .collected(body))
        response.principal = principal
        response.isCached = true
        if let sink = request.sink, head.status.code != 304 {
            try await response.deliver(to: sink, for: request)
        }
        return response
    }

    var description: String {
        "cached"
    }
}

extension HTTPResponseData {
    private enum CachedKey: ResponseMetadata {
        static let defaultValue = false
    }

    /// Whether it comes from a cache of the stack, without that the server has sent its body.
    public internal(set) var isCached: Bool {
        get { self[metadata: CachedKey.self] }
        set { self[metadata: CachedKey.self] = newValue }
    }
}

extension Result<HTTPResponseData, any Error> {
    /// Whether the server failed because it could not be reached, and not by its answer; nil when it did not fail.
    fileprivate var failsUnreachable: Bool? {
        switch self {
        case .success(let response):
            return [500, 502, 503, 504].contains(response.status.code) ? false : nil
        case .failure(let error):
            switch (error as? NetworkingError)?.kind {
            case .offline, .nameResolution, .connection, .connectionLost, .tls, .timeout, .truncated: return true
            default: return nil
            }
        }
    }
}

extension [CachedEntry] {
    /// The entry that a 304 speaks of (RFC 9111 section 4.3.4).
    fileprivate func confirmed(by head: HTTPResponse, chosen: CachedEntry?) -> CachedEntry? {
        guard let tag = head.headerFields[.eTag] else { return chosen ?? (count == 1 ? first : nil) }
        if let chosen, chosen.response.headerFields[.eTag]?.isWeaklyEqual(to: tag) == true { return chosen }
        return first { $0.response.headerFields[.eTag]?.isWeaklyEqual(to: tag) == true } ?? chosen
    }
}

extension CachedEntry {
    /// The fields that describe the message and not what is stored (RFC 9111 section 3.2).
    private static let unchanged: Set<String> = [
        "content-length", "content-encoding", "content-range", "transfer-encoding", "connection", "keep-alive", "te",
        "trailer",
        "upgrade", "proxy-connection", "proxy-authenticate", "proxy-authentication-info",
    ]

    /// Takes over the fields of a response that confirms it.
    fileprivate mutating func freshen(by head: HTTPResponse, sent: Date, received: Date) {
        let names = Set(head.headerFields.map { $0.name.canonicalName }).subtracting(Self.unchanged)
        for name in names.subtracting(CacheRules.connectionFields(of: head)) {
            guard let name = HTTPField.Name(name) else { continue }
            response.headerFields[fields: name] = head.headerFields[fields: name]
        }
        if !names.contains("age") {
            response.headerFields[.age] = nil
        }
        (requestDate, responseDate) = (sent, received)
    }

    /// This and a part that follows or overlaps it, of the same strong tag (RFC 9111 section 3.4).
    fileprivate func combined(with new: CachedEntry) -> CachedEntry? {
        guard let tag = response.headerFields[.eTag], !tag.hasPrefix("W/"), new.response.headerFields[.eTag] == tag,
            let newPart = new.part
        else { return nil }
        let old = part?.range ?? 0..<body.count
        let length = part.map { $0.length } ?? body.count
        guard old.lowerBound <= newPart.range.upperBound, newPart.range.lowerBound <= old.upperBound else { return nil }
        let range = min(old.lowerBound, newPart.range.lowerBound)..<max(old.upperBound, newPart.range.upperBound)
        var bytes = Data(count: range.count)
        bytes.replaceSubrange(old.lowerBound - range.lowerBound..<old.upperBound - range.lowerBound, with: body)
        bytes.replaceSubrange(
            newPart.range.lowerBound - range.lowerBound..<newPart.range.upperBound - range.lowerBound,
            with: new.body
        )
        var combined = new
        combined.body = bytes
        let whole = newPart.length ?? length
        combined.part = whole == range.count && range.lowerBound == 0 ? nil : Part(range: range, length: whole)
        if combined.part == nil {
            combined.response.status = .ok
            combined.response.headerFields[.contentRange] = nil
            combined.response.headerFields[.contentLength] = "\(range.count)"
        }
        return combined
    }
}
