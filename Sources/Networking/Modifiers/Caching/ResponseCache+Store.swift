import HTTPTypes

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// What the store throws is not the caller's trouble: it is told, and the request goes on without it.
extension ResponseCache {
    func entries(for key: CacheKey, _ request: HTTPRequestData) async -> [CachedEntry] {
        do {
            return try await store.entries(for: key)
        } catch {
            request.emit(.cacheFailed(error))
            return []
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

    /// RFC 9111 section 4.4: what was changed, and what the response names, at the same origin.
    func invalidate(after response: HTTPResponseData, to request: HTTPRequestData, _ key: CacheKey) async {
        var urls = [key.url]
        for name in [HTTPField.Name.location, .contentLocation] {
            guard let location = response.headerFields[name],
                let url = URL(string: location, relativeTo: request.url)?.absoluteURL
            else { continue }
            let other = HTTPRequestData(url: url)
            if other.authority?.lowercased() == request.authority?.lowercased(),
                let named = CacheKey(other, principal: nil)
            {
                urls.append(named.url)
            }
        }
        for url in urls {
            do {
                try await remove(url: url)
            } catch {
                request.emit(.cacheFailed(error))
            }
        }
    }
}
