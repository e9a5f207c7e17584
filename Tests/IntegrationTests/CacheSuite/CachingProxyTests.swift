#if AsyncHTTPClient && TestServer && URLSession && os(Linux)
import Foundation
import HTTPTypes
import Networking
import NetworkingTestServer
import NetworkingTesting
import TestSupport
import Testing

extension Loopback {
    /// The caching proxy for the client of the public cache tests.
    @Suite(.timeLimit(.minutes(20)))
    struct CachingProxyTests {
        private let client = URLSessionTransport(configuration: .ephemeral)

        private static func withProxy(
            of origin: TestServer,
            _ arguments: String...,
            perform: nonisolated(nonsending) (String) async throws -> Void
        ) async throws {
            try await withTemporaryDirectory { directory in
                let output = directory.appending(path: "output")
                try Data().write(to: output)
                let input = Pipe()
                let (process, ending) = try process(["\(origin.url)"] + arguments, input: input, output: output)
                defer { process.terminate() }
                var port: Int?
                try await eventually("the proxy prints its port") {
                    let text = try String(contentsOf: output, encoding: .utf8)
                    port = text.hasSuffix("\n") ? Int(text.dropLast()) : nil
                    return port != nil
                }
                try await perform("127.0.0.1:\(try #require(port))")
                try input.fileHandleForWriting.close()
                process.terminate()
                for await _ in ending {}
            }
        }

        /// Starts the proxy.
        ///
        /// Its output goes to a file, because processes that start in the meantime would inherit a pipe and keep it
        /// open.
        private static func process(
            _ arguments: [String],
            input: Any,
            output: URL
        ) throws -> (process: Process, ending: AsyncStream<Int32>) {
            let (ending, ended) = AsyncStream.makeStream(of: Int32.self)
            let process = Process()
            process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
                .deletingLastPathComponent().appending(path: "CachingProxy")
            process.arguments = arguments
            process.standardInput = input
            process.standardOutput = try FileHandle(forWritingTo: output)
            process.terminationHandler = {
                ended.yield($0.terminationStatus)
                ended.finish()
            }
            try process.run()
            return (process, ending)
        }

        private func send(
            _ path: String,
            to authority: String,
            _ change: (inout HTTPRequestData) -> Void = { _ in }
        ) async throws -> HTTPResponseData {
            var request = HTTPRequestData(url: try #require(URL(string: "http://\(authority)\(path)")))
            request.redirects = .never
            change(&request)
            return try await client.data(request)
        }

        @Test func freshResponseComesFromTheCacheWithAnAge() async throws {
            try await withTestServer { origin in
                origin.route(.get, "/page") { _ in
                    TestResponse(
                        headerFields: [.cacheControl: "max-age=600", .date: Date.now.httpDate],
                        body: .data(Data("page".utf8))
                    )
                }
                try await Self.withProxy(of: origin) { proxy in
                    let first = try await send("/page", to: proxy)
                    #expect(first.data == Data("page".utf8))
                    #expect(first.headerFields[.age] == nil)
                    let second = try await send("/page", to: proxy)
                    #expect(second.data == Data("page".utf8))
                    #expect(second.headerFields[.age] != nil)
                    #expect(origin.requests.count == 1)
                }
            }
        }

        @Test func methodQueryFieldsAndBodyReachTheOrigin() async throws {
            try await withTestServer { origin in
                origin.route(.put, "/config/*") { request in
                    TestResponse(status: .created, headerFields: [.location: "/state"], body: .data(request.body))
                }
                try await Self.withProxy(of: origin) { proxy in
                    let response = try await send("/config/7?a=b%20c", to: proxy) {
                        $0.method = .put
                        $0.headerFields[HTTPField.Name("Req-Num")!] = "3"
                        $0.body = .data(Data("[1]".utf8))
                    }
                    #expect(response.status == .created)
                    #expect(response.data == Data("[1]".utf8))
                    #expect(response.headerFields[.location] == "/state")
                    let request = try #require(origin.requests.first)
                    #expect(request.query == "a=b%20c")
                    #expect(request.headerFields[HTTPField.Name("Req-Num")!] == "3")
                    #expect(request.headerFields[HTTPField.Name("Host")!] == "127.0.0.1:\(origin.port)")
                }
            }
        }

        @Test func cacheIsSharedOnlyIfRequested() async throws {
            try await withTestServer { origin in
                origin.route("/mine") { _ in
                    TestResponse(headerFields: [.cacheControl: "private, max-age=600", .date: Date.now.httpDate])
                }
                for (arguments, count) in [([], 1), (["shared"], 2)] as [([String], Int)] {
                    let before = origin.requests.count
                    try await Self.withProxy(of: origin, arguments.first ?? "private") { proxy in
                        for _ in 0..<2 {
                            let response = try await send("/mine", to: proxy)
                            #expect(response.status == .ok)
                        }
                    }
                    #expect(origin.requests.count - before == count)
                }
            }
        }

        @Test func unreachableOriginIsABadGateway() async throws {
            try await withTestServer { origin in
                origin.route("/gone") { _ in TestResponse(body: .hangUp) }
                try await Self.withProxy(of: origin) { proxy in
                    let response = try await send("/gone", to: proxy)
                    #expect(response.status == .badGateway)
                }
            }
        }

        @Test func proxyEndsWithItsInput() async throws {
            try await withTemporaryDirectory { directory in
                let output = directory.appending(path: "output")
                try Data().write(to: output)
                let (_, ending) = try Self.process(
                    ["http://127.0.0.1:1"],
                    input: FileHandle.nullDevice,
                    output: output
                )
                var statuses: [Int32] = []
                for await status in ending { statuses.append(status) }
                #expect(statuses == [0])
                let port = try String(contentsOf: output, encoding: .utf8).dropLast()
                #expect(Int(port) != nil)
            }
        }
    }
}
#endif
