import FoundationForNetworking
import HTTPTypes
import NetworkingCore

/// The latest change of a store at the start of a fetch.
enum StoreChange: Sendable {
    /// The store does not number its changes, because only one cache uses it.
    case untracked
    case number(Int64)
    /// The store has failed or took too long.
    case unknown
}

// A store's error does not reach the caller: it is reported as an event, and the request continues without the store.
extension ResponseCache {
    /// Returns the exchange of a request in the current environment, before the store is read.
    func exchange(of request: HTTPRequestData, _ key: CacheKey) -> CachedExchange {
        let identities = NetworkEnvironment.current.identities.union(request.optionIdentities ?? ValueIdentities())
            .affectingResponses
        return CachedExchange(
            cache: self,
            key: key,
            request: request,
            snapshot: invalidation.snapshot(),
            values: identities.isEmpty ? nil : valueTexts.text(of: identities),
            content: request.method == .query ? QueryContent(request) : nil
        )
    }

    /// Returns an exchange with the digests of its request's credentials, with which its entries are found and written.
    ///
    /// If the store cannot read its key, the exchange does not use the store.
    func prepared(_ exchange: CachedExchange) async -> CachedExchange {
        do {
            return try await exchange.prepared { try await store.digestKey() ?? ownDigestKey }
        } catch {
            exchange.request.emit(CacheEvent.failed(error))
            return exchange.withoutStore
        }
    }

    /// Refuses a response that the store has not taken, and removes the entries of its URL before their next use.
    ///
    /// They may be older than the response, which the caller receives.
    func refuse(_ url: String) -> CacheBypass {
        _ = invalidation.invalidate(url)
        return .store
    }

    /// Reads the entries of a request's URL that may be used for its user.
    func entries(for exchange: CachedExchange, _ snapshot: CacheInvalidation.Snapshot? = nil) async -> [CachedEntry] {
        let credentials = exchange.credentials
        guard exchange.hasStore, exchange.seal?.isUnstorable != true else { return [] }
        do {
            let snapshot = snapshot ?? invalidation.snapshot()
            if snapshot.hasUnfinishedRemovals, try await !removeInvalid(exchange.key) { return [] }
            var entries = try await stored(for: exchange)
            if snapshot.hasUnfinishedRemovals {
                entries = invalidation.usable(entries, of: exchange.key)
            }
            // Most URLs have a single entry, which belongs to this user.
            if entries.allSatisfy({ rules.isForTheSameUser($0, credentials) }) { return entries }
            return entries.filter { rules.isForTheSameUser($0, credentials) }
        } catch {
            exchange.request.emit(CacheEvent.failed(error))
            return []
        }
    }

    private func stored(for exchange: CachedExchange) async throws -> [CachedEntry] {
        let entries = try await store.entries(for: exchange.storedKey)
        return exchange.seal.map { seal in entries.map { seal.opened($0) } } ?? entries
    }

    /// Returns the store's latest change; `nil` if entries that were read before it are no longer stored.
    ///
    /// The wait ends at the caller's cancellation and time limit, and after the time of a read.
    func latestChange(after entries: [CachedEntry], of exchange: CachedExchange) async -> StoreChange? {
        guard exchange.hasStore else { return .unknown }
        let request = exchange.request
        do {
            if store.isInMemory { return try await change(after: entries, of: exchange) }
            return try await StoreWait.run(until: request.exchangeLimit, atMost: CacheWrites.readPatience) { [self] in
                try await change(after: entries, of: exchange)
            }
        } catch {
            if !(error is CancellationError) {
                request.emit(CacheEvent.failed(error))
            }
            return .unknown
        }
    }

    private func change(after entries: [CachedEntry], of exchange: CachedExchange) async throws -> StoreChange? {
        guard let number = try await store.changeNumber(of: exchange.storedKey.url) else { return .untracked }
        // The entries were read before the number.
        guard !entries.isEmpty else { return .number(number) }
        let stored = try await stored(for: exchange)
        return entries.allSatisfy { stored.contains($0) } ? .number(number) : nil
    }

    /// Begins a change of a URL's entries that the caller makes itself; `nil` if the store may have to wait, or if
    /// another change of the URL is in progress.
    ///
    /// - Parameter url: The URL, with a fetch in progress.
    /// - Returns: The place, which the caller ends.
    func beginImmediateChange(of url: String) -> CacheWrites.Place? {
        store.isInMemory ? writes.place(for: url, onlyIfFirst: true) : nil
    }

    /// Runs a change of a URL's entries after all earlier ones, and waits for it for a short time.
    ///
    /// - Parameters:
    ///   - url: The URL, with a fetch in progress.
    ///   - work: The change, which returns the reason why a response is not stored. It continues without its caller.
    /// - Returns: The reason why a response is not stored; `nil` if it is stored, or will be as far as is known.
    @discardableResult
    func change(
        _ url: String,
        _ work: @escaping @Sendable () async -> CacheBypass?
    ) async -> CacheBypass? {
        guard let place = writes.place(for: url) else {
            return refuse(url)
        }
        invalidation.extend(url)
        return await writes.run(place, isInline: store.isInMemory) { [invalidation] in
            defer { invalidation.end(url) }
            return await work()
        }
    }

