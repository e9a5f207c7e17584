import FoundationForNetworking
import HTTPTypes
import NetworkingCore

/// A request that passes through a cache.
struct CachedExchange: Sendable {
    let cache: ResponseCache
    /// The key; that of a QUERY is complete once the exchange is prepared.
    private(set) var key: CacheKey
    let request: HTTPRequestData
    /// The state of the cache before the store was read.
    let snapshot: CacheInvalidation.Snapshot
    /// The values of the environment and of options on which responses depend, as a text; `nil` if there are none.
    let values: String?
    /// The content of a QUERY; `nil` if it cannot be part of a key, and for other methods.
    var content: QueryContent?
    /// The credentials of the request.
    var credentials = CredentialDigests.none
    /// Replaces the credentials in the URL; `nil` for a store in memory.
    var seal: CacheSeal?
    /// Whether the store can be used.
    ///
    /// It is `false` if the store has not returned its digest key in time. The key of the cache does not replace it: no
    /// request would find an entry under that key, and no removal would match it.
    var hasStore = true

    var rules: CacheRules {
        cache.rules
    }

    /// The key that the store receives.
    var storedKey: CacheKey {
        seal?.sealed(key) ?? key
    }

    /// Whether the request has a body that is not part of the key.
    var hasUnkeyedBody: Bool {
        request.method == .query ? content == nil : request.body != nil
    }

    /// Returns the exchange for another request with the same URL and credentials.
    func with(_ request: HTTPRequestData) -> CachedExchange {
        CachedExchange(
            cache: cache,
            key: key,
            request: request,
            snapshot: snapshot,
            values: values,
            content: content,
            credentials: credentials,
            seal: seal,
            hasStore: hasStore
        )
    }

    /// Returns the exchange without the store.
    var withoutStore: CachedExchange {
        var exchange = self
        exchange.hasStore = false
        return exchange
    }

    // MARK: Reading

    /// Prepares the exchange, and reads the entries of its URL.
    ///
    /// The wait for a store that is not in memory ends at the caller's cancellation and time limit, which counts as a
    /// miss. So does an earlier change of the URL that takes too long, because the stored entries are older.
    ///
    /// - Parameter reads: Whether the entries are needed.
    /// - Returns: The entries.
    /// - Throws: `CancellationError` if the caller is cancelled or its time is up.
    mutating func lookUp(reads: Bool) async throws -> [CachedEntry] {
        guard !cache.store.isInMemory else {
            if needsDigests {
                self = await cache.prepared(self)
            }
            return reads ? await cache.entries(for: self, snapshot) : []
        }
        let isSettled = await cache.writes.settle(key.url)
        do {
            let (exchange, entries) = try await StoreWait.run(
                until: request.exchangeLimit,
                atMost: CacheWrites.readPatience
            ) { [self] in
                let exchange = await cache.prepared(self)
                return (exchange, reads && isSettled ? await cache.entries(for: exchange, snapshot) : [])
            }
            self = exchange
            return entries
        } catch let error as StoreWait.Timeout {
            request.emit(CacheEvent.failed(error))
            self = withoutStore
            return []
        }
    }

    private var needsDigests: Bool {
        values != nil || content != nil || CredentialDigests.areNeeded(for: request)
    }

    /// Returns the exchange with the digests of its credentials and values.
    ///
    /// - Throws: The error of `digestKey`.
    func prepared(digestKey: () async throws -> CacheDigestKey) async throws -> CachedExchange {
        var exchange = self
        if needsDigests {
            let storeKey = try await digestKey()
            exchange.credentials = CredentialDigests(request, values: values, key: storeKey)
            if let content {
                let query = await content.digest(with: storeKey)
                exchange.key = CacheKey(principal: key.principal, url: key.url, query: query)
            }
        }
        if !cache.store.isInMemory {
            exchange.seal = try await CacheSeal(request, digestKey: digestKey)
        }
        return exchange
    }

    // MARK: Fetching and validating

    /// Sends the request to the server, and stores the response.
    func forward(
        _ reason: CacheStatus.Forward,
        _ entries: [CachedEntry],
        over upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        try await fetching(after: entries) { fetch in
            let (sent, tee) = copying(request, withholding: nil)
            let response = try await upstream.send(sent)
            return await kept(response, reason, tee, entries, fetch)
        }
    }

