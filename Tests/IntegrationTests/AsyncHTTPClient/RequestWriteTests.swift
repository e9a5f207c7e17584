#if AsyncHTTPClient && TestServer
import AsyncHTTPClient
import Foundation
import HTTPTypes
import Networking
@testable import NetworkingAsyncHTTPClient
import NetworkingTesting
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOSSL
import TestSupport
import Testing

extension Loopback {
    /// Requests of which a part cannot be written end at once, and other requests continue.
    @Suite(.tags(.concurrency, .memory), .timeLimit(.minutes(20)))
    struct RequestWriteTests {
        private static let field = HTTPField.Name("X-Large")!

        private static func request(fieldOf count: Int) -> HTTPRequestData {
            var request = HTTPRequestData(path: "version")
            request.headerFields[field] = String(repeating: "v", count: count)
            return request
        }

        /// The settings of a server over HTTP/2 that limits nothing else.
        private static func options(streams: Int = 100, frame: Int = 16_384) -> SecureOrigin.Options {
            var options = SecureOrigin.Options()
            options.settings = [
                HTTP2Setting(parameter: .maxConcurrentStreams, value: streams),
                HTTP2Setting(parameter: .maxFrameSize, value: frame),
                HTTP2Setting(parameter: .maxHeaderListSize, value: 1 << 20),
            ]
            return options
        }

        // MARK: Large heads

        /// The rejected requests are more than the streams of the connection.
        @Test func headLargerThanAFrameFailsAloneAndAtOnce() async throws {
            try await SecureClient.asyncHTTPClient.run(speaking: ["h2"], options: Self.options(streams: 3)) {
                network,
                origin in
                let (lines, continuation) = AsyncStream.makeStream(of: Data.self)
                continuation.yield(Data("1".utf8))
                let upload = HTTPRequestData(method: .post, path: "echo", body: .stream(lines))
                var echo = try await network.stream(upload).makeAsyncIterator()
                #expect(try await echo.next() == Data("1".utf8))
                let limited = network.timeout(.seconds(20))
                for _ in 1...10 {
                    let error = await #expect(throws: NetworkingError.self) {
                        try await limited.data(Self.request(fieldOf: 30_000))
                    }
                    #expect(error?.kind == .invalidRequest, "\(String(reflecting: error))")
                    #expect(error.map { "\($0)".contains("HTTP/2") } == true)
                    let next = try await limited.data(Self.request(fieldOf: 1_000))
                    #expect(next.data == Data("h2".utf8))
                }
                continuation.yield(Data("2".utf8))
                continuation.finish()
                #expect(try await echo.next() == Data("2".utf8))
                #expect(try await echo.next() == nil)
                #expect(origin.connections == 1)
            }
        }

        /// The encoded size of these heads passes the size of a frame.
        @Test func headsAreSentUpToTheSizeOfAFrame() async throws {
            try await SecureClient.asyncHTTPClient.run(speaking: ["h2"], options: Self.options()) { network, origin in
                let limited = network.timeout(.seconds(20))
                var isSent: [Bool] = []
                for count in stride(from: 18_400, to: 18_900, by: 10) {
                    do {
                        isSent.append(try await limited.data(Self.request(fieldOf: count)).data == Data("h2".utf8))
                    } catch let error as NetworkingError {
                        #expect(error.kind == .invalidRequest, "\(count): \(String(reflecting: error))")
                        isSent.append(false)
                    }
                }
                #expect(isSent.first == true && isSent.last == false)
                #expect(isSent.drop { $0 }.allSatisfy { !$0 }, "\(isSent)")
                #expect(origin.connections == 1)
            }
        }

        @Test func headLargerThanADefaultFrameIsSentToAServerWithLargerFrames() async throws {
            try await SecureClient.asyncHTTPClient.run(speaking: ["h2"], options: Self.options(frame: 1 << 17)) {
                network,
                _ in
                let limited = network.timeout(.seconds(20))
                let response = try await limited.data(Self.request(fieldOf: 100_000))
                #expect(response.data == Data("h2".utf8))
                let error = await #expect(throws: NetworkingError.self) {
                    try await limited.data(Self.request(fieldOf: 200_000))
                }
                #expect(error?.kind == .invalidRequest, "\(String(reflecting: error))")
            }
        }

        // MARK: Failing writes

        /// A body that AsyncHTTPClient receives as a whole, one that it reads, and one without an end.
        @Test(arguments: ["h2", "http/1.1"], RequestPart.allCases)
        func failedWriteEndsTheCall(version: String, part: RequestPart) async throws {
            let (chunks, continuation) = AsyncStream.makeStream(of: Data.self)
            continuation.yield(Data(count: 1_000))
            defer { continuation.finish() }
            let bodies = [RequestBody.data(Data(count: 1_000)), .data(Data(count: 300_000)), .stream(chunks)]
            for body in part == .end ? bodies.dropLast() : bodies {
                try await SecureOrigin.run(with: .trusted, speaking: [version]) { origin in
                    let url = try #require(URL(string: "https://127.0.0.1:\(origin.port)"))
                    let transport = AsyncHTTPClientTransport(configuration: try Self.configuration(failing: part))
                    try await transport.untilShutDown {
                        let network = transport.timeout(.seconds(20)).server(baseURL: url)
                        let error = await #expect(throws: NetworkingError.self) {
                            try await network.data(HTTPRequestData(method: .post, path: "accepted", body: body))
                        }
                        #expect(error?.kind == .connectionLost, "\(String(reflecting: error))")
                        let cause = error?.underlying
                        #expect(cause is FailedWrite || cause is FailingWrite.Failure, "\(String(reflecting: cause))")
                    }
                }
            }
        }

        /// A client in whose connections the write of a part fails.
        private static func configuration(failing part: RequestPart) throws -> HTTPClient.Configuration {
            var configuration = HTTPClient.Configuration.networking
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.trustRoots = .file(TestCertificates.authority)
            configuration.tlsConfiguration = tls
            func adding<Guard: ChannelHandler & SendableMetatype>(
                before type: Guard.Type,
                after own: (@Sendable (any Channel) -> EventLoopFuture<Void>)?
            ) -> @Sendable (any Channel) -> EventLoopFuture<Void> {
                { channel in
                    (own?(channel) ?? channel.eventLoop.makeSucceededVoidFuture())
                        .flatMapThrowing {
                            let pipeline = channel.pipeline.syncOperations
                            let handler = try pipeline.handler(type: type)
                            try pipeline.addHandler(FailingWrite(of: part), position: .before(handler))
                        }
                }
            }
            configuration.http1_1ConnectionDebugInitializer = adding(
                before: ConnectionGuard.self,
                after: configuration.http1_1ConnectionDebugInitializer
            )
            configuration.http2StreamChannelDebugInitializer = adding(
                before: EndGuard.self,
                after: configuration.http2StreamChannelDebugInitializer
            )
            return configuration
        }

        enum RequestPart: CaseIterable, Sendable {
            case head, body, end
        }
    }
}

/// Fails the write of a part of the request, and writes nothing after it.
private final class FailingWrite: ChannelOutboundHandler {
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    struct Failure: Error {}

    private let part: Loopback.RequestWriteTests.RequestPart
    private var hasFailed = false

    init(of part: Loopback.RequestWriteTests.RequestPart) {
        self.part = part
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch (part, unwrapOutboundIn(data)) {
        case (.head, .head), (.body, .body), (.end, .end): hasFailed = true
        default: break
        }
        if hasFailed {
            promise?.fail(Failure())
        } else {
            context.write(data, promise: promise)
        }
    }
}
#endif
