public import NetworkingCore

/// The pages of a list, each of which is fetched when the iteration reaches it.
///
/// ```swift
/// for try await page in network.pages(.issues(), next: .link) {
///     show(page)
/// }
/// ```
///
/// Each iteration starts with the first page. Ending the iteration, or cancelling its task, ends the exchange. After an
/// error the iteration is over.
public struct PageSequence<Page: Sendable>: AsyncSequence, Sendable {
    /// The decoded body of a response.
    public typealias Element = Page

    let source: PageSource<Page>

    /// The pages together with their responses and numbers.
    public var responses: PageResponses<Page> {
        PageResponses(source: source)
    }

    /// Returns the elements of all pages, in order.
    ///
    /// - Parameter elements: Returns the elements of a page.
    /// - Returns: The elements. The next page is fetched when the elements of the current one have been read.
    public func elements<Item: Sendable>(
        _ elements: @escaping @Sendable (Page) -> [Item]
    ) -> PageElements<Page, Item> {
        PageElements(source: source, elements: elements)
    }

    /// Starts with the first page.
    public func makeAsyncIterator() -> Iterator {
        Iterator(reader: PageReader(source))
    }

    /// Reads the pages once; releasing the iterator ends an exchange that was started ahead of time.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let reader: PageReader<Page>

        /// Returns the next page; `nil` after the last.
        ///
        /// - Throws: The errors of `value` with a typed request, those of the ``PageRule``,
        ///   ``NetworkingError/Kind/invalidResponse`` if a page leads to a page that has been read before, and
        ///   ``NetworkingError/Kind/tooLarge`` if there are more pages than the maximum.
        public mutating func next() async throws -> Page? {
            try await reader.read()?.page
        }
    }
}

/// A page of a list, with its response.
public struct PageResponse<Page: Sendable>: Sendable {
    /// The decoded body.
    public let page: Page
    /// The response that the page was decoded from.
    public let response: HTTPResponseData
    /// The position of the page in the iteration, from 1 on.
    public let number: Int
}

/// The pages of a list together with their responses.
///
/// ```swift
/// for try await page in network.pages(.issues(), next: .link).responses {
///     print(page.number, page.response.headerFields[.date] ?? "")
/// }
/// ```
public struct PageResponses<Page: Sendable>: AsyncSequence, Sendable {
    /// A page and its response.
    public typealias Element = PageResponse<Page>

    fileprivate let source: PageSource<Page>

    /// Starts with the first page.
    public func makeAsyncIterator() -> Iterator {
        Iterator(reader: PageReader(source))
    }

    /// Reads the pages once; releasing the iterator ends an exchange that was started ahead of time.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let reader: PageReader<Page>

        /// Returns the next page and its response; `nil` after the last.
        ///
        /// - Throws: The errors of the iterator of a ``PageSequence``.
        public mutating func next() async throws -> PageResponse<Page>? {
            try await reader.read()
        }
    }
}

/// The elements of all pages of a list.
///
/// ```swift
/// for try await issue in network.elements(.issues(), next: .link, of: \.items) {
///     show(issue)
/// }
/// ```
///
/// The next page is fetched when the elements of the current one have been read. A page without elements does not end
/// the iteration.
public struct PageElements<Page: Sendable, Element: Sendable>: AsyncSequence, Sendable {
    let source: PageSource<Page>
    let elements: @Sendable (Page) -> [Element]

    /// Starts with the first page.
    public func makeAsyncIterator() -> Iterator {
        Iterator(reader: PageReader(source), elements: elements)
    }

    /// Reads the elements once; releasing the iterator ends an exchange that was started ahead of time.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let reader: PageReader<Page>
        fileprivate let elements: @Sendable (Page) -> [Element]
        /// The elements of the current page that have not been returned.
        fileprivate var rest: ArraySlice<Element> = []

        /// Returns the next element; `nil` after the last element of the last page.
        ///
        /// - Throws: The errors of the iterator of a ``PageSequence``.
        public mutating func next() async throws -> Element? {
            while true {
                if let element = rest.popFirst() { return element }
                guard let page = try await reader.read() else { return nil }
                rest = elements(page.page)[...]
            }
        }
    }
}
