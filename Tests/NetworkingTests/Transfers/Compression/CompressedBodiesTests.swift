import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingTransfers

/// Bodies in content codings, over a server that accepts or refuses them.
@Suite(.timeLimit(.minutes(20)))
struct CompressedBodiesTests {
    private static let text = Data(String(repeating: #"{"name": "Emily", "city": "Emden"},"#, count: 100).utf8)

    /// Leaves out spaces, and marks the end, so that a test can read the result.
    private struct Spaceless: ContentEncoder {
        mutating func encode(_ bytes: Data) throws -> Data {
            bytes.filter { $0 != UInt8(ascii: " ") }
        }

        mutating func finish() throws -> Data {
            Data("!".utf8)
        }
    }

    private struct Unable: ContentEncoder {
        struct Fault: Error {}

        mutating func encode(_ bytes: Data) throws -> Data {
            throw Fault()
        }

        mutating func finish() throws -> Data {
            throw Fault()
        }
    }

    private static let spaceless = ContentCoding("x-spaceless", encoder: { Spaceless() })
    private static let other = ContentCoding("x-other", encoder: { Spaceless() })
    private static let coded = Data(text.filter { $0 != UInt8(ascii: " ") } + "!".utf8)

    private let events = EventRecorder()

    private func post(
        _ body: RequestBody = .data(text, contentType: "application/json"),
        host: String = "api.example.com",
        _ fields: HTTPFields = [:]
    ) -> HTTPRequestData {
        HTTPRequestData(
            method: .post,
            scheme: "https",
            authority: host,
            path: "/",
            headerFields: HeaderFields(fields),
            body: body
        )
    }

    private func refusal(_ accepted: String?) -> MockResponse {
        MockResponse(
            status: .unsupportedMediaType,
            headerFields: accepted.map { [.acceptEncoding: $0] } ?? [:]
        )
    }

    private func codings(of transport: MockTransport) -> [String?] {
        transport.requests.map { $0.headerFields[.contentEncoding] }
    }

    // MARK: Bodies

    @Test func compressesABodyInMemory() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = transport.compressedBodies().observed(by: events)
        try await network.data(post())
        let sent = try #require(transport.requests.first)
        #expect(sent.headerFields[.contentEncoding] == "gzip")
        #expect(sent.headerFields[.contentType] == "application/json")
        let body = try #require(sent.body?.data)
        #expect(body.prefix(2) == Data([0x1F, 0x8B]))
        #expect(body.count < Self.text.count / 10)
        let lengths = events.events.compactMap { event -> [Int]? in
            if case ContentCodingEvent.compressed("gzip", let before, let after) = event {
                [before, after]
            } else {
                nil
            }
        }
        #expect(lengths == [[Self.text.count, body.count]])
    }

    @Test func compressesAStreamAndAFile() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "report.json")
            try Self.text.write(to: file)
            let halves = [Self.text.prefix(1_000), Self.text.dropFirst(1_000)].map { Data($0) }
            let stream = RequestBody.stream(contentType: "text/plain") {
                AsyncStream<Data> { continuation in
                    for half in halves { continuation.yield(half) }
                    continuation.finish()
                }
            }
            let transport = MockTransport { _ in .ok() }
            let network = transport.compressedBodies(with: [Self.spaceless])
            for body in [stream, .file(file)] {
                try await network.data(post(body))
            }
            #expect(transport.requests.map { $0.body?.data } == [Self.coded, Self.coded])
            #expect(codings(of: transport) == ["x-spaceless", "x-spaceless"])
            #expect(transport.requests.map { $0.headerFields[.contentType] } == ["text/plain", "application/json"])
        }
    }

    @Test func repeatsAStreamThatCanBeCreatedAgain() async throws {
        let transport = MockTransport([.status(.serviceUnavailable), .ok()])
        let network = transport.retry(.immediate()).compressedBodies(with: [Self.spaceless])
        let body = RequestBody.stream(contentType: "text/plain") {
            AsyncStream<Data> { continuation in
                continuation.yield(Self.text)
                continuation.finish()
            }
        }
        try await network.data(post(body).with { $0.isIdempotent = true })
        #expect(transport.requests.map { $0.body?.data } == [Self.coded, Self.coded])
    }

    @Test func doesNotCompressTwice() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = transport.compressedBodies().compressedBodies(with: [Self.spaceless])
        try await network.data(post())
        #expect(codings(of: transport) == ["x-spaceless"])
    }

    @Test(arguments: [
        ["Content-Encoding": "br"], ["Content-Range": "bytes 0-9/99"], ["Content-Digest": "sha-256=:AA==:"],
        ["Repr-Digest": "sha-256=:AA==:"], ["Content-MD5": "AA=="], ["Upload-Offset": "0"], ["Tus-Resumable": "1.0.0"],
    ])
    func passesRequestsThatDescribeTheirBytes(fields: [String: String]) async throws {
        let transport = MockTransport { _ in .ok() }
        var headerFields: HTTPFields = [:]
        for (name, value) in fields { headerFields[try #require(HTTPField.Name(name))] = value }
        try await transport.compressedBodies()
            .data(post(.data(Self.text, contentType: "text/plain"), headerFields))
        #expect(transport.requests.first?.body?.data == Self.text)
    }

    @Test func passesBodiesThatWouldNotBecomeShorter() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = transport.compressedBodies()
        var random = SeededRandom(seed: 1)
        let noise = Data((0..<2_000).map { _ in UInt8.random(in: .min ... .max, using: &random) })
        let bodies: [RequestBody] = [
            .data(Self.text.prefix(1_023), contentType: "text/plain"), .data(noise, contentType: "text/plain"),
            .data(Self.text, contentType: "image/png"), .data(Self.text),
        ]
        for body in bodies {
            try await network.data(post(body))
        }
        try await network.data(HTTPRequestData(url: URL(string: "https://api.example.com")!))
        #expect(codings(of: transport) == [nil, nil, nil, nil, nil])
        #expect(transport.requests.map { $0.body?.data } == bodies.map(\.data) + [nil])
    }

    @Test func conditionDecidesInsteadOfTheMediaType() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = transport.compressedBodies(minimumBytes: 0) { $0.path == "/" }
        try await network.data(post(.data(Self.text)))
        try await network.data(post().with { $0.path = "/other" })
        #expect(codings(of: transport) == ["gzip", nil])
    }

    @Test(
        arguments: [
            ("text/csv", true), ("TEXT/PLAIN; charset=utf-8", true), ("application/problem+json", true),
            ("image/svg+xml", true), ("application/json;q=1", true), ("image/png", false), ("video/mp4", false),
            ("application/zip", false), ("application/octet-stream", false), ("", false),
        ]
    )
    func mediaTypeDecides(type: String, expected: Bool) {
        #expect(CompressedBodies.isCompressible(type) == expected)
    }

    @Test func reportsAnEncoderThatFails() async throws {
        let transport = MockTransport { _ in .ok() }
        let unable = ContentCoding("x-unable", encoder: { Unable() })
        let network = transport.compressedBodies(with: [unable])
        let stream = RequestBody.stream(contentType: "text/plain") { AsyncStream<Data> { $0.yield(Self.text) } }
        for body in [RequestBody.data(Self.text, contentType: "text/plain"), stream] {
            let error = await #expect(throws: NetworkingError.self) { try await network.data(post(body)) }
            #expect(error?.kind == .unencodableBody)
        }
    }

    // MARK: Refusals

    @Test func resendsThePlainBodyAfter415AndRemembersIt() async throws {
        let transport = MockTransport { request in
            request.headerFields.contains(.contentEncoding) ? refusal(nil) : .ok()
        }
        let clock = ManualClock()
        let network = transport.compressedBodies().observed(by: events).environment(\.clock, .manual(clock))
        #expect(try await network.data(post()).status == .ok)
        #expect(codings(of: transport) == ["gzip", nil])
        #expect(transport.requests.last?.body?.data == Self.text)
        #expect(events.names.filter { $0 == "codingRefused" }.count == 1)
        try await network.data(post())
        #expect(codings(of: transport) == ["gzip", nil, nil])
        // Another origin has not refused anything.
        try await network.data(post(host: "other.example.com"))
        #expect(codings(of: transport) == ["gzip", nil, nil, "gzip", nil])
        clock.advance(by: .seconds(3_601))
        try await network.data(post())
        #expect(codings(of: transport).suffix(2) == ["gzip", nil])
    }

    @Test func returnsA415AboutTheMediaType() async throws {
        let transport = MockTransport { _ in refusal(nil) }
        let network = transport.compressedBodies()
        for _ in 0..<2 {
            #expect(try await network.data(post()).status == .unsupportedMediaType)
        }
        #expect(codings(of: transport) == ["gzip", nil, "gzip", nil])
        let accepting = MockTransport { _ in refusal("gzip") }
        #expect(try await accepting.compressedBodies().data(post()).status == .unsupportedMediaType)
        #expect(codings(of: accepting) == ["gzip"])
    }

    @Test func choosesACodingThatTheServerNames() async throws {
        let transport = MockTransport { request in
            request.headerFields[.contentEncoding] == "x-other" ? .ok() : refusal("x-other, gzip;q=0")
        }
        let network = transport.compressedBodies(with: [.gzip, Self.spaceless, Self.other])
        try await network.data(post())
        try await network.data(post())
        // The second one was not refused before.
        #expect(codings(of: transport) == ["gzip", "x-other", "x-spaceless", "x-other"])
        try await network.data(post())
        #expect(codings(of: transport).last == "x-other")
    }

    @Test(arguments: ["identity", "", "br;q=1", "gzip;q=0, *;q=0", "\u{7F},,;;=q"])
    func sendsPlainBodiesToAServerThatNamesNoCoding(field: String) async throws {
        let transport = MockTransport { _ in refusal(field) }
        let network = transport.compressedBodies(with: [.gzip, .deflate])
        #expect(try await network.data(post()).status == .unsupportedMediaType)
        #expect(codings(of: transport) == ["gzip", nil])
    }

    /// A server may name its codings in any response (RFC 7694 section 3).
    @Test func remembersTheCodingsOfASuccess() async throws {
        let transport = MockTransport { _ in .ok(headerFields: [.acceptEncoding: "br"]) }
        let network = transport.compressedBodies()
        try await network.data(post())
        try await network.data(post())
        #expect(codings(of: transport) == ["gzip", nil])
    }

    @Test func returnsThe415OfABodyThatCannotBeSentAgain() async throws {
        let transport = MockTransport { _ in refusal("identity") }
        let network = transport.compressedBodies()
        let chunks = AsyncStream<Data> { continuation in
            continuation.yield(Self.text)
            continuation.finish()
        }
        let body = RequestBody.stream(chunks, contentType: "text/plain")
        #expect(try await network.data(post(body)).status == .unsupportedMediaType)
        #expect(codings(of: transport) == ["gzip"])
        try await network.data(post())
        #expect(codings(of: transport) == ["gzip", nil])
    }

    @Test func returnsThe415IfAnotherUserHasSignedIn() async throws {
        let transport = MockTransport { _ in refusal("identity") }
        let network = transport.modified(SigningOut()).compressedBodies()
        #expect(try await network.data(post()).status == .unsupportedMediaType)
        #expect(codings(of: transport) == ["gzip"])
    }

    @Test func findsThe415BehindAnError() async throws {
        let transport = MockTransport { request in
            request.headerFields.contains(.contentEncoding) ? refusal(nil) : .ok()
        }
        let network = transport.checkedStatusCode().compressedBodies()
        #expect(try await network.data(post()).status == .ok)
    }

    @Test func eventsNameTheCoding() {
        let compressed = ContentCodingEvent.compressed(coding: "gzip", from: 9, to: 1)
        #expect(compressed.record.description == "bodyCompressed(gzip, from: 9, to: 1)")
        #expect(ContentCodingEvent.refused(coding: "gzip").record.description == "codingRefused(gzip)")
    }

    // MARK: Places

    @Test func diagnosticsReportAPlaceInsideASignature() {
        let network = MockTransport { _ in .ok() }.compressedBodies().modified(Signing())
        #expect(network.diagnostics.contains { "\($0)".contains("inside signed") })
        #expect(MockTransport { _ in .ok() }.modified(Signing()).compressedBodies().diagnostics.isEmpty)
    }

    private struct Signing: NetworkingModifier {
        var stackPart: StackPart { StackPart(roles: [.signing]) }
    }
}
