#if URLSession
public import NetworkingCookies
public import NetworkingCore

#if canImport(FoundationNetworking)
public import FoundationNetworking
#else
public import Foundation
#endif

extension CookieJar {
    /// Stores the cookies of one of URLSession's storages in the jar, for example when an app starts to use a jar.
    ///
    /// The storage is not changed. It is read on a separate thread, because it may have to read a file. Cookies that
    /// have expired or break the rules of the jar are skipped. On Apple's platforms, `SameSite=Strict` and `Lax` are
    /// kept. Elsewhere, the storage does not support `SameSite`, so the imported cookies have none. Cookies that the
    /// app removes from the jar meanwhile are not stored. Cancelling the caller does not stop the import; if the
    /// storage is slow, the result is then zero.
    ///
    /// - Parameters:
    ///   - storage: The storage, such as `HTTPCookieStorage.shared`.
    ///   - principal: The principal of the requests that are sent with the cookies; `nil` for requests without one.
    /// - Returns: The number of cookies that the jar has stored.
    @discardableResult
    public func importCookies(from storage: HTTPCookieStorage, for principal: Principal? = nil) async -> Int {
        let clock = NetworkEnvironment.current.clock
        let removalCount = removalCount
        let count = try? await DiskQueue.run(until: nil) { [self] in
            let cookies = (storage.cookies ?? []).map { Cookie($0) }
            let now = clock.date
            return cookies.sorted { $0.created < $1.created }
                .count { cookie in
                    !cookie.isExpired(at: now) && (try? set(cookie, for: principal, since: removalCount)) != nil
                }
        }
        return count ?? 0
    }

    /// Adds the cookies of a principal to one of URLSession's storages, for example for a web view.
    ///
    /// It writes on a separate thread, because the storage may have to write a file. `SameSite` is kept if the
    /// platform's storage supports it, see ``importCookies(from:for:)``. Cancelling the caller does not stop the
    /// export; if the storage is slow, the result is then zero.
    ///
    /// - Parameters:
    ///   - storage: The storage.
    ///   - principal: The principal; `nil` for the cookies of requests without one.
    /// - Returns: The number of cookies that were added.
    @discardableResult
    public func exportCookies(to storage: HTTPCookieStorage, for principal: Principal? = nil) async -> Int {
        let cookies = cookies(of: principal)
        let now = NetworkEnvironment.current.clock.date
        let count = try? await DiskQueue.run(until: nil) {
            let stored = cookies.compactMap { HTTPCookie($0, at: now) }
            for cookie in stored {
                storage.setCookie(cookie)
            }
            return stored.count
        }
        return count ?? 0
    }
}
#endif
