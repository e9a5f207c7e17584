public import NetworkingCore

extension NetworkingComponent {
    /// Returns the pages of a list, from the page of a request to the last one.
    ///
    /// ```swift
    /// for try await users in network.pages(Request<[User]>.get("users"), next: .link) {
    ///     show(users)
    /// }
    /// ```
    ///
    /// The first page of an endpoint is `Request(endpoint)`.
    ///
    /// Nothing is sent before the iteration starts. Each page passes through the whole stack, with its retries and
    /// its cache. A page that leads to itself or to an earlier page ends the iteration with
    /// ``NetworkingError/Kind/invalidResponse``.
    ///
    /// - Parameters:
    ///   - first: The request for the first page.
    ///   - rule: The rule that finds the next page.
    ///   - maximumPages: The maximum number of pages. If the list has more, the iteration fails after that many with
    ///     ``NetworkingError/Kind/tooLarge``. To read only the start of a list, use `prefix(_:)` or end the loop.
    ///   - prefetch: Whether the next page is fetched while the caller works on the current one. At most one page is
    ///     fetched ahead of the caller.
    /// - Returns: The pages.
    /// - Precondition: `maximumPages` is greater than zero.
    public func pages<Page: Sendable>(
        _ first: Request<Page>,
        next rule: PageRule<Page>,
        maximumPages: Int = 1_000,
        prefetch: Bool = false
    ) -> PageSequence<Page> {
        precondition(maximumPages > 0, "maximumPages must be greater than zero (is \(maximumPages))")
        return PageSequence(
            source: PageSource(
                network: self,
                first: first,
                rule: rule,
                maximumPages: maximumPages,
                prefetches: prefetch
            )
        )
    }

    /// Returns the elements of all pages of a list.
    ///
    /// ```swift
    /// for try await issue in network.elements(.issues(), next: .link, of: \.items) {
    ///     show(issue)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - first: The request for the first page.
    ///   - rule: The rule that finds the next page.
    ///   - elements: Returns the elements of a page. For pages that are arrays, it is `\.self`.
    ///   - maximumPages: The maximum number of pages, as for `pages`.
    ///   - prefetch: Whether the next page is fetched while the caller reads the elements of the current one.
    /// - Returns: The elements.
    /// - Precondition: `maximumPages` is greater than zero.
    public func elements<Page: Sendable, Element: Sendable>(
        _ first: Request<Page>,
        next rule: PageRule<Page>,
        of elements: @escaping @Sendable (Page) -> [Element],
        maximumPages: Int = 1_000,
        prefetch: Bool = false
    ) -> PageElements<Page, Element> {
        pages(first, next: rule, maximumPages: maximumPages, prefetch: prefetch).elements(elements)
    }
}
