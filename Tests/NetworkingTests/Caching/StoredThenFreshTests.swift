import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.tags(.concurrency), .stoppedClock, .timeLimit(.minutes(20)))
struct StoredThenFreshTests {
    private struct User: Codable, Equatable, Sendable {
        var name: String
    }

    private let clock = ManualClock()

    private func texts(_ responses: StoredThenFresh<HTTPResponseData>) async throws -> [String] {
        var texts: [String] = []
        for try await response in responses {
            texts.append(String(decoding: response.data, as: UTF8.self))
        }
        return texts
    }

    private func response(_ text: String, tag: String? = nil) -> MockResponse {
        var fields: HTTPFields = [.cacheControl: "max-age=10"]
        if let tag {
            fields[.eTag] = tag
        }
        return .text(text).headerFields(fields)
    }

    @Test func returnsTheStoredResponseAndThenAChangedOne() async throws {
        let transport = MockTransport([response("one"), response("two")])
        let network = transport.cached().environment(\.clock, .manual(clock))
        #expect(try await texts(network.storedThenFresh(.lawful)) == ["one"])
        // The age of the stored response does not matter.
        clock.advance(by: .seconds(100_000))
        #expect(try await texts(network.storedThenFresh(.lawful)) == ["one", "two"])
        #expect(transport.requests.count == 2)
        #expect(try await network.data(.lawful).text == "two")
    }

    /// The stored response is shown at once, even if all permits are taken.
    @Test func storedResponseNeedsNoPermit() async throws {
        let transport = MockTransport { _ in self.response("one") }
        let limiter = ConcurrencyLimiter(max: 1)
        let cached = transport.cached()
        try await cached.data(.lawful)
        let held = HeldResponse()
        let holder = Task {
            try await MockTransport { _ in .held(by: held) }.throttled(by: limiter).data(.lawful)
        }
        try await held.waitForRequests()
        var responses = cached.throttled(by: limiter, maximumWait: .zero).storedThenFresh(.lawful).makeAsyncIterator()
        #expect(try await responses.next()?.text == "one")
        held.respond()
        _ = try await holder.value
    }

    @Test func unchangedResponseIsReturnedOnce() async throws {
        let unchanged = MockResponse(status: .notModified, headerFields: [.eTag: "\"1\""])
        let transport = MockTransport([response("one", tag: "\"1\""), unchanged, response("one", tag: "\"2\"")])
        let network = transport.cached()
        #expect(try await network.data(.lawful).text == "one")
        #expect(try await texts(network.storedThenFresh(.lawful)) == ["one"])
        #expect(transport.requests.last?.headerFields[.ifNoneMatch] == "\"1\"")
        // The same bytes with another tag are not returned twice either.
        #expect(try await texts(network.storedThenFresh(.lawful)) == ["one"])
        #expect(transport.requests.count == 3)
    }

    @Test func anotherMediaTypeIsAChange() async throws {
        let other = response("one").headerFields([.contentType: "text/html"])
        let network = MockTransport([response("one"), other]).cached()
        _ = try await network.data(.lawful)
        #expect(try await texts(network.storedThenFresh(.lawful)) == ["one", "one"])
    }

    @Test func stackWithoutACacheSendsOneRequest() async throws {
        let transport = MockTransport { _ in .text("one") }
        #expect(try await texts(transport.storedThenFresh(.lawful)) == ["one"])
        #expect(transport.requests.count == 1)
    }

    @Test func nothingStoredMeansOneRequestWithoutRetries() async throws {
        let transport = MockTransport([response("one")])
        // This order is unusual: the retry sees the cache's 504. A wait for a retry would never end on this clock.
        let network = transport.cached().retry().environment(\.clock, .manual(clock))
        #expect(try await texts(network.storedThenFresh(.lawful)) == ["one"])
        #expect(transport.requests.count == 1)
    }

    @Test(arguments: [CacheMode.noStore, .reload])
    func modeWithoutReadingReturnsTheResponseOfTheServerOnly(mode: CacheMode) async throws {
        let transport = MockTransport([response("one"), response("two")])
        let network = transport.cached()
        _ = try await network.data(.lawful)
        #expect(try await texts(network.storedThenFresh(.lawful.with { $0.cacheMode = mode })) == ["two"])
        #expect(try await network.data(.lawful).text == (mode == .reload ? "two" : "one"))
    }

    @Test func modeOfTheStackDoesNotSendTheLookup() async throws {
        let transport = MockTransport([response("one")])
        let network = transport.cached().server(mutateRequest: { $0.cacheMode = .standard })
        #expect(try await texts(network.storedThenFresh(.lawful)) == ["one"])
        #expect(transport.requests.count == 1)
    }