    /// Asks the server whether entries are still valid.
    ///
    /// - Parameters:
    ///   - candidates: The entries.
    ///   - chosen: The entry for the response; `nil` if the server has to select one.
    ///   - source: The exchange with the key of the entries, if they are stored for an equivalent URL. The request goes
    ///     to its own URL. A confirmed entry is updated where it is stored; a new response is stored for its own URL.
    ///   - upstream: The component that sends the request.
    /// - Returns: The response.
    /// - Throws: The error of `upstream`, or `CancellationError`.
    func validate(
        _ candidates: [CachedEntry],
        chosen: CachedEntry?,
        from source: CachedExchange? = nil,
        over upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        guard let source else { return try await validate(candidates, chosen: chosen, place: nil, over: upstream) }
        return try await source.fetching(after: candidates) { fetch in
            try await validate(candidates, chosen: chosen, place: (source, fetch), over: upstream)
        }
    }

    private func validate(
        _ candidates: [CachedEntry],
        chosen: CachedEntry?,
        place: (exchange: CachedExchange, fetch: Fetch)?,
        over upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        // If the caller sends its own condition, it expects the server's response to that.
        let asksItself = !request.isConditional && request.headerFields[.range] == nil
        let confirmed: HTTPResponseData? = try await fetching(after: place == nil ? candidates : []) { fetch in
            let (owner, ownFetch) = place ?? (self, fetch)
            let (sent, tee) = copying(asksItself ? conditional(candidates, chosen) : request, withholding: chosen)
            let outcome = try await upstream.outcome(of: sent)
            let now = fetch.clock.date
            if let chosen, let isUnreachable = outcome.failsUnreachable(for: sent), tee?.canTakeAnother != false,
                rules.mayStandIn(chosen, for: request, unreachable: isUnreachable, at: now)
            {
                let status = try? outcome.get().status
                return try await owner.respond(with: chosen, age: rules.age(of: chosen, at: now) ?? 0, .standIn, status)
            }
            let response = try outcome.get()
            guard asksItself, response.status == .notModified else {
                return await kept(response, .stale, tee, place == nil ? candidates : [], fetch)
            }
            // A caller without a condition must never receive a 304, even if it matches no entry.
            guard response.principal == nil || response.principal == key.principal, response.redirects.isEmpty,
                let entry = candidates.confirmed(by: response.http, chosen: chosen)?
                    .freshened(by: response.http, rules, for: request, credentials, sent: fetch.sent, received: now)
            else { return nil }
            request.emit(CacheEvent.revalidated)
            let refusal = await owner.update(entry, confirmedBy: response, ownFetch)
            if let refusal {
                request.emit(CacheEvent.bypassed(refusal))
            }
            return try await owner.respond(
                with: entry,
                age: rules.age(of: entry, at: now) ?? 0,
                .revalidated,
                .notModified,
                unstored: refusal
            )
        }
        if let confirmed { return confirmed }
        return try await forward(.stale, place == nil ? candidates : [], over: upstream)
    }

    /// Asks the server in the background whether entries are still valid.
    func revalidate(
        _ entries: [CachedEntry],
        chosen: CachedEntry,
        from source: CachedExchange? = nil,
        over upstream: some NetworkingComponent
    ) {
        var request = request.inBackground
        // The caller already has its response, and the validation concerns the complete stored entry.
        request.sink = nil
        for name in [HTTPField.Name.ifNoneMatch, .ifModifiedSince, .range, .ifRange] {
            request.headerFields[name] = nil
        }
        request.progressHandler = nil
        let exchange = with(request)
        let own = source?.with(request)
        cache.revalidate((own ?? exchange).key) {
            guard await cache.claimsRevalidation(of: chosen, own ?? exchange) else { return }
            _ = try await exchange.validate(entries, chosen: chosen, from: own, over: upstream)
        }
    }

    /// Returns the request with the conditions for validating entries (RFC 9111 section 4.3.1).
    private func conditional(_ candidates: [CachedEntry], _ chosen: CachedEntry?) -> HTTPRequestData {
        var conditional = request
        let tags = candidates.compactMap(\.facts.tag)
        // The server ignores the date if there are tags (RFC 9110 section 13.1.3), and the chosen entry may have only a
        // date.
        if !tags.isEmpty, chosen == nil || chosen?.facts.tag != nil {
            conditional.headerFields[.ifNoneMatch] = tags.joined(separator: ", ")
        }
        if let modified = chosen?.response.headerFields[singleton: .lastModified] {
            conditional.headerFields[.ifModifiedSince] = modified
        }
        return conditional
    }

