import FoundationForNetworking
import HTTPTypes
import NetworkingCore

extension CachedExchange {
    /// Sends an unsafe request, and removes the entries that it makes invalid (RFC 9111 section 4.4).
    func change(mayKeep: Bool, over upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        try await fetching(after: [], mayKeep: mayKeep && request.method == .post) { fetch in
            var response: HTTPResponseData
            do {
                response = try await upstream.send(request)
            } catch {
                let response = request.response(of: error)
                if error.mayHaveChangedSomething(at: response?.status) {
                    await cache.invalidate(after: response, to: self, isAnonymous: !mayKeep)
                }
                throw error
            }
            response.cacheRecord = .forwarded(.method, response.status)
            guard response.status.code < 400 else { return response }
            let isCurrent = cache.invalidation.isCurrent(fetch.beginning, key.url)
            guard mayKeep, isCurrent, let get = exchange(forGetOf: response) else {
                await cache.invalidate(after: response, to: self, since: fetch.change, isAnonymous: !mayKeep)
                return response
            }
            let received = response
            let refusal = await cache.invalidate(after: response, to: self, since: fetch.change) { beginning, change in
                let fetch = Fetch(
                    beginning: beginning,
                    change: change,
                    clock: fetch.clock,
                    sent: fetch.sent,
                    storeCount: fetch.storeCount
                )
                return await cache.prepared(get).keep(received, copy: nil, [], fetch, isInTurn: true)
            }
            response.cacheRecord = record(of: response, .method, stored: refusal)
            return response
        }
    }

    /// Returns the exchange of a GET if the response to a POST states that it equals that of a GET for the URL, and
    /// states its lifetime (RFC 9110 section 9.3.3).
    private func exchange(forGetOf response: HTTPResponseData) -> CachedExchange? {
        guard request.method == .post, request.cacheMode.writes, response.status == .ok,
            cache.rules.saysHowLong(response.http),
            let location = response.headerFields[singleton: .contentLocation],
            let url = URL(reference: location, relativeTo: request.url),
            CacheKey(HTTPRequestData(url: url), principal: key.principal) == key
        else { return nil }
        var get = request
        get.method = .get
        get.body = nil
        return CachedExchange(cache: cache, key: key, request: get, snapshot: snapshot, values: values)
    }
}

extension Error {
    /// Returns whether a request that failed with this error may have reached its server and been carried out.
    ///
    /// - Parameter status: The status of the response that the error is about; `nil` if there was none.
    /// - Returns: `true` if it may have been carried out.
    func mayHaveChangedSomething(at status: HTTPResponse.Status?) -> Bool {
        if let status, status.code >= 400 { return false }
        guard let error = self as? NetworkingError else { return true }
        switch error.kind.meaning {
        case .invalid, .rejected, .unreachable, .untrusted: return false
        default: return true
        }
    }
}
