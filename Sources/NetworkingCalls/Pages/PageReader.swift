import NetworkingCore

/// The settings of an iteration over pages.
struct PageSource<Page: Sendable>: Sendable {
    let network: any NetworkingComponent
    let first: Request<Page>
    let rule: PageRule<Page>
    let maximumPages: Int
    let prefetches: Bool

    /// Fetches the page of a request, which the stack has rewritten.
    func page(
        of http: HTTPRequestData,
        routed: HTTPRequestData,
        number: Int
    ) async throws -> PageResponse<Page> {
        var request = first
        request.http = http
        let (page, response) = try await network.value(request, routed: routed)
        return PageResponse(page: page, response: response, number: number)
    }
}

/// Fetches pages one after the other, for one iterator.
final class PageReader<Page: Sendable> {
    private let source: PageSource<Page>
    /// The request for the next page, or the reason why there is none; `nil` after the end.
    private var next: Result<HTTPRequestData, any Error>?
    /// The exchange of the next page, if it has been started ahead of time.
    private var ahead: OwnedTask<PageResponse<Page>>?
    /// The request of the next page as the stack sends it, if it has been rewritten already.
    private var routed: HTTPRequestData?
    /// The response of the page that has been read last.
    private var last: HTTPResponseData?
    /// The number of pages that have been read.
    private var count = 0
    /// The requests of the pages that have been read, as the stack sends them.
    private var visited: Set<HTTPRequestData> = []

    init(_ source: PageSource<Page>) {
        self.source = source
        // All pages belong to the user for whom the list begins.
        let routed = source.network.routed(source.first.http, keepingUsers: true)
        self.routed = routed
        next = .success(source.first.http.keepingUsers(of: routed))
    }

    deinit {
        ahead?.cancel()
    }

    /// Returns the next page; `nil` after the last page, and after an error.
    func read() async throws -> PageResponse<Page>? {
        let (next, ahead, early) = (next, ahead, routed)
        (self.next, self.ahead, routed) = (nil, nil, nil)
        guard let request = try next?.get() else { return nil }
        let routed = try early ?? route(request)
        let page: PageResponse<Page>
        if let ahead {
            page = try await ahead.value
            try Task.checkCancellation()
        } else {
            page = try await source.page(of: request, routed: routed, number: count + 1)
        }
        count += 1
        last = page.response
        visit(routed, page.response)
        do {
            self.next = try following(page, request).map { .success($0) }
        } catch {
            // The page itself is complete, so the caller receives it before the error.
            self.next = .failure(error)
        }
        startAhead()
        return page
    }

    /// Starts the exchange of the next page, if the source prefetches.
    private func startAhead() {
        guard source.prefetches, case .success(let request) = next else { return }
        do {
            let routed = try route(request)
            self.routed = routed
            ahead = OwnedTask.immediate { [source, number = count + 1] in
                try await source.page(of: request, routed: routed, number: number)
            }
        } catch {
            next = .failure(error)
        }
    }

    /// Returns the request for the next page; `nil` if the given page is the last.
    private func following(_ page: PageResponse<Page>, _ request: HTTPRequestData) throws -> HTTPRequestData? {
        guard let next = try source.rule.next(page.page, page.response, request.withoutUsers) else { return nil }
        let following = next.keepingUsers(of: request)
        return following.id == request.id ? following.withNewID : following
    }

    /// Returns the request for the next page as the stack sends it now, unless the list has to end before it.
    private func route(_ request: HTTPRequestData) throws -> HTTPRequestData {
        let routed = source.network.routed(request, keepingUsers: true)
        if let last, visited.contains(routed) {
            throw NetworkingError(
                .invalidResponse,
                request: last.sentRequest,
                response: last,
                reason: "Page \(count) leads to a page that has been read before, so the list would never end. "
                    + "The next link or cursor of the server, or the rule, is wrong."
            )
        }
        guard count < source.maximumPages else {
            throw NetworkingError(
                .tooLarge,
                request: request,
                reason: "The list has more than \(source.maximumPages) pages. Raise maximumPages, or end the iteration "
                    + "earlier with prefix(_:)."
            )
        }
        return routed
    }

    /// Remembers the request of a page, and the one to which the server has redirected it.
    private func visit(_ request: HTTPRequestData, _ response: HTTPResponseData) {
        visited.insert(request)
        guard !response.redirects.isEmpty else { return }
        var sent = request
        sent.method = response.sentRequest.method
        sent.url = response.url
        visited.insert(sent)
    }
}
