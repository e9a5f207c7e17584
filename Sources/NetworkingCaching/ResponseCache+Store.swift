import FoundationForNetworking
import HTTPTypes
import NetworkingCore

/// The latest change of a store at the start of a fetch.
enum StoreChange: Sendable {
    /// The store does not number its changes, because only one cache uses it.
    case untracked
    case number(Int64)
}

// A store's error does not reach the caller: it is reported as an event, and the request continues without the store.
extension ResponseCache {
    func entries(
        for key: CacheKey,
        _ request: HTTPRequestData,
        _ credentials: CredentialDigests,
        _ glance: CacheFetches.Glance? = nil
    ) async -> [CachedEntry] {
        do {
            if (glance ?? fetches.glance()).hasDoomed, try await !removeDoomed(key) { return [] }
            let entries = try await store.entries(for: key)
            // Most URLs have a single entry, which belongs to this user.
            if entries.allSatisfy({ rules.isForTheSameUser($0, credentials) }) { return entries }
            return entries.filter { rules.isForTheSameUser($0, credentials) }
        } catch {
            request.emit(CacheEvent.failed(error))
            return []
        }
    }

    /// Returns the digests of a request's credentials and values, which are used to find its entries.
    ///
    /// If the store cannot read its key, digests under the cache's own key match no stored entry, and no entry is lost.
    func credentials(of request: HTTPRequestData) async -> CredentialDigests {
        let identities = NetworkEnvironment.current.identities.union(request.optionIdentities ?? ValueIdentities())
            .affectingResponses
        guard CredentialDigests.areNeeded(for: request) || !identities.isEmpty else { return .none }
        let values = identities.isEmpty ? nil : valueTexts.text(of: identities)
        do {
            return CredentialDigests(request, values: values, key: try await store.digestKey() ?? ownDigestKey)
        } catch {
            request.emit(CacheEvent.failed(error))
            return CredentialDigests(request, values: values, key: ownDigestKey)
        }
    }

    /// Returns the store's latest change; `nil` if entries that were read before it are no longer stored, or if the
    /// store fails.
    func latestChange(
        after entries: [CachedEntry],
        of key: CacheKey,
        _ request: HTTPRequestData
    ) async -> StoreChange? {
        do {
            guard let number = try await store.changeNumber() else { return .untracked }
            // The entries were read before the number.
            guard !entries.isEmpty else { return .number(number) }
            let stored = try await store.entries(for: key)
            return entries.allSatisfy { stored.contains($0) } ? .number(number) : nil
        } catch {
            request.emit(CacheEvent.failed(error))
            return nil
        }
    }

    /// Writes an entry, unless its URL was changed in the store after a fetch began.
    ///
    /// - Returns: The reason why the entry is not stored; `nil` if it is.
    func write(
        _ entry: CachedEntry,
        _ key: CacheKey,
        _ request: HTTPRequestData,
        since change: StoreChange
    ) async -> CacheBypass? {
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

    func remove(_ id: CachedEntry.ID?, _ key: CacheKey, _ request: HTTPRequestData) async {
        do {
            try await store.remove(id, for: key)
        } catch {
            request.emit(CacheEvent.failed(error))
        }
    }

    /// Removes the entries of a changed URL, and of the URLs that the response names, at the same origin (RFC 9111
    /// section 4.4).
    ///
    /// - Parameters:
    ///   - response: The response, if there is one.
    ///   - request: The request that changed the resource.
    ///   - key: The request's key.
    ///   - change: The store's latest change when the request was sent.
    /// - Returns: The state of the request's URL from now on, and the number of this removal in the store. The number
    ///   is `nil` if another process has removed the URL since the request was sent.
    @discardableResult
    func invalidate(
        after response: HTTPResponseData?,
        to request: HTTPRequestData,
        _ key: CacheKey,
        since change: StoreChange? = nil
    ) async -> (beginning: CacheFetches.Beginning, change: StoreChange?) {
        var urls = [key.url]
        // After redirects, the change happened at those URLs.
        let steps = (response?.redirects.map(\.request) ?? []) + [response?.sentRequest ?? request]
        urls += steps.compactMap { CacheKey($0, principal: nil)?.url }
        if let response, let last = steps.last, let origin = CacheKey(last, principal: nil)?.origin {
            for name in [HTTPField.Name.location, .contentLocation] {
                let url = response.headerFields[name]
                    .flatMap { URL(string: $0, relativeTo: last.url)?.absoluteURL }
                let named = url.flatMap { CacheKey(HTTPRequestData(url: $0), principal: nil) }
                if let named, named.origin == origin {
                    urls.append(named.url)
                }
            }
        }
        // All URLs are marked before the first `await`.
        let dooms = Set(urls).map { (url: $0, token: fetches.doom($0)) }
        let beginning = fetches.standing(of: key.url)
        var own = change
        for doom in dooms {
            do {
                if doom.url == key.url, case .number(let number) = change {
                    own = try await store.remove(url: doom.url, checkingSince: number).map { .number($0) }
                } else {
                    try await store.remove(url: doom.url)
                }
                fetches.spare(doom.url, doom.token)
            } catch {
                own = doom.url == key.url ? nil : own
                request.emit(CacheEvent.failed(error))
            }
        }
        return (beginning, own)
    }
}
