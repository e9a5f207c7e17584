public import NetworkingCore

/// A rule that finds the request for the next page of a list.
///
/// ```swift
/// network.pages(.issues(), next: .link)
/// network.pages(.issues(), next: .cursor(query: "after") { page in page.nextCursor })
/// network.pages(.issues(), next: .number(query: "page") { page in page.isLast })
/// network.pages(.issues(), next: .offset(query: "skip") { page in page.items.count })
/// ```
///
/// The request for the next page is a copy of the request for the current page with the rule's changes. It keeps the
/// header fields and the options of the first request, except that a link to another server removes the credentials
/// (``link``).
public struct PageRule<Page>: Sendable {
    /// Returns the request for the next page; `nil` if the page is the last one.
    let next: @Sendable (Page, HTTPResponseData, HTTPRequestData) throws -> HTTPRequestData?

    /// Follows the link with the relation `next` in the `Link` header fields of the response (RFC 8288).
    ///
    /// A response without such a link is the last page. A relative link is resolved against the URL of the response.
    /// A link to another server is followed without the credentials of the request, as a redirect is, and with all its
    /// other options. The stack adds credentials only for its own server. The same applies to a link from another
    /// server, to which the request was redirected. The iteration fails with
    /// ``NetworkingError/Kind/invalidResponse`` if a link
    /// - is not an http or https URL,
    /// - leads from https to http, unless the request's ``HTTPRequestData/redirects`` allow that,
    /// - leads to another server or comes from one, and the request has a body or a method that is not safe,
    /// - is in `Link` fields of more than 64 KiB.
    public static var link: PageRule {
        link(relation: "next")
    }

    /// Follows the link with a relation in the `Link` header fields of the response, as ``link`` does.
    ///
    /// - Parameter relation: The relation type of the link, for example `prev`.
    /// - Returns: The rule.
    public static func link(relation: String) -> PageRule {
        let relation = relation.lowercased()
        return PageRule { _, response, request in
            do {
                guard let target = try LinkField.target(of: relation, in: response.headerFields) else { return nil }
                return try request.following(target, in: response)
            } catch is LinkField.TooLong {
                throw NetworkingError(
                    .invalidResponse,
                    request: response.sentRequest,
                    response: response,
                    reason: "The Link fields of the response are longer than \(LinkField.maximumBytes) bytes."
                )
            }
        }
    }

    /// Follows the URL of the next page that each page contains.
    ///
    /// ```swift
    /// // {"next": "https://api.example.com/issues?page=2"}
    /// network.pages(.issues(), next: .url { page in page.next })
    /// ```
    ///
    /// The URL is followed under the same conditions as a ``link``, so a server cannot redirect the credentials of the
    /// request to another one.
    ///
    /// - Parameter url: Returns the URL in a page, which may be relative to the URL of the response. A page for which
    ///   it returns `nil` or an empty text is the last one.
    /// - Returns: The rule.
    public static func url(_ url: @escaping @Sendable (Page) -> String?) -> PageRule {
        PageRule { page, response, request in
            guard let target = url(page), !target.isEmpty else { return nil }
            return try request.following(target, in: response)
        }
    }

    /// Sends the cursor of a page as a query item of the request for the next page.
    ///
    /// - Parameters:
    ///   - name: The name of the query item.
    ///   - cursor: Returns the cursor in a page. A page for which it returns `nil` or an empty text is the last one.
    /// - Returns: The rule.
    public static func cursor(
        query name: String,
        _ cursor: @escaping @Sendable (Page) -> String?
    ) -> PageRule {
        PageRule { page, _, request in
            guard let value = cursor(page), !value.isEmpty else { return nil }
            var next = request
            next.query[name] = value
            return next
        }
    }

    /// Sends the number of each page as a query item.
    ///
    /// The iteration fails with ``NetworkingError/Kind/invalidRequest`` if the first request has the item with a value
    /// that is not a number.
    ///
    /// - Parameters:
    ///   - name: The name of the query item.
    ///   - first: The number of the first page, if the first request does not have the item.
    ///   - isLast: Returns whether a page is the last one.
    /// - Returns: The rule.
    public static func number(
        query name: String = "page",
        startingAt first: Int = 1,
        isLast: @escaping @Sendable (Page) -> Bool
    ) -> PageRule {
        PageRule { page, _, request in
            isLast(page) ? nil : try request.advancing(name, startingAt: first, by: 1)
        }
    }

    /// Sends the number of elements before each page as a query item.
    ///
    /// The iteration fails with ``NetworkingError/Kind/invalidRequest`` if the first request has the item with a value
    /// that is not a number.
    ///
    /// - Parameters:
    ///   - name: The name of the query item.
    ///   - first: The offset of the first page, if the first request does not have the item.
    ///   - count: Returns the number of elements of a page. A page for which it returns 0 is the last one.
    /// - Returns: The rule.
    public static func offset(
        query name: String = "offset",
        startingAt first: Int = 0,
        count: @escaping @Sendable (Page) -> Int
    ) -> PageRule {
        PageRule { page, _, request in
            let elements = count(page)
            return elements > 0 ? try request.advancing(name, startingAt: first, by: elements) : nil
        }
    }

    /// Calls a closure for the request for the next page.
    ///
    /// ```swift
    /// let rule = PageRule<IssuePage>.custom { page, response, request in
    ///     page.next.map { token in request.with(\.body, .json(["pageToken": token])) }
    /// }
    /// ```
    ///
    /// If the closure changes the URL of the request to one that the server has sent, the header fields with
    /// credentials go there too, whatever the server is. ``url(_:)`` removes them for another server.
    ///
    /// - Parameter next: Receives the page, its response and the request for it, before the stack rewrote that request.
    ///   Returns the request for the next page, or `nil` if the page is the last one. An error that it throws ends the
    ///   iteration.
    /// - Returns: The rule.
    public static func custom(
        _ next: @escaping @Sendable (Page, HTTPResponseData, HTTPRequestData) throws -> HTTPRequestData?
    ) -> PageRule {
        PageRule(next: next)
    }
}

extension HTTPRequestData {
    /// Returns a copy in which the number in a query item is increased.
    fileprivate func advancing(_ name: String, startingAt first: Int, by count: Int) throws -> HTTPRequestData {
        let current = Int(query[name] ?? "\(first)")
        guard let (number, overflow) = current?.addingReportingOverflow(count), !overflow else {
            throw NetworkingError(
                .invalidRequest,
                request: self,
                reason: "The query item \(PrintableText.singleLine(name)) of the request is not a number to which "
                    + "\(count) can be added."
            )
        }
        var next = self
        next.query[name] = "\(number)"
        return next
    }
}
