#if AsyncHTTPClient && TestServer
import Foundation
import HTTPTypes
import Networking
import NetworkingTestServer
import NetworkingTesting
import TestSupport
import Testing

extension Loopback {
    /// TLS exchanges that only AsyncHTTPClient supports: concurrent request and response bodies, and invalid responses.
    @Suite(.tags(.concurrency, .memory), .timeLimit(.minutes(20)))
    struct AsyncHTTPClientSecureTransportTests {
        /// The response arrives while the body is being sent, and each side waits for the other.
        @Test(arguments: ["h2", "http/1.1"])
        func sendsAndReceivesAtTheSameTime(version: String) async throws {
            try await SecureClient.asyncHTTPClient.run(speaking: [version]) { network, _ in
                let (lines, continuation) = AsyncStream.makeStream(of: Data.self)
                var request = HTTPRequestData(method: .post, path: "echo")
                request.body = .stream(lines)
                continuation.yield(Data("1".utf8))
                let echo = try await network.stream(request)
                var received: [String] = []
                for try await chunk in echo {
                    received.append(String(decoding: chunk, as: UTF8.self))
                    if received.count == 5 {
                        continuation.finish()
                    } else {
                        continuation.yield(Data("\(received.count + 1)".utf8))
                    }
                }
                #expect(received == ["1", "2", "3", "4", "5"])
            }
        }

        // MARK: Responses that would crash the process

        @Test(arguments: [0, 9, 99, 1_000, 1_234])
        func rejectsInvalidStatusCodes(code: Int) async throws {
            try await SecureClient.asyncHTTPClient.run(speaking: ["h2"]) { network, _ in
                let error = await #expect(throws: NetworkingError.self) {
                    try await network.data(HTTPRequestData(path: "status/\(code)"))
                }
                #expect(error?.kind == .invalidResponse)
            }
        }

        /// The server sends a complete response and a reset while the body is being sent.
        ///
        /// NIO may drop the response because of the reset.
        @Test(arguments: 0..<10)
        func nextRequestSucceedsAfterAnEarlyResponseAndAReset(round: Int) async throws {
            try await SecureClient.asyncHTTPClient.run(speaking: ["h2"]) { network, _ in
                var request = HTTPRequestData(method: .post, path: "early")
                request.body = .stream {
                    AsyncStream { continuation in
                        for _ in 0..<256 { continuation.yield(Data(count: 64 << 10)) }
                        continuation.finish()
                    }
                }
                do {
                    let response = try await network.data(request)
                    #expect(response.data == Data("early".utf8))
                } catch let error as NetworkingError {
                    #expect(error.kind == .connectionLost)
                }
                let next = try await network.data(HTTPRequestData(path: "version"))
                #expect(next.data == Data("h2".utf8))
            }
        }

        /// A reset is the end only if it reports no error after the last byte.
        @Test(arguments: [("stopped/4/0", true), ("stopped/8/0", false), ("stopped/4/8", false)])
        func resetWithoutAnErrorEndsACompleteResponse(path: String, isComplete: Bool) async throws {
            try await SecureClient.asyncHTTPClient.run(speaking: ["h2"]) { network, _ in
                let result = await Result { try await network.data(HTTPRequestData(path: path)).data }
                switch result {
                case .success(let data): #expect(isComplete && data == Data("half".utf8))
                case .failure(let error):
                    #expect(!isComplete && (error as? NetworkingError)?.kind == .connectionLost, "\(error)")
                }
            }
        }

        // MARK: Bytes after a response

        @Test func bytesAfterAResponseDoNotReachTheNextOne() async throws {
            try await SecureClient.asyncHTTPClient.run(speaking: ["http/1.1"]) { network, _ in
                for _ in 1...20 {
                    let response = try await network.data(HTTPRequestData(path: "poison"))
                    #expect(response.data == Data("ok".utf8))
                    for _ in 1...2 {
                        let next = try await network.data(HTTPRequestData(path: "version"))
                        #expect(next.data == Data("http/1.1".utf8))
                        #expect(!next.headerFields.contains { $0.name.rawName.hasPrefix("X-") })
                    }
                }
            }
        }

        /// The server responds after the head, stops reading and keeps the stream open.
        @Test(.timeLimit(.minutes(20)), arguments: ["h2", "http/1.1"])
        func refusedUploadEndsAndIsReleased(version: String) async throws {
            final class Token: Sendable {
                let isReleased = Gate()
                deinit { isReleased.open() }
            }
            try await SecureClient.asyncHTTPClient.run(speaking: [version]) { network, _ in
                var gates: [Gate] = []
                for _ in 1...10 {
                    let token = Token()
                    gates.append(token.isReleased)
                    let body = RequestBody.stream {
                        AsyncStream { [token] in withExtendedLifetime(token) { Data(count: 64 << 10) } }
                    }
                    let request = HTTPRequestData(method: .post, path: "refused", body: body)
                    let response = try await network.data(request)
                    #expect(response.status.code == 413)
                    #expect(response.data == Data("refused".utf8))
                }
                for gate in gates { try await gate.wait() }
            }
        }
    }
}
#endif
