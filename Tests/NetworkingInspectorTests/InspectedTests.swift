import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingInspector

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct InspectedTests {
    private let inspector = NetworkInspector()
    private let clock = ManualClock()

    private var entries: [HAR.Entry] {
        inspector.archive.har.log.entries
    }

    private var summaries: [HAR.Summary] {
        entries.compactMap { $0.call?.summary }
    }

    @Test func keepsTheLaws() async throws {
        let wrap: @Sendable (AnyNetworkingComponent) -> AnyNetworkingComponent = { upstream in
            AnyNetworkingComponent(upstream.inspected(by: NetworkInspector()))
        }
        try await checkLaws(around: wrap)
        try await checkLaws { wrap(AnyNetworkingComponent($0.retry().deduplicated().cached().instrument())) }
        try await checkLaws { AnyNetworkingComponent(wrap($0).retry().deduplicated().cached().instrument()) }
    }

    // MARK: Recorded calls

    @Test func readsTheRouteOption() {
        var request = HTTPRequestData()
        request.route = "/users/{id}"
        let network = MockTransport().inspected(by: NetworkInspector())
        #expect(network.diagnostics(for: request) == [])
    }

    @Test func recordsTheSentRequestAndItsResponse() async throws {
        let transport = MockTransport([
            .json(["name": "Emily"]).delayed(by: .milliseconds(250))
        ])
        let network = transport.server(customHeaderField: "X-Client", "shop").inspected(by: inspector)
            .server(authority: "api.example.com").environment(\.clock, .manual(clock))
        let request = HTTPRequestData(
            method: .put,
            path: "users/7?language=en&page_token=x",
            body: .json(["name": "Emily"])
        )
        async let response = network.data(request)
        try await clock.advance(by: .milliseconds(250), afterSleepers: 1)
        _ = try await response

        let entry = try #require(entries.first)
        #expect(entries.count == 1)
        #expect(entry.startedDateTime == "2023-11-14T22:13:20.000Z")
        #expect(entry.time == 250)
        #expect(entry.timings.wait == 250)
        #expect(entry.request.method == "PUT")
        #expect(entry.request.url == "https://api.example.com/users/7?language=en&page_token=x")
        #expect(entry.request.queryString.map(\.name) == ["language", "page_token"])
        #expect(entry.request.headers.contains(HAR.Field(name: "X-Client", value: "shop")))
        #expect(entry.request.postData?.mimeType == "application/json")
        #expect(entry.request.postData?.text == #"{"name":"Emily"}"#)
        #expect(entry.request.bodySize == 16)
        #expect(entry.response.status == 200)
        #expect(entry.response.content.text == #"{"name":"Emily"}"#)
        #expect(entry.response.content.mimeType.hasPrefix("application/json"))
        #expect(entry.exchange?.number == 1)
        let summary = try #require(entry.call?.summary)
        #expect(summary.state == .response)
        #expect(summary.label == "\(request.id)")
        #expect((summary.status, summary.time, summary.attempts) == (200, 250, 1))
        #expect(summary.spans.first?.kind == "call")
        #expect(summary.spans.contains { $0.kind == "attempt" && $0.time == 250 })
        #expect(summary.spans.contains { $0.kind == "modifier" && $0.name == "server" })
    }

    @Test func recordsEachRetryAsAnExchangeWithItsBackoff() async throws {
        let transport = MockTransport([
            MockResponse(status: .serviceUnavailable, data: Data("busy".utf8)),
            .failure(NetworkingError(.connectionLost, request: .lawful)),
            .text("hello"),
        ])
        let network = transport.retry(.constant(.seconds(10))).inspected(by: inspector)
            .environment(\.clock, .immediate())
        try await network.data(.lawful)

        #expect(entries.map(\.response.status) == [503, 0, 200])
        #expect(entries.map(\.response.content.text) == ["busy", nil, "hello"])
        #expect(entries.map(\.exchange?.number) == [1, 2, 3])
        #expect(entries.map(\.timings.blocked) == [0, 10_000, 10_000])
        #expect(entries.map { $0.error?.kind } == [nil, "connectionLost", nil])
        #expect(Set(entries.map { $0.call?.id }).count == 1)
        let summary = try #require(summaries.first)
        #expect(summaries.count == 1)
        #expect((summary.attempts, summary.retries) == (3, 2))
        #expect(summary.spans.filter { $0.kind == "wait" }.map(\.name) == ["backoff", "backoff"])
        #expect(summary.response == nil)
    }

    @Test func recordsCustomEventsAsMarks() async throws {
        struct Compressed: NetworkingModifier {
            func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
                request.emit(CompressionEvent(count: 512))
                return try await upstream.send(request)
            }
        }

        struct CompressionEvent: NetworkEvent {
            let count: Int

            var record: EventRecord { EventRecord("compressed", "\(count) bytes") }
        }

        try await MockTransport { _ in .ok() }.modified(Compressed()).inspected(by: inspector).data(.lawful)

        #expect(summaries.first?.marks.map(\.name) == ["compressed(512 bytes)"])
    }

    @Test func showsDeprecationsAndProblemDetails() async throws {
        let json = #"{"title": "No credit.", "detail": "You have 3 EUR.", "token": "SECRET"}"#
        let fields: HTTPFields = [
            .contentType: "application/problem+json", HTTPField.Name("Deprecation")!: "@1688169599",
        ]
        let refused = MockResponse(status: .forbidden, data: Data(json.utf8), headerFields: fields)
        let network = MockTransport { _ in refused }.checkedStatusCode(as: ProblemDetails.self)
            .deprecationsReported().inspected(by: inspector).environment(\.logger, LogRecorder().logger())
        await #expect(throws: ProblemDetails.self) { try await network.data(.lawful) }

        #expect(summaries.first?.marks.map(\.name) == ["deprecated"])
        #expect(summaries.first?.error?.reason == "403 No credit.")
        let page = String(decoding: try inspector.archive.report(), as: UTF8.self)
        #expect(page.contains("You have 3 EUR."))
        #expect(!page.contains("SECRET"))
    }

    /// A cache of another package.
    private struct Looking: NetworkingModifier {
        let mark: EventMark

        struct Lookup: NetworkEvent {
            let record: EventRecord
        }

        func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
            request.emit(Lookup(record: EventRecord("lookup", mark: mark)))
            return try await upstream.send(request)
        }
    }

    @Test func redactsMarkedSecretsInMarks() async throws {
        var request = HTTPRequestData.lawful
        request.markSecret("k-4711")
        for kind in [.cacheHit, .cacheBypass] as [EventMark.Kind] {
            let network = MockTransport { _ in .ok() }.modified(Looking(mark: EventMark(kind, detail: "key k-4711")))
            try await network.inspected(by: inspector).data(request)
        }
        #expect(summaries.map(\.cache) == ["key <redacted>", "bypassed"])
        #expect(summaries.map(\.cacheReason) == [nil, "key <redacted>"])
        #expect(
            summaries.map { $0.marks.map(\.name) } == [["cacheHit (key <redacted>)"], ["cacheBypass (key <redacted>)"]]
        )
    }

    @Test func hitOfACacheOfAnotherPackageIsNotTakenForAMiss() async throws {
        let network = MockTransport { _ in .ok() }.modified(Looking(mark: EventMark(.cacheHit, detail: "missed")))
        try await network.inspected(by: inspector).data(.lawful)
        #expect(summaries.map(\.cache) == ["hit"])
    }

    @Test func recordsTheResultOfACacheOfAnotherPackage() async throws {
        let marks = [EventMark(.cacheHit, detail: "disk"), EventMark(.cacheHit), .cacheMiss, .cacheBypass(.vary)]
        for mark in marks {
            let transport = MockTransport { _ in .ok() }
            try await transport.modified(Looking(mark: mark)).inspected(by: inspector).data(.lawful)
        }

        #expect(summaries.map(\.cache) == ["disk", "hit", "missed", "bypassed"])
        #expect(summaries.map(\.cacheReason) == [nil, nil, nil, "vary"])
        #expect(
            summaries.map { $0.marks.map(\.name) } == [
                ["cacheHit (disk)"], ["cacheHit"], ["cacheMiss"], ["cacheBypass (vary)"],
            ]
        )
    }

    @Test func recordsEachRedirectAsAnExchange() async throws {
        let transport = MockTransport([.redirect(to: "/new?token=SECRET"), .text("there")])
        try await transport.inspected(by: inspector).data(.lawful)

        #expect(entries.map(\.response.status) == [302, 200])
        #expect(entries[0].response.redirectURL == "/new?token=%3Credacted%3E")
        #expect(entries[1].request.url.hasSuffix("/new?token=%3Credacted%3E"))
        #expect(summaries.first?.redirects == 1)
    }

    @Test func recordsAnExchangeForRevalidationAndNoneForACacheHit() async throws {
        let headers: HTTPFields = [.cacheControl: "max-age=60", .eTag: #""1""#]
        let transport = MockTransport([
            .ok(Data("hello".utf8), headerFields: headers), .status(.notModified, headerFields: headers),
        ])
        let network = transport.cached().inspected(by: inspector).environment(\.clock, .manual(clock))
        try await network.data(.lawful)
        try await network.data(.lawful)
        clock.advance(by: .seconds(61))
        try await network.data(.lawful)

        #expect(summaries.map(\.cache) == ["missed", "fresh", "revalidated"])
        #expect(summaries.map(\.attempts) == [1, 0, 1])
        #expect(entries.map(\.response.status) == [200, 200, 304])
        #expect(entries.map { $0.exchange != nil } == [true, false, true])
        #expect(entries[1].response.content.text == "hello")
        #expect(summaries[1].savedBytes == 5)
        #expect(summaries[2].status == 200)
        #expect(summaries[2].response?.content.text == "hello")
    }

    @Test func deduplicatedCallRecordsNoAttemptOfItsOwn() async throws {
        let origin = HeldOrigin("hello")
        let network = origin.transport.deduplicated().inspected(by: inspector)
        try await origin.sendTwoCalls(over: network, inspector)

        #expect(summaries.map(\.isShared) == [nil, true])
        #expect(summaries.map(\.attempts) == [1, 0])
        #expect(entries.map(\.response.content.text) == ["hello", "hello"])
        #expect(origin.transport.requests.count == 1)
    }

    /// A caller that shares an exchange sees the request that was sent, after the modifiers below changed it.
    @Test func recordsADeduplicatedRequestAsSent() async throws {
        let transport = MockTransport([.redirect(to: "/new"), .text("hello SECRET")])
        let network = transport.modified(Marking()).deduplicated().inspected(by: inspector)
        try await network.data(.lawful)
        #expect(entries.map(\.request.url.last) == ["k", "w"])
        #expect(entries[0].request.headers == [HAR.Field(name: "X-Inner", value: "of <redacted>")])
        #expect(entries[1].response.content.text == "hello <redacted>")
        #expect(String(decoding: try inspector.archive.encoded(), as: UTF8.self).contains("SECRET") == false)
    }

    @Test func recordsTheErrorKindOfAFailedCall() async throws {
        let transport = MockTransport([
            .status(.notFound), .failure(NetworkingError(.timeout, request: .lawful)),
        ])
        let network = transport.checkedStatusCode().inspected(by: inspector)
        await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
        await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }

        #expect(summaries.map(\.state) == [.failure, .failure])
        #expect(summaries.map { $0.error?.kind } == ["status", "timeout"])
        #expect(summaries.map(\.status) == [404, nil])
        #expect(entries.map(\.response.status) == [404, 0])
        #expect(entries[1].error?.reason.isEmpty == false)
    }

    /// The timeout cancels the exchange, but no caller cancelled it.
    @Test func recordsATimedOutAttemptAsATimeout() async throws {
        let network = MockTransport([.ok().delayed(by: .seconds(9))]).timeout(.seconds(5)).inspected(by: inspector)
            .environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }
        try await clock.advance(by: .seconds(5), afterSleepers: 2)
        await #expect(throws: NetworkingError.self) { try await call.value }

        #expect(entries.map { $0.error?.kind } == ["timeout"])
        #expect(entries.first?.error?.reason == "It timed out after 5000.0 ms.")
        #expect(summaries.first?.state == .failure)
        #expect(summaries.first?.error?.kind == "timeout")
    }

    @Test func recordsACancelledCallAsCancelled() async throws {
        let arrival = Suspension<Void>()
        let network = MockTransport { _ in
            arrival.resume()
            try await Suspension<Void>().value()
            return .ok()
        }
        .inspected(by: inspector)
        let call = Task { try await network.data(.lawful) }
        try await arrival.value()
        #expect(summaries.map(\.state) == [.pending])
        #expect(summaries.map(\.attempts) == [1])
        #expect(entries.map(\.response.status) == [0])
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }

        #expect(summaries.map(\.state) == [.cancelled])
        #expect(entries.first?.error?.kind == "cancelled")
    }

    @Test func passesErrorsAndResponsesThroughUnchanged() async throws {
        struct OwnError: Error {}
        let network = MockTransport([.text("hello"), .failure(OwnError())]).inspected(by: inspector)
        let response = try await network.data(.lawful)
        #expect(response.data == Data("hello".utf8))
        // The inspector measures for itself and does not pass the metrics to the caller.
        #expect(response.metrics == nil)
        await #expect(throws: OwnError.self) { try await network.data(.lawful) }
        #expect(summaries.last?.error == HAR.Failure(kind: "failed", reason: "OwnError"))
    }

    /// A secret marked by an inner modifier is redacted for every call that shares the exchange.
    ///
    /// A secret marked by the caller is redacted too.
    @Test func redactsSecretsMarkedByModifiersAndCallers() async throws {
        let origin = HeldOrigin("SECRET and MINE")
        let network = origin.transport.modified(Marking()).deduplicated().inspected(by: inspector)
        try await origin.sendTwoCalls(over: network, inspector)
        try await MockTransport { _ in .text("SECRET and MINE") }.modified(Marking()).inspected(by: inspector)
            .data(
                .lawful.with {
                    $0.markSecret("MINE")
                    $0.query.q = "MINE"
                }
            )

        #expect(
            entries.map(\.response.content.text) == [
                "<redacted> and MINE", "<redacted> and MINE", "<redacted> and <redacted>",
            ]
        )
        #expect(summaries.last?.url.hasSuffix("q=%3Credacted%3E") == true)
    }

    /// Recorded calls can hold file names, body streams and listeners of the app.
    @Test func releasesItsCallsWithTheInspector() async throws {
        weak var weakShelf: CallShelf?
        do {
            let inspector = NetworkInspector()
            weakShelf = inspector.shelf
            try await MockTransport { _ in .text("hello") }.inspected(by: inspector).data(.lawful)
            #expect(inspector.callCount == 1)
        }
        #expect(weakShelf == nil)
    }

    @Test func releasesTheListenersOfFinishedCalls() async throws {
        final class Listener: NetworkEventObserver {
            func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {}
        }
        weak var weakListener: Listener?
        do {
            let listener = Listener()
            weakListener = listener
            try await MockTransport { _ in .ok() }.inspected(by: inspector)
                .data(.lawful.with { $0.addObserver(listener) })
        }
        #expect(inspector.callCount == 1)
        #expect(weakListener == nil)
    }

    // MARK: Bodies

    @Test func omitsBodiesAboveTheLimit() async throws {
        let inspector = NetworkInspector(bodyLimit: 4)
        let transport = MockTransport { _ in .text("hello") }
        let network = transport.inspected(by: inspector)
        try await network.data(.lawful.with { $0.body = .data(Data("12345".utf8), contentType: "text/plain") })

        let entry = try #require(inspector.archive.har.log.entries.first)
        #expect(entry.response.content.text == nil)
        #expect(entry.response.content.size == 5)
        #expect(entry.response.content.comment == "not kept: 5 bytes, more than the limit of 4")
        #expect(entry.request.postData?.comment == "not kept: 5 bytes, more than the limit of 4")
        #expect(entry.request.bodySize == 5)
    }

    @Test func evictsTheOldestBodiesBeforeTheOldestCalls() async throws {
        let inspector = NetworkInspector(keeping: 3, maximumBytes: 250_000)
        let text = String(repeating: "x", count: 100_000)
        let transport = MockTransport { _ in .text(text) }
        let network = transport.inspected(by: inspector)
        for index in 1...4 {
            try await network.data(.lawful.with { $0.query.page = "\(index)" })
        }
        let entries = inspector.archive.har.log.entries
        #expect(entries.map { $0.request.queryString.first?.value } == ["2", "3", "4"])
        #expect(entries.map(\.response.content.text) == [nil, text, text])
        #expect(entries[0].response.content.comment == "no longer kept: later bodies needed the space")
        #expect(entries[0].response.content.size == 100_000)
        // The bodies are released, not only left out of the archive.
        let kept = inspector.shelf.captures.first?.snapshot.state
        #expect(kept?.exchanges.first?.response?.body.keptBytes == 0)
        guard case .success(let response)? = kept?.end?.result else {
            Issue.record("no response")
            return
        }
        #expect(response.body.keptBytes == 0)
    }

    /// The text of multipart parts counts against the memory limit like any other body.
    @Test func evictsMultipartBodiesToo() async throws {
        let inspector = NetworkInspector(maximumBytes: 50_000)
        let body = RequestBody.multipart([.text(String(repeating: "Holiday", count: 10_000), name: "title")])
        try await MockTransport { _ in .ok() }.inspected(by: inspector)
            .data(
                .lawful.with {
                    $0.method = .post
                    $0.body = body
                }
            )
        let postData = inspector.archive.har.log.entries.first?.request.postData
        #expect(postData?.params == nil)
        #expect(postData?.comment == "no longer kept: later bodies needed the space")
    }

    @Test func recordsBinaryBodiesInBase64AndPartsByName() async throws {
        let bytes = Data([0, 1, 2, 255])
        let transport = MockTransport { _ in .ok(bytes, headerFields: [.contentType: "image/png"]) }
        let body = RequestBody.multipart([
            .text("Holiday", name: "title"), .text("SECRET", name: "password"),
            .data(bytes, name: "photo", fileName: "a.png", contentType: "image/png"),
        ])
        try await transport.inspected(by: inspector)
            .data(
                .lawful.with {
                    $0.method = .post
                    $0.body = body
                }
            )

        let entry = try #require(entries.first)
        #expect(entry.response.content.encoding == "base64")
        #expect(entry.response.content.data == bytes)
        let parts = try #require(entry.request.postData?.params)
        #expect(parts.map(\.name) == ["title", "password", "photo"])
        #expect(parts.map(\.value) == ["Holiday", "<redacted>", nil])
        #expect(parts.last?.fileName == "a.png")
    }

    @Test func recordsTheByteCountOfABodySentToASink() async throws {
        try await Delivering().inspected(by: inspector).data(.lawful)
        #expect(entries.first?.response.content.comment == "not kept: 5 bytes went to the request's sink")
        #expect(entries.first?.response.content.size == 5)
    }

    private struct Delivering: NetworkingTransport {
        func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
            HTTPResponseData(request: request, http: HTTPResponse(status: .ok), body: .delivered(byteCount: 5))
        }
    }

    @Test func listsCookiesWithRedactedValues() async throws {
        let setCookie = "id=SECRET; Path=/; Expires=Sun, 06 Nov 1994 08:49:37 GMT; HttpOnly; Secure"
        let transport = MockTransport { _ in .ok(headerFields: [.setCookie: setCookie]) }
        try await transport.inspected(by: inspector).data(.lawful.with { $0.headerFields[.cookie] = "id=SECRET" })

        let entry = try #require(entries.first)
        var cookie = HAR.Cookie(name: "id", value: "<redacted>")
        (cookie.path, cookie.httpOnly, cookie.secure) = ("/", true, true)
        cookie.expires = "1994-11-06T08:49:37.000Z"
        #expect(entry.response.cookies == [cookie])
        #expect(entry.request.cookies == [HAR.Cookie(name: "id", value: "<redacted>")])
        #expect(entry.request.headers.contains(HAR.Field(name: "Cookie", value: "<redacted>")))
    }

    // MARK: Pausing and clearing

    @Test func recordsNothingWhilePaused() async throws {
        let network = MockTransport { _ in .ok() }.inspected(by: inspector)
        inspector.pause()
        #expect(inspector.isPaused)
        try await network.data(.lawful)
        #expect(inspector.callCount == 0)
        inspector.resume()
        try await network.data(.lawful)
        #expect(inspector.callCount == 1)
        inspector.clear()
        #expect(inspector.callCount == 0)
    }

    /// A call in flight during clearing leaves no record, and its caller still gets the response.
    @Test func ignoresACallThatEndsAfterClearing() async throws {
        let origin = HeldOrigin("hello")
        let network = origin.transport.inspected(by: inspector)
        async let response = network.data(.lawful)
        try await origin.arrival.value()
        inspector.clear()
        origin.gate.resume()
        #expect(try await response.status == .ok)
        #expect(inspector.callCount == 0)
    }

    /// An origin that holds its response until a gate opens.
    private struct HeldOrigin {
        let transport: MockTransport
        /// Resumed when the request has arrived.
        let arrival = Suspension<Void>()
        let gate = Suspension<Void>()

        init(_ text: String) {
            transport = MockTransport { [arrival, gate] _ in
                arrival.resume()
                try await gate.value()
                return .text(text)
            }
        }

        /// Sends two calls, of which the second shares the exchange of the first.
        func sendTwoCalls(over network: some NetworkingComponent, _ inspector: NetworkInspector) async throws {
            async let first = network.data(.lawful)
            try await arrival.value()
            async let second = network.data(.lawful)
            // The second call has joined once its own record says that it follows another call.
            try await eventually("inspector.shelf.captures.last?.snapshot.state.isFollowing == true") {
                inspector.shelf.captures.last?.snapshot.state.isFollowing == true
            }
            gate.resume()
            _ = try await (first, second)
        }
    }

    private struct Marking: NetworkingModifier {
        func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
            try await upstream.send(
                request.with {
                    $0.headerFields[HTTPField.Name("X-Inner")!] = "of SECRET"
                    $0.markSecret("SECRET")
                }
            )
        }
    }

    @Test func dumpContainsNoSecret() async throws {
        let network = MockTransport { _ in .text("SECRET") }.inspected(by: inspector)
        try await network.data(.lawful.with { $0.query.token = "SECRET" })
        var text = "\(inspector) \(inspector.archive) "
        dump(inspector, to: &text)
        dump(inspector.archive, to: &text)
        #expect(!text.contains("SECRET"))
    }
}
