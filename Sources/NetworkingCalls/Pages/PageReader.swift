import NetworkingCore

/// The settings of an iteration over pages.
struct PageSource<Page: Sendable>: Sendable {
    let network: any NetworkingComponent
    let first: Request<Page>
    let rule: PageRule<Page>
    let maximumPages: Int
    let prefetches: Bool

    /// Fetches the page of a request.
    func page(of http: HTTPRequestData, number: Int) async throws -> PageResponse<Page> {
        var request = first
        request.http = http
        let (page, response) = try await network.value(request)
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
    /// The number of pages that have been read.
    private var count = 0
    /// The requests of the pages that have been read, as the stack sends them.
    private var visited: Set<HTTPRequestData> = []

    init(_ source: PageSource<Page>) {
        self.source = source
        // All pages belong to the user for whom the list begins.
        next = .success(source.network.notingUsers(of: source.first.http))
    }

    deinit {
        ahead?.cancel()
    }

    /// Returns the next page; `nil` after the last page, and after an error.
    func read() async throws -> PageResponse<Page>? {
        let (next, ahead) = (next, ahead)
        (self.next, self.ahead) = (nil, nil)
        guard let request = try next?.get() else { return nil }
        let page: PageResponse<Page>
        if let ahead {
            page = try await ahead.value
            try Task.checkCancellation()
        } else {
            page = try await source.page(of: request, number: count + 1)
        }
        count += 1
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
        let number = count + 1
        ahead = OwnedTask.immediate { [source] in
            try await source.page(of: request, number: number)
        }
    }

    /// Returns the request for the next page; `nil` if the given page is the last.
    private func following(_ page: PageResponse<Page>, _ request: HTTPRequestData) throws -> HTTPRequestData? {
        guard var next = try source.rule.next(page.page, page.response, request.withoutUsers) else { return nil }
        next = next.keepingUsers(of: request)
        if next.id == request.id {
            next = next.withNewID
        }
        visit(request, page.response)
        guard !visited.contains(source.network.resolved(next)) else {
            throw NetworkingError(
                .invalidResponse,
                request: page.response.sentRequest,
                response: page.response,
                reason: "Page \(page.number) leads to a page that has been read before, so the list would never end. "
                    + "The next link or cursor of the server, or the rule, is wrong."
            )
        }
        guard page.number < source.maximumPages else {
            throw NetworkingError(
                .tooLarge,
                request: next,
                reason: "The list has more than \(source.maximumPages) pages. Raise maximumPages, or end the iteration "
                    + "earlier with prefix(_:)."
            )
        }
        return next
    }

    /// Remembers the request of a page, and the one to which the server has redirected it.
    private func visit(_ request: HTTPRequestData, _ response: HTTPResponseData) {
        var sent = source.network.resolved(request)
        visited.insert(sent)
        guard !response.redirects.isEmpty else { return }
        sent.method = response.sentRequest.method
        sent.url = response.url
        visited.insert(sent)
    }
}
