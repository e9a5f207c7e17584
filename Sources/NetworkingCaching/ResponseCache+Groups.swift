import HTTPTypes
import NetworkingCore

extension ResponseCache {
    /// Marks the groups that the response to an unsafe request invalidates (RFC 9875 section 3), before the store
    /// removes their entries.
    ///
    /// The groups are those of the server that has sent the response. The removal of an entry removes no other entry of
    /// its groups (section 2.2.1).
    ///
    /// - Parameters:
    ///   - response: The response; `nil` if there is none.
    ///   - last: The last request that was sent.
    ///   - exchange: The request of the caller.
    ///   - isAnonymous: Whether the user of the request is unknown. The groups of all users are removed then.
    /// - Returns: The removal, which the caller carries out; `nil` if there is none.
    func groupRemoval(
        after response: HTTPResponseData?,
        _ last: HTTPRequestData?,
        to exchange: CachedExchange,
        isAnonymous: Bool
    ) -> CacheInvalidation.GroupRemoval? {
        guard let response, response.status.code < 400 else { return nil }
        let groups = CacheGroups.names(.cacheGroupInvalidation, in: response.http)
        guard !groups.isEmpty, let origin = last.flatMap({ CacheKey($0, principal: nil) })?.origin else { return nil }
        let isForAll = rules.isShared || isAnonymous
        // Responses without a principal are those of every user.
        let scope = CacheGroupScope(origin: origin, principals: isForAll ? nil : [exchange.key.principal, nil])
        let token = invalidation.invalidate(groups: groups, at: scope)
        return CacheInvalidation.GroupRemoval(token: token, groups: groups, scope: scope, isUnderWay: true)
    }

    /// Removes the entries of groups, and waits for the store for a short time.
    ///
    /// If the store fails, the next request to the origin repeats the removal. The entries are not used until then.
    func remove(_ removal: CacheInvalidation.GroupRemoval, _ request: HTTPRequestData) async {
        // All removals of groups at one origin have one place in the order. No URL has such a name.
        guard let place = writes.place(for: "groups of \(removal.scope.origin)") else {
            return invalidation.endGroupRemoval(removal.token, hasFailed: true)
        }
        _ = await writes.run(place, isInline: store.isInMemory) { [self] in
            do {
                try await carryOut(removal)
            } catch {
                request.emit(CacheEvent.failed(error))
            }
            return nil
        }
    }
}
