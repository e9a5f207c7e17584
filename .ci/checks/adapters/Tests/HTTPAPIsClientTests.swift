import BasicContainers
import Foundation
import HTTPAPIs
import Networking
import NetworkingTesting
import Synchronization
import Testing

@Suite struct HTTPAPIsClientTests {
    private let put = HTTPRequest(
        method: .put,
        scheme: "https",
        authority: "api.example.com",
        path: "/film",
        headerFields: [.contentType: "video/mp4"]
    )
    private let get = HTTPRequest(method: .get, scheme: "https", authority: "api.example.com", path: "/film")

    private typealias Body = HTTPClientRequestBody<StackClient.Writer>

    /// Returns the status and the body of a response as text.
    private func text(
        _ request: HTTPRequest,
        _ body: Body? = nil,
        over network: some NetworkingComponent
    ) async throws -> (Int, String) {
        var client = StackClient(over: network)
        return try await client.perform(request: request, body: body) { response, reader in
            var reader = reader
            var bytes: [UInt8] = []
            var isOver = false
            while !isOver {
                isOver = try await reader.read { buffer, end in
                    var drain = buffer.consumeAll()
                    while let byte = drain.next() { bytes.append(byte) }
                    return end != nil
                }
            }
            return (response.status.code, String(decoding: bytes, as: UTF8.self))
        }
    }

    private func seekable(_ text: String, length: Int64?) -> Body {
        .seekable(knownLength: length) { offset, writer in
            var writer = writer
            var first = UniqueArray(copying: text.utf8.dropFirst(Int(offset)).prefix(2))
            try await writer.write(buffer: &first)
            var rest = UniqueArray(copying: text.utf8.dropFirst(Int(offset) + 2))
            try await writer.finish(buffer: &rest, finalElement: nil)
        }
    }

    @Test func streamsABodyInBothDirections() async throws {
        let transport = MockTransport([.chunks(["one", "two"])])
        let (status, text) = try await text(put, seekable("Hello", length: 5), over: transport)
        #expect(status == 200)
        #expect(text == "onetwo")
        #expect(transport.requests.first?.body?.data == Data("Hello".utf8))
        #expect(transport.requests.first?.headerFields[.contentType] == "video/mp4")
    }

    @Test func failureIsAResponse() async throws {
        let (status, text) = try await text(get, over: MockTransport([.chunks(["why"], status: .notFound)]))
        #expect(status == 404)
        #expect(text == "why")
    }

    @Test func restartableBodyIsWrittenAgainByRetry() async throws {
        let times = Mutex(0)
        let body = Body.restartable { writer in
            times.withLock { $0 += 1 }
            var bytes = UniqueArray(copying: "Hello".utf8)
            try await writer.finish(buffer: &bytes, finalElement: nil)
        }
        let transport = MockTransport([.status(.serviceUnavailable), .ok()])
        let network = transport.retry().environment(\.clock, .immediate())
        #expect(try await text(put, body, over: network).0 == 200)
        #expect(times.withLock { $0 } == 2)
        #expect(transport.requests.map { $0.body?.data } == [Data("Hello".utf8), Data("Hello".utf8)])
    }

    @Test(arguments: [3, 7] as [Int64])
    func wrongLengthIsAnError(length: Int64) async {
        let error = await #expect(throws: NetworkingError.self) {
            try await text(put, seekable("Hello", length: length), over: MockTransport { _ in .ok() })
        }
        #expect(error?.kind == .unencodableBody)
    }

    @Test func negativeLengthIsAnError() async {
        let body = seekable("Hello", length: -1)
        await #expect(throws: StackClientError.negativeLength) {
            try await text(put, body, over: MockTransport { _ in .ok() })
        }
    }

    @Test func bodyWithoutAnEndIsAnError() async {
        let body = Body.restartable { writer in
            var writer = writer
            var bytes = UniqueArray(copying: "Hello".utf8)
            try await writer.write(buffer: &bytes)
        }
        let error = await #expect(throws: NetworkingError.self) {
            try await text(put, body, over: MockTransport { _ in .ok() })
        }
        #expect(error?.underlying as? StackClientError == .unfinishedBody)
    }

    @Test func trailersAreAnError() async {
        let body = Body.restartable { writer in
            var bytes = UniqueArray(copying: "Hello".utf8)
            try await writer.finish(buffer: &bytes, finalElement: [.eTag: "1"])
        }
        let error = await #expect(throws: NetworkingError.self) {
            try await text(put, body, over: MockTransport { _ in .ok() })
        }
        #expect(error?.underlying as? StackClientError == .trailers)
    }

    @Test func handlerThatReadsNothingEndsTheExchange() async throws {
        let transport = MockTransport([.chunks(["one", .hang])])
        var client = StackClient(over: transport)
        let status = try await client.perform(request: get) { response, _ in response.status.code }
        #expect(status == 200)
        for _ in 0..<1_000 where transport.ended == 0 {
            await Task.yield()
        }
        #expect(transport.ended == 1)
    }

    @Test func optionsNameTheRoute() async throws {
        let transport = MockTransport { _ in .ok() }
        var client = StackClient(over: transport)
        let options = StackClient.RequestOptions(route: "/film")
        _ = try await client.perform(request: get, options: options) { response, _ in response.status.code }
        #expect(transport.requests.first?.route == "/film")
    }
}