    @Test(arguments: [HTTPRequest.Method.post, .put, .delete, .options])
    func requestThatCannotBeCachedIsSentOnce(method: HTTPRequest.Method) async throws {
        let transport = MockTransport { _ in .text("one") }
        let network = transport.cached()
        #expect(try await texts(network.storedThenFresh(.lawful.with { $0.method = method })) == ["one"])
        #expect(transport.requests.count == 1)
    }

    @Test func getWithABodyIsSentOnce() async throws {
        let transport = MockTransport { _ in .text("one") }
        let request = HTTPRequestData.lawful.with { $0.body = .data(Data("q".utf8)) }
        #expect(try await texts(transport.cached().storedThenFresh(request)) == ["one"])
        #expect(transport.requests.count == 1)
    }

    @Test func failureOfTheServerIsThrownAfterTheStoredResponse() async throws {
        let transport = MockTransport([response("one"), .failure(.offline)])
        let network = transport.cached()
        _ = try await network.data(.lawful)
        var responses = network.storedThenFresh(.lawful).makeAsyncIterator()
        #expect(try await responses.next()?.text == "one")
        let error = await #expect(throws: NetworkingError.self) { try await responses.next() }
        #expect(error?.kind == .offline)
        #expect(try await responses.next() == nil)
    }

    @Test func nothingIsSentIfTheIterationEndsWithTheStoredResponse() async throws {
        let transport = MockTransport([response("one")])
        let network = transport.cached()
        _ = try await network.data(.lawful)
        for try await response in network.storedThenFresh(.lawful) {
            #expect(response.isCached)
            #expect(response.request == .lawful)
            break
        }
        #expect(transport.requests.count == 1)
    }

    @Test func cancelledReaderGetsCancellationError() async throws {
        let transport = MockTransport([response("one"), .never])
        let network = transport.cached()
        _ = try await network.data(.lawful)
        let reader = Task { try await texts(network.storedThenFresh(.lawful)) }
        try await transport.waitForRequests(2)
        reader.cancel()
        await #expect(throws: CancellationError.self) { try await reader.value }
        #expect(transport.active == 0)
    }

    @Test func sinkOfTheRequestIsNotUsed() async throws {
        let sink = CollectingSink()
        let network = MockTransport([response("one"), response("two")]).cached()
        _ = try await network.data(.lawful)
        #expect(try await texts(network.storedThenFresh(.lawful.with { $0.sink = sink })) == ["one", "two"])
        #expect(sink.data.isEmpty)
    }

    /// A part around the cache, such as a limiter of the app, may report progress for the stored response too.
    @Test func progressIsThatOfTheServersResponse() async throws {
        let reports = Journal()
        let reporting = Sending { request, upstream in
            request.progressHandler?(TransferProgress(sent: request.bytesToSend))
            return try await upstream.send(request)
        }
        let cached = MockTransport { _ in self.response("one") }.cached()
        _ = try await cached.data(.lawful)
        let request = HTTPRequestData.lawful
            .with { $0.progressHandler = { if $0.received.count == 0 { reports.note("started") } } }
        _ = try await texts(cached.modified(reporting).storedThenFresh(request))
        let single = Journal()
        let other = HTTPRequestData.lawful.with { request in
            request.cacheMode = .noCache
            request.progressHandler = { if $0.received.count == 0 { single.note("started") } }
        }
        _ = try await cached.modified(reporting).data(other)
        #expect(reports.entries == single.entries)
    }

    // MARK: Typed

    @Test func decodesBothResponses() async throws {
        let fields: HTTPFields = [.cacheControl: "max-age=10"]
        let transport = MockTransport([
            .json(User(name: "Emily")).headerFields(fields), .json(User(name: "Emma")).headerFields(fields),
        ])
        let network = transport.cached()
        _ = try await network.data(.lawful)
        var names: [String] = []
        var areStored: [Bool] = []
        for try await (user, response) in network.storedThenFresh(Request<User>(.lawful)) {
            names.append(user.name)
            areStored.append(response.isCached)
        }
        #expect(names == ["Emily", "Emma"])
        #expect(areStored == [true, false])
    }

    @Test func storedResponseThatCannotBeDecodedIsSkipped() async throws {
        let transport = MockTransport([response("no JSON"), .json(User(name: "Emily"))])
        let network = transport.cached()
        _ = try await network.data(.lawful)
        var names: [String] = []
        for try await (user, _) in network.storedThenFresh(Request<User>(.lawful)) {
            names.append(user.name)
        }
        #expect(names == ["Emily"])
    }

    @Test func freshResponseThatCannotBeDecodedIsAnError() async throws {
        let network = MockTransport([.text("no JSON")]).cached()
        var values = network.storedThenFresh(Request<User>(.lawful)).makeAsyncIterator()
        let error = await #expect(throws: NetworkingError.self) { _ = try await values.next() }
        #expect(error?.kind == .decoding)
        let next = try await values.next()
        #expect(next == nil)
    }
}
