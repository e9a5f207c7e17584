import Connect
import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

@Suite struct ConnectClientTests {
    private let url = URL(string: "https://api.example.com/shop.v1.OrderService/GetOrder")!

    private func request(
        _ message: Data? = Data("{}".utf8),
        idempotencyLevel: IdempotencyLevel = .unknown
    ) -> Connect.HTTPRequest<Data?> {
        Connect.HTTPRequest(
            url: url,
            headers: ["content-type": ["application/json"], "accept-encoding": ["gzip", "br"]],
            message: message,
            method: .post,
            trailers: nil,
            idempotencyLevel: idempotencyLevel
        )
    }

    private func unary(
        _ request: Connect.HTTPRequest<Data?>,
        over network: some NetworkingComponent
    ) async -> Connect.HTTPResponse {
        await withCheckedContinuation { continuation in
            StackHTTPClient(over: network)
                .unary(request: request) { _ in
                } onResponse: {
                    continuation.resume(returning: $0)
                }
        }
    }

    @Test func sendsAUnaryCallThroughTheStack() async throws {
        let transport = MockTransport { _ in .json(["id": 7]) }
        let response = await unary(request(), over: transport)
        #expect(response.code == .ok)
        #expect(response.message == Data(#"{"id":7}"#.utf8))
        #expect(response.headers["content-type"] == ["application/json"])
        #expect(response.tracingInfo?.httpStatus == 200)
        let sent = try #require(transport.requests.first)
        #expect(sent.url == url)
        #expect(sent.route == "/shop.v1.OrderService/GetOrder")
        #expect(sent.headerFields[.acceptEncoding] == "gzip, br")
        #expect(sent.body?.data == Data("{}".utf8))
    }

    @Test func failureStatusIsAResponse() async {
        let response = await unary(
            request(),
            over: MockTransport { _ in .status(.serviceUnavailable) }.checkedStatusCode()
        )
        #expect(response.code == .unavailable)
        #expect(response.error == nil)
    }

    @Test(arguments: [
        (NetworkingError.Kind.offline, Code.unavailable), (.timeout, .deadlineExceeded), (.rejected, .unavailable),
        (.tooLarge, .resourceExhausted), (.tls, .unknown),
    ])
    func errorOfTheStackHasACode(kind: NetworkingError.Kind, code: Code) async {
        let response = await unary(request(), over: MockTransport { _ in .failure(kind) })
        #expect(response.code == code)
        #expect((response.error as? ConnectError)?.exception?.networkingError?.kind == kind)
    }

    @Test func idempotentCallIsRetried() async {
        let transport = MockTransport([.failure(.connectionLost), .json(["id": 7])])
        let network = transport.retry().environment(\.clock, .immediate())
        #expect(await unary(request(idempotencyLevel: .noSideEffects), over: network).code == .ok)
        #expect(transport.requests.count == 2)
    }

    @Test func cancelledCallHasTheCodeOfACancellation() async {
        let response: Connect.HTTPResponse = await withCheckedContinuation { continuation in
            let call = StackHTTPClient(over: MockTransport([.chunks([.hang])]))
                .unary(request: request()) { _ in
                } onResponse: {
                    continuation.resume(returning: $0)
                }
            call.cancel()
        }
        #expect(response.code == .canceled)
    }

    @Test func streamsInBothDirections() async throws {
        enum Event: Equatable, Sendable {
            case headers(String?)
            case data(String)
            case close(Code)
        }

        let (events, continuation) = AsyncStream.makeStream(of: Event.self)
        let transport = MockTransport([
            .chunks(["one", "two"], headerFields: [.contentType: "application/connect+json"])
        ])
        let stream = StackHTTPClient(over: transport)
            .stream(
                request: request(nil),
                responseCallbacks: ResponseCallbacks { headers in
                    continuation.yield(.headers(headers["content-type"]?.first))
                } receiveResponseData: { data in
                    continuation.yield(.data(String(decoding: data, as: UTF8.self)))
                } receiveResponseMetrics: { _ in
                } receiveClose: { code, _, _ in
                    continuation.yield(.close(code))
                    continuation.finish()
                }
            )
        stream.sendData(Data("a".utf8))
        stream.sendData(Data("b".utf8))
        stream.sendClose()
        var all: [Event] = []
        for await event in events {
            all.append(event)
        }
        #expect(all == [.headers("application/connect+json"), .data("one"), .data("two"), .close(.ok)])
        #expect(transport.requests.first?.body?.data == Data("ab".utf8))
    }
}
