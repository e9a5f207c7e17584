import FoundationForNetworking
import HTTPTypes
import NetworkingCore

/// The entries of another URL that answer a request, because of their `No-Vary-Search`.
struct EquivalentMatch: Sendable {
    /// The exchange with the key of the entries and the request of the caller.
    let source: CachedExchange
    let entries: [CachedEntry]
    let decision: CacheDecision
}

extension CachedExchange {
    /// Returns the stored entries of an equivalent URL that are better than the decision about those of the URL itself.
    ///
    /// - Parameters:
    ///   - exact: The decision about the entries of the URL itself, which come first.
    ///   - now: The date.
    /// - Returns: The entries with the decision to use or to validate them; `nil` if there are none.
    /// - Throws: `CancellationError` if the caller is cancelled or its time is up.
    func equivalent(to exact: CacheDecision, now: Date) async throws -> EquivalentMatch? {
        let mayValidate: Bool
        switch exact {
        case .serve, .forward(.bypass), .forward(.request): return nil
        case .validate(_, .some): mayValidate = false
        default: mayValidate = true
        }
        guard mayBeEquivalent else { return nil }
        var best: (match: EquivalentMatch, date: Date)?
        var validated: EquivalentMatch?
        for (source, entries) in try await equivalentEntries() {
            let decision = rules.decide(
                about: request,
                credentials,
                entries: entries,
                mode: request.requiresStoredResponse ? .onlyIfCached : request.cacheMode,
                now: now
            )
            let match = EquivalentMatch(source: source, entries: entries, decision: decision)
            switch decision {
            // The newest of them (RFC 9111 section 4).
            case .serve(let entry, _, _):
                if best.map({ $0.date < entry.facts.date }) ?? true {
                    best = (match, entry.facts.date)
                }
            case .validate(_, .some) where mayValidate && validated == nil: validated = match
            default: break
            }
        }
        return best?.match ?? validated
    }

    /// Whether the URL may be compared in parts.
    ///
    /// A credential in the query identifies a user, whatever the server says about its name. Such a URL must match
    /// exactly.
    var mayBeEquivalent: Bool {
        guard hasStore, request.method == .get || request.method == .head, seal?.isUnstorable != true else {
            return false
        }
        guard let query = RequestTarget.split(request.closedTarget).query else { return true }
        return Redaction.standard.redactingSecrets(of: request).target("?\(query)") == "?\(query)"
    }

    /// Returns the exchange with the key of another URL, and the request of the caller.
    private func at(_ url: String) -> CachedExchange {
        CachedExchange(
            cache: cache,
            key: CacheKey(principal: key.principal, url: url),
            request: request,
            snapshot: snapshot,
            values: values,
            credentials: credentials,
            seal: seal,
            hasStore: hasStore
        )
    }

    /// Reads the entries of equivalent URLs; a store that takes too long has none.
    private func equivalentEntries() async throws -> [(source: CachedExchange, entries: [CachedEntry])] {
        guard !cache.store.isInMemory else { return await read() }
        do {
            return try await StoreWait.run(until: request.exchangeLimit, atMost: CacheWrites.readPatience) {
                await read()
            }
        } catch let error as StoreWait.Timeout {
            request.emit(CacheEvent.failed(error))
            return []
        }
    }

    private func read() async -> [(source: CachedExchange, entries: [CachedEntry])] {
        // While the URL is removed, its index may still be there.
        guard case .none = cache.invalidation.unfinishedRemovals(of: key), !cache.writes.isChanging(key.url) else {
            return []
        }
        do {
            var found: [(source: CachedExchange, entries: [CachedEntry])] = []
            // While a URL changes, its entries are older than a response that was already returned.
            for url in try await cache.equivalentURLs(of: key) where !cache.writes.isChanging(url) {
                let source = at(url)
                let entries = await cache.entries(for: source, snapshot)
                    .filter { $0.facts.search?.isEquivalent(url, key.url) == true }
                if !entries.isEmpty {
                    found.append((source, entries))
                }
            }
            return found
        } catch {
            // A store that fails here has failed at the entries of the URL itself, which was reported.
            return []
        }
    }
}

extension ResponseCache {
    /// Returns other URLs of the key's user that were equivalent to the URL when they were stored.
    func equivalentURLs(of key: CacheKey) async throws -> [String] {
        guard let index = try await searchIndex(of: key.url) else { return [] }
        let digestKey = try await store.digestKey() ?? ownDigestKey
        var urls: [String] = []
        for rule in index.rules {
            guard let place = index.key(of: key, under: rule, digestKey) else { continue }
            urls += try await self.urls(at: place)
                .filter { $0 != key.url && !urls.contains($0) && rule.isEquivalent($0, key.url) }
        }
        return urls
    }

    private func searchIndex(of url: String) async throws -> SearchIndex? {
        try await store.entries(for: SearchIndex.key(of: url)).first.flatMap { SearchIndex($0) }
    }

    private func urls(at place: CacheKey) async throws -> [String] {
        let entry = try await store.entries(for: place).first
        return entry.map { Array(SearchIndex.lines(of: $0).prefix(SearchIndex.maximumURLs)) } ?? []
    }

    /// Notes that the entry of an exchange may answer requests for equivalent URLs.
    ///
    /// Two changes at the same time may lose one of the URLs. Its entry then answers only requests for its own URL.
    func index(_ entry: CachedEntry, _ exchange: CachedExchange) async {
        guard let rule = entry.facts.search, exchange.mayBeEquivalent,
            !exchange.key.url.utf8.contains(UInt8(ascii: "\n"))
        else { return }
        do {
            let key = exchange.key
            var index = try await searchIndex(of: key.url) ?? SearchIndex()
            var evicted = 0
            if index.add(rule) {
                evicted += try await store.store(index.entry, for: SearchIndex.key(of: key.url))
            }
            guard let place = index.key(of: key, under: rule, try await store.digestKey() ?? ownDigestKey) else {
                return
            }
            var urls = try await urls(at: place)
            guard urls.first != key.url else { return }
            urls.removeAll { $0 == key.url }
            urls.insert(key.url, at: 0)
            evicted += try await store.store(
                SearchIndex.entry(Array(urls.prefix(SearchIndex.maximumURLs))),
                for: place
            )
            if evicted > 0 {
                exchange.request.emit(CacheEvent.evicted(count: evicted))
            }
        } catch {
            exchange.request.emit(CacheEvent.failed(error))
        }
    }

    /// Removes the entries of the user that would answer requests for changed URLs.
    ///
    /// Those of other users are not found any more, because the removal of a URL also removes its index.
    func removeEquivalents(of urls: Set<String>, _ exchange: CachedExchange) async {
        guard exchange.hasStore else { return }
        do {
            var others: Set<String> = []
            for url in urls {
                others.formUnion(try await equivalentURLs(of: CacheKey(principal: exchange.key.principal, url: url)))
            }
            // Marked before the first removal, so that none of them is used if one fails.
            let removals = others.subtracting(urls).map { ($0, invalidation.invalidate($0)) }
            for (url, token) in removals {
                try await removeStored(url)
                invalidation.endRemoval(of: url, token)
            }
        } catch {
            exchange.request.emit(CacheEvent.failed(error))
        }
    }
}
