#if Inspector
import FlyingFox
import Foundation
import NetworkingTesting
import TestSupport
import Testing

import Networking
@testable import NetworkingInspector

/// The handler of the live page, without a socket.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct LivePageTests {
    private let inspector = NetworkInspector(title: "Shop")
    private let clock = ManualClock()
    private let page: LivePage
    private let path: String

    init() throws {
        page = LivePage(of: inspector, on: .manual(clock))
        path = try page.open(at: 4321).path
    }

    private func send(
        _ method: FlyingFox.HTTPMethod = .GET,
        _ path: String,
        _ fields: [FlyingFox.HTTPHeader: String] = [:]
    ) async throws -> FlyingFox.HTTPResponse {
        let parts = path.split(separator: "?", maxSplits: 1)
        let request = FlyingFox.HTTPRequest(
            method: method,
            version: .http11,
            target: FlyingFox.HTTPRequest.Target(
                path: String(parts.first ?? ""),
                query: String(parts.dropFirst().first ?? "")
            ),
            headers: HTTPHeaders([.host: "127.0.0.1:4321"].merging(fields) { $1 }),
            body: HTTPBodySequence(data: Data())
        )
        return try await page.handleRequest(request)
    }

    private func text(_ response: FlyingFox.HTTPResponse) async throws -> String {
        String(decoding: try await response.bodyData, as: UTF8.self)
    }

    private func call() async throws {
        try await MockTransport { _ in .text("hello") }.inspected(by: inspector).data(.lawful)
    }

    // MARK: Access control

    @Test func tokenIsLongAndUnique() throws {
        let other = try LivePage(of: inspector, on: .manual(clock)).open(at: 4321).path
        #expect(path.count == 32 + 2 || path.count == 32 + 1)
        #expect(other != path)
    }

    @Test(arguments: ["/", "/0123456789abcdef0123456789abcdef/", "/calls", "//", "/../", "", "/%2e%2e/"])
    func requestsWithoutTheTokenGet404(path: String) async throws {
        let response = try await send(.GET, path)
        #expect(response.statusCode == .notFound)
        #expect(try await !text(response).contains("Shop"))
    }

    @Test(arguments: [
        "evil.example", "127.0.0.1", "127.0.0.1:4322", "localhost.evil.example:4321", "127.0.0.1:4321.evil.example", "",
    ])
    func rejectsOtherHosts(host: String) async throws {
        #expect(try await send(.GET, path + "/", [.host: host]).statusCode == .forbidden)
        #expect(try await send(.POST, path + "/clear", [.host: host]).statusCode == .forbidden)
    }

    @Test func rejectsARequestWithTwoHosts() async throws {
        var headers = HTTPHeaders([.host: "127.0.0.1:4321"])
        headers.addValue("evil.example", for: .host)
        let request = FlyingFox.HTTPRequest(
            method: .GET,
            version: .http11,
            target: FlyingFox.HTTPRequest.Target(path: path + "/", query: ""),
            headers: headers,
            body: HTTPBodySequence(data: Data())
        )
        #expect(try await page.handleRequest(request).statusCode == .badRequest)
    }

    /// Heads as they arrive, with the status of the response.
    @Test(
        arguments: [
            (["Host: 127.0.0.1:4321"], 200), (["host:localhost:4321\t"], 200),
            (["Host: 127.0.0.1:4321", "A: b", "A: c"], 200),
            (["Host: 127.0.0.1:4321", "Host: 127.0.0.1:4321"], 400),
            (["Host: evil.example", "Host: 127.0.0.1:4321"], 400),
            (["Host: 127.0.0.1:4321", "hOST: evil.example"], 400), (["Host: 127.0.0.1:4321, evil.example"], 403),
            (["Host: evil.example, 127.0.0.1:4321"], 403), (["Host: user@127.0.0.1:4321"], 403), (["Host:"], 403),
            ([], 403),
            (["Host : 127.0.0.1:4321"], 400), (["Host: 127.0.0.1:4321", " folded"], 400), (["Host"], 400),
            (["Host: 127.0.0.1:4321\nHost: evil.example"], 400), (["Host: 127.0.0.1:4321\rHost: a"], 400),
            (["A: b\0", "Host: 127.0.0.1:4321"], 400), (["Host: 127.0.0.1:4321", ": b"], 400),
            (["Host: 127.0.0.1:4321", "Origin: http://127.0.0.1:4321", "Origin: https://evil.example"], 403),
            (["Host: 127.0.0.1:4321", "Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: cross-site"], 403),
        ] as [([String], Int)]
    )
    func readsAllLinesOfAHead(lines: [String], status: Int) async throws {
        let head = (["GET \(path)/ HTTP/1.1"] + lines).joined(separator: "\r\n")
        let response = try await page.response(toHead: Array(head.utf8)[...])
        #expect(response.statusCode.code == status)
        #expect(response.headers[HTTPHeader("X-Frame-Options")] == "DENY")
    }

    @Test(arguments: [
        "", "GET", "GET /", "GET  / HTTP/1.1", "GET / HTTP/1.1 ", "GET / HTTP/2", "GET http://127.0.0.1:4321/ HTTP/1.1",
        "GET * HTTP/1.1", " GET / HTTP/1.1", "\r\nGET / HTTP/1.1",
    ])
    func malformedRequestLineIsABadRequest(line: String) async throws {
        let response = try await page.response(toHead: Array("\(line)\r\nHost: 127.0.0.1:4321".utf8)[...])
        #expect(response.statusCode == .badRequest)
    }

    @Test func headThatIsTooLongOrNoTextIsABadRequest() async throws {
        #expect(try await page.response(toHead: nil).statusCode == .badRequest)
        #expect(try await page.response(toHead: [0xFF, 0xFE]).statusCode == .badRequest)
    }

    @Test func rejectsRequestsFromOtherOrigins() async throws {
        try await call()
        for origin in ["https://evil.example", "http://localhost:4321", "null", "http://127.0.0.1:4322"] {
            #expect(try await send(.POST, path + "/clear", [HTTPHeader("Origin"): origin]).statusCode == .forbidden)
        }
        for site in ["cross-site", "same-site"] {
            #expect(
                try await send(.GET, path + "/calls", [HTTPHeader("Sec-Fetch-Site"): site]).statusCode == .forbidden
            )
        }
        #expect(inspector.callCount == 1)
        let own = [HTTPHeader("Origin"): "http://127.0.0.1:4321", HTTPHeader("Sec-Fetch-Site"): "same-origin"]
        #expect(try await send(.POST, path + "/clear", own).statusCode == .noContent)
        #expect(inspector.callCount == 0)
    }

    @Test func rejectsEveryRequestBeforeItsPortIsKnown() async throws {
        let page = LivePage(of: inspector, on: .manual(clock))
        let request = FlyingFox.HTTPRequest(
            method: .GET,
            version: .http11,
            target: FlyingFox.HTTPRequest.Target(path: "/", query: ""),
            headers: HTTPHeaders([.host: "127.0.0.1:4321"]),
            body: HTTPBodySequence(data: Data())
        )
        #expect(try await page.handleRequest(request).statusCode == .forbidden)
    }

    @Test(arguments: ["", "/", "/calls", "/archive.har", "/clear", "/nothing"])
    func everyResponseHasSecurityHeaders(suffix: String) async throws {
        try await call()
        let response = try await send(.GET, path + suffix)
        #expect(response.headers[HTTPHeader("Cache-Control")] == "no-store")
        #expect(response.headers[HTTPHeader("Referrer-Policy")] == "no-referrer")
        #expect(response.headers[HTTPHeader("Cross-Origin-Resource-Policy")] == "same-origin")
        #expect(response.headers[HTTPHeader("X-Frame-Options")] == "DENY")
        #expect(response.headers[HTTPHeader("X-Content-Type-Options")] == "nosniff")
    }

    // MARK: Responses

    @Test func pageIsTheReportWithoutCalls() async throws {
        try await call()
        let response = try await send(.GET, path + "/")
        #expect(response.statusCode == .ok)
        let html = try await text(response)
        #expect(html.contains("Shop"))
        #expect(html.contains("connect-src 'self'"))
        #expect(!html.contains("laws.example"))
        let withoutSlash = try await send(.GET, path)
        #expect(withoutSlash.statusCode == .notFound)
        #expect(try await text(withoutSlash).contains("ends with a slash"))
    }

    @Test func longPollReturnsNewCalls() async throws {
        struct News: Decodable {
            struct Call: Decodable {
                let id: Int
            }
            let epoch: String
            let revision: Int
            let isPaused: Bool
            let calls: [Call]
        }
        func news(_ query: String) async throws -> News {
            let response = try await send(.GET, path + "/calls?" + query)
            return try await JSONDecoder().decode(News.self, from: response.bodyData)
        }
        try await call()
        let first = try await news("epoch=&after=0")
        #expect(first.calls.map(\.id) == [1])
        async let second = news("epoch=\(first.epoch)&after=\(first.revision)")
        try await clock.waitForSleepers()
        try await call()
        // Calls within the next 100 ms are part of the same response.
        try await eventually("clock.nextDeadline?.offset == .milliseconds(100)") {
            clock.nextDeadline?.offset == .milliseconds(100)
        }
        clock.advance(by: .milliseconds(100))
        #expect(try await second.calls.map(\.id) == [2])
        let last = try await news("epoch=&after=x")
        async let none = news("epoch=\(last.epoch)&after=\(last.revision)")
        try await clock.advance(by: .seconds(20), afterSleepers: 1)
        #expect(try await none.calls.isEmpty)
    }

    @Test func pausesResumesAndClears() async throws {
        try await call()
        #expect(try await send(.POST, path + "/pause").statusCode == .noContent)
        #expect(inspector.isPaused)
        #expect(try await send(.POST, path + "/resume").statusCode == .noContent)
        #expect(!inspector.isPaused)
        // A GET request, as from a link or an image, must not clear the calls.
        #expect(try await send(.GET, path + "/clear").statusCode == .methodNotAllowed)
        #expect(inspector.callCount == 1)
        #expect(try await send(.POST, path + "/clear").statusCode == .noContent)
        #expect(inspector.callCount == 0)
    }

    @Test func archiveIsServedAsADownload() async throws {
        try await call()
        let response = try await send(.GET, path + "/archive.har")
        #expect(response.headers[HTTPHeader("Content-Disposition")]?.hasPrefix("attachment") == true)
        #expect(try await HTTPArchive(response.bodyData) == inspector.archive)
    }
}
#endif
