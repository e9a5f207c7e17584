import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

private struct Page: Codable, Equatable, Sendable {
    var items: [Int]
    var next: String?
}

extension Request where Response == Page {
    fileprivate static func items() -> Self {
        Request(HTTPRequestData(path: "items"))
    }
}

private struct Items: Endpoint {
    typealias Response = Page

    var path: RequestPath { "items" }
}

/// The pages 1, 2 and 3 of a list, which are connected by cursors.
private let cursors: MockTransport.Responder = { request in
    switch request.query["after"] {
    case nil: .json(Page(items: [1, 2], next: "a b"))
    case "a b": .json(Page(items: [], next: "c&d"))
    case "c&d": .json(Page(items: [3], next: ""))
    default: .status(.badRequest)
    }
}

/// A list as an endpoint without a type.
private struct UntypedItems: Endpoint {
    typealias Response = HTTPResponseData

    var path: RequestPath { "items" }
}

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct PageSequenceTests {
    private let transport = MockTransport(cursors)
    private let cursor = PageRule<Page>.cursor(query: "after") { $0.next }

    private func network(_ transport: MockTransport) -> some NetworkingComponent {
        transport.server(authority: "api.example.com")
    }

    private func collect<Element>(_ sequence: some AsyncSequence<Element, any Error>) async throws -> [Element] {
        var elements: [Element] = []
        for try await element in sequence {
            elements.append(element)
        }
        return elements
    }

    // MARK: Pages

    @Test(arguments: [false, true])
    func readsPagesToTheLast(prefetch: Bool) async throws {
        let pages = network(transport).pages(.items(), next: cursor, prefetch: prefetch)
        // Nothing is sent before the iteration starts.
        #expect(transport.requests.isEmpty)

        #expect(try await collect(pages).map(\.items) == [[1, 2], [], [3]])
        #expect(transport.requests.map { $0.query.encoded } == [nil, "after=a%20b", "after=c%26d"])
        // Each iteration starts with the first page.
        #expect(try await collect(pages).count == 3)
        #expect(transport.requests.count == 6)
    }

    @Test func everyFormOfTheFirstRequestHasPages() async throws {
        let network = self.network(transport)
        let request = HTTPRequestData(path: "items")

        #expect(try await collect(network.pages(Request(Items()), next: cursor)).count == 3)
        #expect(try await collect(network.pages(Request<Page>(request), next: cursor)).count == 3)
        #expect(try await collect(network.pages(Request<Page>.get("items"), next: cursor)).count == 3)
        #expect(try await collect(network.elements(.items(), next: cursor, of: \.items)) == [1, 2, 3])
        #expect(try await collect(network.elements(Request(Items()), next: cursor, of: \.items)) == [1, 2, 3])
        #expect(try await collect(network.elements(.items(), next: cursor) { $0.items }) == [1, 2, 3])
        #expect(try await collect(network.pages(UntypedItems().request(as: Page.self), next: cursor)).count == 3)
        let untyped = network.elements(UntypedItems().request(as: Page.self), next: cursor, of: \.items)
        #expect(try await collect(untyped) == [1, 2, 3])
        let named = network.elements(Request<Page>.get("items"), next: cursor, of: \.items)
        #expect(try await collect(named) == [1, 2, 3])
    }

    @Test(arguments: [false, true])
    func elementsOfAllPagesAreInOrder(prefetch: Bool) async throws {
        let pages = network(transport).pages(.items(), next: cursor, prefetch: prefetch)

        #expect(try await collect(pages.elements(\.items)) == [1, 2, 3])
        #expect(try await collect(pages.elements { _ in [Int]() }).isEmpty)
    }

    @Test func nextPageIsFetchedWhenItsFirstElementIsRead() async throws {
        var elements = network(transport).elements(.items(), next: cursor, of: \.items).makeAsyncIterator()

        _ = try await elements.next()
        #expect(try await elements.next() == 2)
        #expect(transport.requests.count == 1)
        #expect(try await elements.next() == 3)
        #expect(transport.requests.count == 3)
        #expect(try await elements.next() == nil)
        #expect(try await elements.next() == nil)
    }

    @Test func responsesHaveTheirPageAndNumber() async throws {
        let pages = try await collect(network(transport).pages(.items(), next: cursor).responses)

        #expect(pages.map(\.number) == [1, 2, 3])
        #expect(pages.map(\.page.items) == [[1, 2], [], [3]])
        #expect(pages.map { $0.response.request.query["after"] } == [nil, "a b", "c&d"])
    }

    @Test func prefixFetchesNoFurtherPages() async throws {
        let pages = network(transport).pages(.items(), next: cursor, maximumPages: 2)

        #expect(try await collect(pages.prefix(2)).count == 2)
        #expect(transport.requests.count == 2)
    }

    @Test func pagesKeepFieldsAndOptionsOfTheFirstRequest() async throws {
        var first = Request<Page>.items()
        first.http.headerFields[.acceptLanguage] = "de"
        first.http.timeout = .seconds(5)
        first.http.query["limit"] = "2"

        _ = try await collect(network(transport).pages(first, next: cursor))

        #expect(transport.requests.allSatisfy { $0.headerFields[.acceptLanguage] == "de" })
        #expect(transport.requests.allSatisfy { $0.timeout == .seconds(5) })
        #expect(transport.requests.map { $0.query["limit"] } == ["2", "2", "2"])
        #expect(Set(transport.requests.map(\.id)).count == 3)
    }

    // MARK: Rules

    @Test(arguments: [(nil, [nil, "2", "3"]), ("7", ["7", "8", "9"])] as [(String?, [String?])])
    func numbersCountUpFromTheFirstRequest(first: String?, expected: [String?]) async throws {
        let transport = MockTransport([.json([1]), .json([2]), .json([Int]())])
        let request = HTTPRequestData(path: "items").with { $0.query["page"] = first }

        let pages = network(transport).pages(Request<[Int]>(request), next: .number { $0.isEmpty })

        #expect(try await collect(pages) == [[1], [2], []])
        #expect(transport.requests.map { $0.query["page"] } == expected)
    }

    @Test func numbersHaveANameAndAStart() async throws {
        let transport = MockTransport([.json([1]), .json([Int]())])
        let rule = PageRule<[Int]>.number(query: "p", startingAt: 0) { $0.isEmpty }

        _ = try await collect(network(transport).pages(Request<[Int]>.get("items"), next: rule))

        #expect(transport.requests.map { $0.query["p"] } == [nil, "1"])
    }

    @Test func offsetCountsElements() async throws {
        let transport = MockTransport([.json([1, 2]), .json([3]), .json([Int]())])
        let rule = PageRule<[Int]>.offset(query: "skip", startingAt: 10) { $0.count }

        let pages = network(transport).pages(Request<[Int]>.get("items"), next: rule)

        #expect(try await collect(pages) == [[1, 2], [3], []])
        #expect(transport.requests.map { $0.query["skip"] } == [nil, "12", "13"])
    }

    @Test(arguments: [0, -1, Int.min])
    func offsetEndsWithoutElements(count: Int) async throws {
        let transport = MockTransport { _ in .json([1]) }

        let pages = network(transport).pages(Request<[Int]>.get("items"), next: .offset { _ in count })

        #expect(try await collect(pages).count == 1)
    }

    @Test(arguments: ["x", "", "1.5", "\(Int.max)"])
    func numberThatCannotBeIncreasedIsAnError(first: String) async throws {
        let transport = MockTransport { _ in .json([1]) }
        let request = HTTPRequestData(path: "items").with { $0.query["page"] = first }
        var pages = network(transport).pages(Request<[Int]>(request), next: .number { _ in false })
            .makeAsyncIterator()

        #expect(try await pages.next() == [1])
        let error = await #expect(throws: NetworkingError.self) { try await pages.next() }
        #expect(error?.kind == .invalidRequest)
        #expect(transport.requests.count == 1)
    }

    @Test func customRuleGetsPageResponseAndRequest() async throws {
        let next = try #require(HTTPField.Name("X-Next"))
        let transport = MockTransport { request in
            .json([request.path ?? ""]).headerFields(request.path == "/items" ? [next: "more"] : [:])
        }
        let rule = PageRule<[String]>
            .custom { page, response, request in
                #expect(page == [response.request.path ?? ""])
                return response.headerFields[next].map { request.with(\.path, $0) }
            }

        let pages = network(transport).pages(Request<[String]>.get("items"), next: rule)

        #expect(try await collect(pages) == [["/items"], ["/more"]])
    }

    @Test func errorOfACustomRuleEndsTheIteration() async throws {
        struct NoCursor: Error {}
        let rule = PageRule<Page>.custom { _, _, _ in throw NoCursor() }
        var pages = network(transport).pages(.items(), next: rule, prefetch: true).makeAsyncIterator()

        #expect(try await pages.next()?.items == [1, 2])
        await #expect(throws: NoCursor.self) { try await pages.next() }
        #expect(try await pages.next() == nil)
    }

    @Test func bodyMayHaveTheCursor() async throws {
        let transport = MockTransport([.json([1]), .json([2])])
        let rule = PageRule<[Int]>
            .custom { page, _, request in
                page == [1] ? request.with(\.body, .json(["after": "x"])) : nil
            }

        let pages = network(transport).pages(Request<[Int]>.post("search"), next: rule)

        #expect(try await collect(pages) == [[1], [2]])
        #expect(transport.requests.last?.body?.data == Data(#"{"after":"x"}"#.utf8))
    }

    // MARK: Limits and errors

    @Test(arguments: [false, true])
    func moreThanTheMaximumIsAnErrorAfterTheLastAllowedPage(prefetch: Bool) async throws {
        var pages = network(transport).pages(.items(), next: cursor, maximumPages: 2, prefetch: prefetch)
            .makeAsyncIterator()

        #expect(try await pages.next()?.items == [1, 2])
        #expect(try await pages.next()?.items == [])
        let error = await #expect(throws: NetworkingError.self) { try await pages.next() }
        #expect(error?.kind == .tooLarge)
        #expect(error?.reason.contains("2 pages") == true)
        #expect(try await pages.next() == nil)
        #expect(transport.requests.count == 2)
    }

    @Test func listOfTheMaximumLengthIsNoError() async throws {
        let pages = network(transport).pages(.items(), next: cursor, maximumPages: 3)

        #expect(try await collect(pages).count == 3)
    }

    @Test func cursorThatIsReturnedAgainIsAnError() async throws {
        let transport = MockTransport { _ in .json(Page(items: [1], next: "same")) }
        let pages = network(transport).pages(.items(), next: cursor)

        let error = await #expect(throws: NetworkingError.self) { try await collect(pages) }

        #expect(error?.kind == .invalidResponse)
        #expect(transport.requests.count == 2)
    }

    @Test func ruleThatReturnsTheSameRequestIsAnError() async throws {
        let rule = PageRule<Page>.custom { _, _, request in request }

        let error = await #expect(throws: NetworkingError.self) {
            try await collect(network(transport).pages(.items(), next: rule))
        }

        #expect(error?.kind == .invalidResponse)
        #expect(transport.requests.count == 1)
    }

    @Test(
        arguments: [
            (.status(.notFound), .status), (.status(.unauthorized), .unauthorized), (.text("{"), .decoding),
            (.failure(.offline), .offline),
        ] as [(MockResponse, NetworkingError.Kind)],
        [false, true]
    )
    func failedPageEndsTheIteration(failure: (MockResponse, NetworkingError.Kind), prefetch: Bool) async throws {
        let transport = MockTransport([.json(Page(items: [1], next: "b")), failure.0])
        var pages = network(transport).pages(.items(), next: cursor, prefetch: prefetch).makeAsyncIterator()

        #expect(try await pages.next()?.items == [1])
        let error = await #expect(throws: NetworkingError.self) { try await pages.next() }
        #expect(error?.kind == failure.1)
        #expect(try await pages.next() == nil)
        #expect(transport.requests.count == 2)
    }

    // MARK: Prefetching and cancellation

    @Test func onePageIsPrefetched() async throws {
        var pages = network(transport).pages(.items(), next: cursor, prefetch: true).makeAsyncIterator()

        _ = try await pages.next()
        try await transport.waitForEnds(2)
        #expect(transport.requests.map { $0.query["after"] } == [nil, "a b"])
        _ = try await pages.next()
        try await transport.waitForEnds(3)
        #expect(transport.requests.last?.query["after"] == "c&d")
        _ = try await pages.next()
        #expect(try await pages.next() == nil)
        #expect(transport.requests.count == 3)
    }

    @Test func withoutPrefetchingThePageWaitsForTheCaller() async throws {
        var pages = network(transport).pages(.items(), next: cursor).makeAsyncIterator()

        _ = try await pages.next()
        await Task.yield()

        #expect(transport.requests.count == 1)
    }

    @Test func releasingTheIteratorCancelsThePrefetch() async throws {
        let transport = MockTransport { request in
            request.query["after"] == nil ? .json(Page(items: [1], next: "b")) : .never
        }
        for try await page in network(transport).pages(.items(), next: cursor, prefetch: true) {
            #expect(page.items == [1])
            try await transport.waitForRequests(2)
            break
        }

        try await transport.waitForEnds(2)
        #expect(transport.cancelled == 1)
    }

    @Test(arguments: [false, true])
    func cancellationEndsTheExchange(prefetch: Bool) async throws {
        let transport = MockTransport { request in
            request.query["after"] == nil ? .json(Page(items: [1], next: "b")) : .never
        }
        let pages = network(transport).pages(.items(), next: cursor, prefetch: prefetch)
        let reading = Task {
            for try await page in pages {
                #expect(page.items == [1])
            }
        }
        try await transport.waitForRequests(2)

        reading.cancel()

        await #expect(throws: CancellationError.self) { try await reading.value }
        #expect(transport.active == 0)
    }

    @Test func environmentOfTheCallerAppliesToPrefetchedPages() async throws {
        let clock = ManualClock()
        let transport = MockTransport { request in
            request.query["after"] == nil
                ? .json(Page(items: [1], next: "b")) : .json(Page(items: [2])).delayed(by: .seconds(3))
        }
        let pages = network(transport).pages(.items(), next: cursor, prefetch: true)
        var environment = NetworkEnvironment()
        environment.clock = .manual(clock)

        try await withEnvironment(environment) {
            var iterator = pages.makeAsyncIterator()
            _ = try await iterator.next()
            try await clock.advance(by: .seconds(3), afterSleepers: 1)
            #expect(try await iterator.next()?.items == [2])
        }
    }
}
