import HTTPTypes

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// What the store throws is not the caller's trouble: it is told, and the request goes on without it.
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
            // Most URLs have one entry, and it is the user's.
            if entries.allSatisfy({ rules.isForTheSameUser($0, credentials) }) { return entries }
            return entries.filter { rules.isForTheSameUser($0, credentials) }
        } catch {
            request.emit(.cacheFailed(error))
            return []
        }
    }

    /// Returns the digests of a request's credentials, by which its entries are found.
    ///
    /// While the store cannot say its key, digests under the cache's own key match no other entry, and none is lost.
    func credentials(of request: HTTPRequestData) async -> CredentialDigests {
        guard CredentialDigests.areNeeded(for: request) else { return .none }
        do {
            return CredentialDigests(request, key: try await store.digestKey() ?? ownDigestKey)
        } catch {
            request.emit(.cacheFailed(error))
            return CredentialDigests(request, key: ownDigestKey)
        }
    }

    /// Returns whether the store has taken an entry.
    func write(_ entry: CachedEntry, _ key: CacheKey, _ request: HTTPRequestData) async -> Bool {
        do {
            let evicted = try await store.store(entry, for: key)
            request.emit(.cacheStored)
            if evicted > 0 {
                request.emit(.cacheEvicted(count: evicted))
            }
            return true
        } catch {
            request.emit(.cacheFailed(error))
            return false
        }
    }

    func remove(_ id: CachedEntry.ID?, _ key: CacheKey, _ request: HTTPRequestData) async {
        do {
            try await store.remove(id, for: key)
        } catch {
            request.emit(.cacheFailed(error))
        }
    }

    /// Removes what was changed, and what the response names, at the same origin (RFC 9111 section 4.4).
    ///
    /// Returns where the request's URL stands from now on.
    @discardableResult
    func invalidate(
        after response: HTTPResponseData?,
        to request: HTTPRequestData,
        _ key: CacheKey
    ) async -> CacheFetches.Beginning {
        var urls = [key.url]
        // Where redirects led, the change was made there.
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
        // All at once, before anything is waited for.
        let dooms = Set(urls).map { (url: $0, token: fetches.doom($0)) }
        let beginning = fetches.standing(of: key.url)
        for doom in dooms {
            do {
                try await store.remove(url: doom.url)
                fetches.spare(doom.url, doom.token)
            } catch {
                request.emit(.cacheFailed(error))
            }
        }
        return beginning
    }
}
