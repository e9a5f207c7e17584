#if Inspector && (os(Linux) || os(macOS))
import Foundation
import HTTPTypes
import Networking
import NetworkingInspector
import TestSupport
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension Loopback {
    /// The live page over real sockets, in a real browser.
    @Suite(.timeLimit(.minutes(20)))
    struct LivePageTests {
        private let inspector = NetworkInspector(title: "Live")

        @Test(.requires(.browser))
        func callsAppearAsTheyHappen() async throws {
            let (gate, opening) = AsyncStream.makeStream(of: Void.self)
            let network = MockTransport { request in
                if request.path == "/held" {
                    for await _ in gate {}
                }
                return .text("hello")
            }
            .inspected(by: inspector).server(authority: "api.example.com")
            try await inspector.withLivePage { url in
                try await withBrowser { page in
                    try await page.open(url)
                    try await page.wait(for: "document.getElementById('connection').textContent.includes('Live')")
                    #expect(try await page.value("window.inspector.calls()") == 0)
                    try await network.data(HTTPRequestData(path: "first"))
                    try await page.wait(for: "document.querySelector('[data-call=\"1\"]')?.textContent.includes('200')")

                    // A call in progress has a row, which is updated when the call ends.
                    async let held = network.data(HTTPRequestData(path: "held"))
                    try await page.wait(
                        for: "document.querySelector('[data-call=\"2\"]')?.textContent.includes('/held')"
                    )
                    #expect(
                        try await page.value("document.querySelector('[data-filter=pending]').textContent")
                            == "Pending 1"
                    )
                    opening.finish()
                    _ = try await held
                    try await page.wait(for: "document.querySelector('[data-call=\"2\"]')?.textContent.includes('200')")

                    // While recording is paused, calls are not recorded.
                    try await page.click("#pause")
                    try await page.wait(for: "document.getElementById('connection').textContent.includes('Paused')")
                    #expect(inspector.isPaused)
                    try await network.data(HTTPRequestData(path: "unseen"))
                    try await page.click("#pause")
                    try await page.wait(for: "document.getElementById('connection').textContent.includes('Live')")
                    try await network.data(HTTPRequestData(path: "seen"))
                    try await page.wait(for: "window.inspector.calls() === 3")

                    let archive = try HTTPArchive(try await page.download(clicking: "#download"))
                    #expect(archive.entryCount == 3)
                    try await page.click("#clear")
                    try await page.wait(for: "window.inspector.calls() === 0")
                    #expect(inspector.callCount == 0)
                    try await network.data(HTTPRequestData(path: "after"))
                    try await page.wait(for: "window.inspector.calls() === 1")
                }
            }
        }

        @Test(.requires(.browser))
        func scriptsInABodyDoNotRunInThePage() async throws {
            let script = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
            let network = MockTransport { _ in .ok(Data(script.utf8), headerFields: [.contentType: "text/html"]) }
                .inspected(by: inspector)
            try await inspector.withLivePage { url in
                try await withBrowser { page in
                    try await page.open(url)
                    try await network.data(
                        HTTPRequestData(authority: "api.example.com", path: "<script>alert(3)</script>")
                    )
                    try await page.wait(for: "window.inspector.calls() === 1")
                    try await page.click("[data-call='1']")
                    try await page.click("[data-tab=exchanges]")
                    try await page.wait(
                        for: "document.getElementById('details').textContent.includes('onerror=alert(2)')"
                    )
                    let judgement = try await page.judgement()
                    #expect(judgement.violations == [])
                }
            }
        }

        /// A page of another origin in the same browser cannot read or change anything.
        @Test(.requires(.browser))
        func otherOriginsHaveNoAccess() async throws {
            try await MockTransport { _ in .ok() }.inspected(by: inspector)
                .data(HTTPRequestData(authority: "api.example.com"))
            try await inspector.withLivePage { url in
                try await withBrowser { page in
                    try await page.open(try #require(URL(string: "about:blank")))
                    let attempt =
                        "fetch('\(url)clear', {method: 'POST', mode: 'no-cors'}).then(() => 'seen', () => 'refused')"
                    // The request arrived and was rejected, and its response is not readable either.
                    #expect(try await page.value(attempt) == "refused")
                    #expect(inspector.callCount == 1)
                    _ = try await page.faults()
                }
            }
        }

        @Test func rejectsRequestsWithoutTheTokenOrFromOtherHosts() async throws {
            try await inspector.withLivePage { url in
                let session = URLSession(configuration: .ephemeral)
                func status(_ url: URL, host: String? = nil, origin: String? = nil) async throws -> Int? {
                    var request = URLRequest(url: url)
                    request.setValue(host, forHTTPHeaderField: "Host")
                    request.setValue(origin, forHTTPHeaderField: "Origin")
                    let (_, response) = try await session.data(for: request)
                    return (response as? HTTPURLResponse)?.statusCode
                }
                let root = try #require(URL(string: "/", relativeTo: url))
                #expect(try await status(url) == 200)
                #expect(try await status(root) == 404)
                #expect(try await status(url, host: "evil.example") == 403)
                #expect(try await status(url, origin: "https://evil.example") == 403)
                session.invalidateAndCancel()
            }
        }

        #if LoopbackRedirect
        /// Requests of several programs, byte by byte.
        @Test func everyLineOfARequestCounts() async throws {
            try await inspector.withLivePage { url in
                let port = try #require(url.port)
                func status(_ lines: [String], _ rest: String = "") async throws -> String {
                    let head = ["GET \(url.path()) HTTP/1.1"] + lines + ["", rest]
                    let text = try await RawConnection.send(head.joined(separator: "\r\n"), port: port)
                    return String(text.prefix(12))
                }
                let host = "Host: 127.0.0.1:\(port)"
                #expect(try await status([host]) == "HTTP/1.1 200")
                #expect(try await status([host], "more than the head") == "HTTP/1.1 200")
                #expect(try await status([host, host]) == "HTTP/1.1 400")
                #expect(try await status(["Host: evil.example", host]) == "HTTP/1.1 400")
                #expect(try await status([host, "Host: evil.example"]) == "HTTP/1.1 400")
                #expect(try await status(["\(host), evil.example"]) == "HTTP/1.1 403")
                #expect(try await status([host, "A: \(String(repeating: "a", count: 40_000))"]) == "HTTP/1.1 400")
            }
        }
        #endif

        /// Connections that browsers open ahead of time do not hold back requests, and end with the page.
        @Test func idleConnectionsDoNotHoldBackRequests() async throws {
            let session = URLSession(configuration: .ephemeral)
            try await inspector.withLivePage { url in
                #if LoopbackRedirect
                let port = try #require(url.port)
                let idle = try (0..<8).map { _ in try RawConnection(port: port) }
                defer { withExtendedLifetime(idle) {} }
                #endif
                for _ in 0..<3 {
                    let (_, response) = try await session.data(for: URLRequest(url: url))
                    #expect((response as? HTTPURLResponse)?.statusCode == 200)
                }
            }
            session.invalidateAndCancel()
        }

        @Test func reportsAPortInUse() async throws {
            try await inspector.withLivePage { url in
                let port = try #require(url.port.map(UInt16.init))
                let error = await #expect(throws: LivePageError.self) {
                    try await NetworkInspector().withLivePage(port: port) { _ in }
                }
                #expect(error?.reason.contains("port \(port) of 127.0.0.1 is in use") == true)
            }
        }

        #if os(Linux)
        @Test func portInUseLeavesNothingOpen() async throws {
            func openFiles() throws -> Int {
                try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
            }
            try await inspector.withLivePage { url in
                let port = try #require(url.port.map(UInt16.init))
                let before = try openFiles()
                for _ in 0..<200 {
                    await #expect(throws: LivePageError.self) {
                        try await NetworkInspector().withLivePage(port: port) { _ in }
                    }
                }
                // Other tests open files at the same time.
                #expect(try openFiles() < before + 100)
            }
        }
        #endif

        @Test func cancellationReleasesThePort() async throws {
            let (urls, found) = AsyncStream.makeStream(of: URL.self)
            let serving = Task { [inspector] in try await inspector.serveLivePage { found.yield($0) } }
            var iterator = urls.makeAsyncIterator()
            let url = try #require(await iterator.next())
            serving.cancel()
            await #expect(throws: CancellationError.self) { try await serving.value }
            let port = try #require(url.port.map(UInt16.init))
            try await inspector.withLivePage(port: port) { other in
                #expect(other.port == url.port)
                #expect(other != url)
            }
        }
    }
}
#endif