    /// Returns the request with a sink that copies the body, and that sink.
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
            withholds: { [request, clock = NetworkEnvironment.current.clock] head in
                if head.status == .notModified { return isConditional }
                guard let chosen, head.status.isUnavailable else { return false }
                return rules.mayStandIn(chosen, for: request, unreachable: false, at: clock.date)
            }
        )
        var request = request
        request.sink = tee
        return (request, tee)
    }

    // MARK: Storing

    /// A fetch in progress.
    struct Fetch: Sendable {
        /// `nil` if the fetch is outdated from the start.
        let beginning: CacheInvalidation.Beginning?
        /// The store's latest change at the start of the fetch, if its response may be stored.
        let change: StoreChange?
        let clock: NetworkClock
        let sent: Date
        /// The number of entries of the URL that were stored before the fetch, while others were in progress.
        let storeCount: UInt64
    }

    /// Runs an operation that sends the request, and records it as a fetch in progress.
    ///
    /// - Parameters:
    ///   - entries: The entries that were read before. If they are no longer stored, the response is not stored either.
    ///   - mayKeep: Whether the response may be stored.
    ///   - body: The operation.
    /// - Returns: The result of the operation.
    func fetching<Value>(
        after entries: [CachedEntry],
        mayKeep: Bool = true,
        _ body: (Fetch) async throws -> Value
    ) async rethrows -> Value {
        let clock = NetworkEnvironment.current.clock
        let beginning = cache.invalidation.begin(key.url, since: snapshot)
        defer { cache.invalidation.end(key.url) }
        let isKept = mayKeep && (request.cacheMode.writes || !entries.isEmpty)
        let change = isKept ? await cache.latestChange(after: entries, of: self) : nil
        return try await body(
            Fetch(
                beginning: beginning,
                change: change,
                clock: clock,
                sent: clock.date,
                storeCount: cache.invalidation.storeCount(key.url)
            )
        )
    }

    /// Stores a response, if that is allowed, and attaches a record to it.
    func kept(
        _ response: HTTPResponseData,
        _ reason: CacheStatus.Forward,
        _ tee: CacheTee?,
        _ entries: [CachedEntry],
        _ fetch: Fetch
    ) async -> HTTPResponseData {
        var response = response
        // The withheld response goes to the caller after all.
        if tee?.hasWithheld == true {
            response.wasOfferedToSink = false
        }
        if request.cacheMode.writes {
            let refusal = await keep(response, copy: tee?.body, entries, fetch)
            response.cacheRecord = record(of: response, reason, stored: refusal)
        } else {
            response.cacheRecord = .forwarded(reason, response.status)
        }
        return response
    }

    /// Returns the record of a response from the server, and reports why it is not stored.
    func record(
        of response: HTTPResponseData,
        _ reason: CacheStatus.Forward,
        stored refusal: CacheBypass?
    ) -> CacheRecord {
        if let refusal {
            request.emit(CacheEvent.bypassed(refusal))
        }
        var record = CacheRecord.forwarded(reason, response.status, detail: refusal)
        record.status.isStored = refusal == nil
        return record
    }

    /// Stores a response, and returns the reason if it is not stored.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - copy: The copy of a body that has gone to a sink.
    ///   - entries: The entries that were read before.
    ///   - fetch: The fetch of the response.
    ///   - isInTurn: Whether this is already part of a change of the URL.
    /// - Returns: The reason; `nil` if the response is stored, or will be as far as is known.
    func keep(
        _ response: HTTPResponseData,
        copy: Data?,
        _ entries: [CachedEntry],
        _ fetch: Fetch,
        isInTurn: Bool = false
    ) async -> CacheBypass? {
        guard response.principal == nil || response.principal == key.principal else { return .principal }
        // The response comes from another URL, and the redirect may have been temporary.
        guard response.redirects.isEmpty else { return .redirected }
        // A response to a POST answers no QUERY (RFC 9110 section 9.3.3).
        guard request.method != .query || response.sentRequest.method == .query else { return .method }
        let received = fetch.clock.date
        if request.method == .head {
            if refusalOfChangedRequest(response, response.http) == nil {
                await changing { exchange in
                    await exchange.freshen(entries, byHead: response.http, fetch, received: received)
                    return nil
                }
            }
            return .method
        }
        if response.status == .notModified {
            guard
                let entry = entries.confirmed(byResponseToAnother: response.http)?
                    .freshened(by: response.http, rules, for: nil, credentials, sent: fetch.sent, received: received)
            else { return .status }
            return await update(entry, confirmedBy: response, fetch)
        }
        if let refusal = rules.refusal(toStore: response.http, of: request) { return refusal }
        if let refusal = refusalOfChangedRequest(response, response.http) { return refusal }
        guard hasStore else { return cache.refuse(key.url) }
        guard let data = response.body.data ?? copy else { return .size }
        // A body shorter than its stated length is incomplete.
        guard let part = CacheRules.part(of: response.http, with: data.count, for: request) else { return .incomplete }
        let varying = rules.varying(response.http, request, credentials)
        let entry = CachedEntry(
            id: CacheRules.id(of: varying),
            response: rules.stored(response.http),
            body: data,
            part: response.status.code == 206 ? part : nil,
            varying: varying,
            requestDate: fetch.sent,
            responseDate: received
        )
        guard !isInTurn else { return await store(entry, fetch) }
        // Without a closure, which would leave the caller's actor.
        if let place = cache.beginImmediateChange(of: key.url) {
            let refusal = await store(entry, fetch)
            cache.writes.end(place, refusal)
            return refusal
        }
        return await changing { await $0.store(entry, fetch) }
    }

    /// Runs a change of the stored entries after all earlier ones of the URL, and waits for it for a short time.
    @discardableResult
    private func changing(
        _ work: @escaping @Sendable (CachedExchange) async -> CacheBypass?
    ) async -> CacheBypass? {
        await cache.change(key.url) { await work(self) }
    }

    /// Stores the entry of a new response.
    private func store(_ entry: CachedEntry, _ fetch: Fetch) async -> CacheBypass? {
        var entry = entry
        // Entries that were stored while this response was in flight count too.
        let known = await cache.entries(for: self)
        for old in known where rules.matches(old, request, credentials) {
            // Another caller of the same exchange has stored this response.
            if cache.invalidation.storeCount(key.url) > fetch.storeCount, old.isSame(as: entry) { return nil }
            if entry.part != nil, let combined = old.combined(with: entry) {
                entry = combined
            } else if entry.part != nil, old.part == nil {
                // A part does not replace the whole representation.
                return .status
            }
        }
        let refusal = await write(entry, over: known, replacesMatching: true, fetch)
        return refusal == .store ? cache.refuse(key.url) : refusal
    }

    /// Returns the reason why the response to a request that a component below the cache has changed is not stored;
    /// `nil` if the change does not matter.
    ///
    /// The cache compares requests at its own place, so it would use the response for requests that are sent in another
    /// way.
    ///
    /// - Parameters:
    ///   - response: The response to the changed request.
    ///   - stored: The head to store, whose Vary names the fields that select it.
    /// - Returns: The reason, or `nil`.
    private func refusalOfChangedRequest(_ response: HTTPResponseData, _ stored: HTTPResponse) -> CacheBypass? {
        // A component that adds a credential and names no principal.
        if key.principal == nil, response.hasCredentials(notIn: request) { return .credentials }
        let (own, sent) = (request.headerFields, response.sentRequest.headerFields)
        let isVaried = CacheFacts.vary(of: stored)?
            .contains { vary in
                // A transport may add a credential such as a cookie. The principal stands for those of the stack.
                if vary.field.isCredential { return key.principal == nil && !own.contains(vary.field) }
                let (own, sent) = (own[values: vary.field], sent[values: vary.field])
                return own != sent && CacheRules.normalized(own, vary.name) != CacheRules.normalized(sent, vary.name)
            }
        return isVaried == true ? .vary : nil
    }

    /// Updates or removes stored entries after a HEAD response (RFC 9111 section 4.3.5).
    private func freshen(
        _ entries: [CachedEntry],
        byHead head: HTTPResponse,
        _ fetch: Fetch,
        received: Date
    ) async {
        guard head.status == .ok else { return }
        for entry in entries where rules.matches(entry, request, credentials) && entry.part == nil {
            let (old, new) = (
                entry.response.headerFields[singleton: .contentLength], head.headerFields[singleton: .contentLength]
            )
            let isSame =
                entry.facts.tag == head.headerFields[singleton: .eTag]
                && entry.response.headerFields[singleton: .lastModified] == head.headerFields[singleton: .lastModified]
                && (old == nil || new == nil || old == new)
            if isSame {
                await update(
                    entry.freshened(by: head, rules, for: nil, credentials, sent: fetch.sent, received: received),
                    fetch
                )
            } else {
                // A later request may have stored a newer entry in the meantime.
                let known = await cache.entries(for: self)
                guard !known.contains(where: { $0.id == entry.id && $0.requestDate > fetch.sent }) else { continue }
                await cache.remove(entry.id, self)
            }
        }
    }

    /// Stores an entry that the response to a request has confirmed.
    private func update(
        _ entry: CachedEntry,
        confirmedBy response: HTTPResponseData,
        _ fetch: Fetch
    ) async -> CacheBypass? {
        // The server may have confirmed it for other requests only.
        if let refusal = refusalOfChangedRequest(response, entry.response) { return refusal }
        if let place = cache.beginImmediateChange(of: key.url) {
            let refusal = await update(entry, fetch)
            cache.writes.end(place, refusal)
            return refusal
        }
        return await changing { await $0.update(entry, fetch) }
    }

    /// Stores a confirmed entry, unless the confirming response forbids that.
    @discardableResult
    private func update(_ entry: CachedEntry, _ fetch: Fetch) async -> CacheBypass? {
        var get = request
        get.method = .get
        let known = await cache.entries(for: self)
        if let refusal = rules.refusal(toStore: entry.response, of: get) {
            await cache.remove(entry.id, self)
            return refusal
        }
        return await write(entry, over: known, replacesMatching: false, fetch)
    }

    /// Writes an entry in place of older ones.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - known: The entries that are stored for the URL.
    ///   - replacesMatching: Whether the entry replaces all entries that match the request, and not only the one with
    ///     its id. The server may vary by other fields than before.
    ///   - fetch: The fetch that the entry comes from.
    /// - Returns: The reason why the entry is not stored; `nil` if it is. A late response does not remove entries
    ///   either.
    private func write(
        _ entry: CachedEntry,
        over known: [CachedEntry],
        replacesMatching: Bool,
        _ fetch: Fetch
    ) async -> CacheBypass? {
        let rivals = known.filter { $0.id == entry.id || rules.matches($0, request, credentials) }
        // A later request has completed first. Entries with future dates, after the clock was set back, do not count.
        let now = fetch.clock.date
        let isLate = rivals.contains {
            $0.requestDate > fetch.sent && $0.responseDate <= now && $0.facts.date >= entry.facts.date
        }
        guard !isLate, cache.invalidation.isCurrent(fetch.beginning, key, entry) else { return .outdated }
        let others = replacesMatching ? rivals.filter { $0.id != entry.id } : []
        guard entry.cost <= cache.store.entryCostLimit else {
            for id in [entry.id] + others.map(\.id) {
                await cache.remove(id, self)
            }
            return .size
        }
        guard let change = fetch.change else { return .outdated }
        if let refusal = await cache.write(entry, self, since: change) { return refusal }
        cache.invalidation.noteStore(key.url)
        for old in others {
            await cache.remove(old.id, self)
        }
        // An entry that was removed during this write must not reappear.
        guard cache.invalidation.isCurrent(fetch.beginning, key, entry) else {
            await cache.remove(entry.id, self)
            return .outdated
        }
        if entry.facts.search != nil {
            await cache.index(entry, self)
        }
        return nil
    }
}

extension Result<HTTPResponseData, any Error> {
    /// Returns whether the server could not be reached; `false` if the server sent a failure status, `nil` in all other
    /// cases.
    func failsUnreachable(for request: HTTPRequestData) -> Bool? {
        let isUnavailable = request.response(in: self)?.status.isUnavailable == true
        switch self {
        case .success:
            return isUnavailable ? false : nil
        case .failure(let error):
            guard let error = error as? NetworkingError else { return isUnavailable ? false : nil }
            switch error.kind.meaning {
            case .answered, .unusable: return isUnavailable ? false : nil
            // An invalid certificate is not in the list, because the app must learn of it.
            case .unreachable, .interrupted: return true
            case .rejected where error.isOfFailingServer: return false
            default: return nil
            }
        }
    }
}

extension HTTPResponse.Status {
    /// Whether `stale-if-error` applies to the status (RFC 5861 section 4).
    fileprivate var isUnavailable: Bool {
        [500, 502, 503, 504].contains(code)
    }
}
