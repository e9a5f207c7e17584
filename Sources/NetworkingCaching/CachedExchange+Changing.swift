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
                if error.mayHaveChangedSomething {
                    await cache.invalidate(after: (error as? NetworkingError)?.response, to: request, key)
                }
                throw error
            }
            response.cacheRecord = .forwarded(.method, response.status)
            guard response.status.code < 400 else { return response }
            let isCurrent = cache.fetches.isCurrent(fetch.beginning, key.url)
            let (beginning, change) = await cache.invalidate(after: response, to: request, key, since: fetch.change)
            if mayKeep, isCurrent {
                let fetch = Fetch(beginning: beginning, change: change, clock: fetch.clock, sent: fetch.sent)
                await keepPosted(&response, fetch)
            }
            return response
        }
    }

    /// Stores the response to a POST if the response states that it equals that of a GET for the URL, and states its
    /// lifetime (RFC 9110 section 9.3.3).
    private func keepPosted(_ response: inout HTTPResponseData, _ fetch: Fetch) async {
        guard request.method == .post, response.status == .ok, cache.rules.saysHowLong(response.http),
            let location = response.headerFields[singleton: .contentLocation],
            let url = URL(string: location, relativeTo: request.url)?.absoluteURL,
            CacheKey(HTTPRequestData(url: url), principal: key.principal) == key
        else { return }
        var get = request
        get.method = .get
        get.body = nil
        let credentials = await cache.credentials(of: get)
        let exchange = CachedExchange(cache: cache, key: key, request: get, glance: glance, credentials: credentials)
        response.cacheRecord = await exchange.kept(response, .method, nil, [], fetch).cacheRecord
    }
}

extension Error {
    /// Whether a request that failed with this error may have reached its server and been carried out.
    fileprivate var mayHaveChangedSomething: Bool {
        guard let error = self as? NetworkingError else { return true }
        if let response = error.response, response.status.code >= 400 { return false }
        switch error.kind {
        case .invalidRequest, .unencodableBody, .bodyNotReplayable, .nameResolution, .connection, .tls, .offline,
            .rejected,
            .unimplemented:
            return false
        default: return true
        }
    }
}