    /// Writes an entry, unless its URL was changed in the store after a fetch began.
    ///
    /// - Returns: The reason why the entry is not stored; `nil` if it is.
    func write(_ entry: CachedEntry, _ exchange: CachedExchange, since change: StoreChange) async -> CacheBypass? {
        let (request, key) = (exchange.request, exchange.storedKey)
        guard exchange.hasStore else { return .store }
        var entry = entry
        if let seal = exchange.seal {
            guard !seal.isUnstorable, let sealed = seal.sealed(entry) else { return .credentials }
            entry = sealed
        }
        do {
            let evicted: Int
            switch change {
            case .untracked:
                evicted = try await store.store(entry, for: key)
            case .number(let number):
                guard let count = try await store.store(entry, for: key, ifUnchangedSince: number) else {
                    return .outdated
                }
                evicted = count
            case .unknown:
                return .store
            }
            request.emit(CacheEvent.stored)
            if evicted > 0 {
                request.emit(CacheEvent.evicted(count: evicted))
            }
            return nil
        } catch {
            request.emit(CacheEvent.failed(error))
            return .store
        }
    }

    /// Returns whether this process revalidates an entry in the background.
    ///
    /// If the store fails or takes too long, each process revalidates its entries.
    func claimsRevalidation(of entry: CachedEntry, _ exchange: CachedExchange) async -> Bool {
        guard exchange.hasStore, !store.isInMemory else { return true }
        do {
            return try await StoreWait.run(until: nil, atMost: CacheWrites.readPatience) { [store] in
                try await store.claimRevalidation(of: entry, for: exchange.storedKey)
            }
        } catch {
            exchange.request.emit(CacheEvent.failed(error))
            return true
        }
    }

    func remove(_ id: CachedEntry.ID?, _ exchange: CachedExchange) async {
        guard exchange.hasStore else { return }
        do {
            try await store.remove(id, for: exchange.storedKey)
        } catch {
            exchange.request.emit(CacheEvent.failed(error))
        }
    }

    /// Removes the entries of a changed URL, and of the URLs that the response names, at the same origin (RFC 9111
    /// section 4.4).
    ///
    /// - Parameters:
    ///   - response: The response, if there is one.
    ///   - exchange: The request that changed the resource.
    ///   - change: The store's latest change when the request was sent.
    ///   - isAnonymous: Whether the user of the request is unknown.
    ///   - then: Runs after the removal of the request's URL, with the state of the URL from then on and the number of
    ///     the removal in the store. The number is `nil` if another process has removed the URL since the request was
    ///     sent. Returns the reason why a response is not stored.
    /// - Returns: The result of `then`.
    @discardableResult
    func invalidate(
        after response: HTTPResponseData?,
        to exchange: CachedExchange,
        since change: StoreChange? = nil,
        isAnonymous: Bool = false,
        then: @escaping @Sendable (CacheInvalidation.Beginning, StoreChange?) async -> CacheBypass? = { _, _ in nil }
    ) async -> CacheBypass? {
        let (request, key) = (exchange.request, exchange.key)
        var urls: Set = [key.url]
        // After redirects, the change happened at those URLs.
        let steps = (response?.redirects.map(\.request) ?? []) + [response?.sentRequest ?? request]
        urls.formUnion(steps.compactMap { CacheKey($0, principal: nil)?.url })
        if let response, let last = steps.last, let origin = CacheKey(last, principal: nil)?.origin {
            for name in [HTTPField.Name.location, .contentLocation] {
                let url = response.headerFields[name]
                    .flatMap { URL(reference: $0, relativeTo: last.url) }
                let named = url.flatMap { CacheKey(HTTPRequestData(url: $0), principal: nil) }
                if let named, named.origin == origin {
                    urls.insert(named.url)
                }
            }
        }
        // All URLs are marked before the first `await`.
        let removals = Dictionary(uniqueKeysWithValues: urls.map { ($0, invalidation.invalidate($0)) })
        let groups = groupRemoval(after: response, steps.last, to: exchange, isAnonymous: isAnonymous)
        let beginning = invalidation.beginning(of: key.url)
        if let groups {
            await remove(groups, request)
        }
        let refusal = await self.change(key.url) { [self] in
            let exchange = await prepared(exchange)
            await removeEquivalents(of: Set(removals.keys), exchange)
            var own = change
            do {
                if case .number(let number) = change, exchange.hasStore {
                    own = try await removeStored(key.url, since: number, as: exchange.storedKey.url).map { .number($0) }
                } else {
                    try await removeStored(key.url)
                }
                removals[key.url].map { invalidation.endRemoval(of: key.url, $0) }
            } catch {
                own = nil
                request.emit(CacheEvent.failed(error))
            }
            return await then(beginning, own)
        }
        for (url, token) in removals where url != key.url {
            await self.change(url) { [self] in
                do {
                    try await removeStored(url)
                    invalidation.endRemoval(of: url, token)
                } catch {
                    request.emit(CacheEvent.failed(error))
                }
                return nil
            }
        }
        return refusal
    }
}
