#if Inspector
import FlyingFox
import Foundation
import Networking
import NetworkingHAR
import Synchronization

/// What a browser gets that shows the calls as they happen.
final class LivePage: HTTPHandler {
    // HTTPTypes has these names too.
    typealias HTTPRequest = FlyingFox.HTTPRequest
    typealias HTTPResponse = FlyingFox.HTTPResponse

    /// How long a browser's question may wait for something new.
    private static let maximumWait = Duration.seconds(20)
    /// How long it waits for more, once there is something.
    private static let shortestWait = Duration.milliseconds(100)
    /// When the server gives up on an answer, in seconds; well after the waiting has ended.
    static let maximumAnswer = 60.0
    /// How many calls an answer has at most, so that a page that is opened late fills up bit by bit.
    private static let maximumCalls = 200

    private let inspector: NetworkInspector
    private let clock: NetworkClock
    private let token = RandomToken.make()
    /// Where it is served; nil until that is known.
    private let authorities = Mutex<[String]>([])

    init(of inspector: NetworkInspector, on clock: NetworkClock) {
        self.inspector = inspector
        self.clock = clock
    }

    /// Answers from now on to who names it so.
    func open(at port: UInt16) throws -> URL {
        // Browsers leave the port of the scheme out.
        let suffix = port == 80 ? "" : ":\(port)"
        authorities.withLock { $0 = ["127.0.0.1\(suffix)", "localhost\(suffix)"] }
        guard let url = URL(string: "http://127.0.0.1:\(port)/\(token)/") else { throw CancellationError() }
        return url
    }

    func handleRequest(_ request: HTTPRequest) async throws -> HTTPResponse {
        var response = try await answer(to: request)
        let fields: [(HTTPHeader, String)] = [
            // What a browser kept, somebody else could find.
            (HTTPHeader("Cache-Control"), "no-store"),
            (HTTPHeader("X-Content-Type-Options"), "nosniff"),
            // The token is in the URL.
            (HTTPHeader("Referrer-Policy"), "no-referrer"),
            (HTTPHeader("Cross-Origin-Resource-Policy"), "same-origin"),
            (HTTPHeader("Cross-Origin-Opener-Policy"), "same-origin"),
            (HTTPHeader("Content-Security-Policy"), "frame-ancestors 'none'"),
            (HTTPHeader("X-Frame-Options"), "DENY"),
        ]
        for (name, value) in fields {
            response.headers[name] = value
        }
        return response
    }

    private func answer(to request: HTTPRequest) async throws -> HTTPResponse {
        if let refusal = refusal(of: request) { return refusal }
        let path = request.target.path().split(separator: "/", omittingEmptySubsequences: false)
        guard path.count >= 2, path[0].isEmpty, SecretComparison.areEqual(path[1], token) else {
            return Self.text(.notFound, "There is nothing here. The page's URL is the one that the app has printed.")
        }
        switch (request.method, path.dropFirst(2).joined(separator: "/")) {
        case (.GET, "") where path.count == 2:
            // A redirect there is one for ever to clients that drop the slash.
            return Self.text(.notFound, "The page's URL ends with a slash.")
        case (.GET, ""): return try page()
        case (.GET, "calls"): return try await changes(request)
        case (.GET, "archive.har"): return try archive()
        case (.POST, "clear"): inspector.clear()
        case (.POST, "pause"): inspector.pause()
        case (.POST, "resume"): inspector.resume()
        case (_, "") where path.count > 2, (_, "calls"), (_, "archive.har"), (_, "clear"), (_, "pause"), (_, "resume"):
            return Self.text(.methodNotAllowed, "Not with this method.")
        default: return Self.text(.notFound, "There is nothing here.")
        }
        return HTTPResponse(statusCode: .noContent)
    }

    // MARK: Who may ask

    /// The answer to a request that the page itself did not make.
    ///
    /// A name that somebody else has made lead here (DNS rebinding) shows in `Host`, a page of another origin in
    /// `Origin` or `Sec-Fetch-Site`.
    private func refusal(of request: HTTPRequest) -> HTTPResponse? {
        guard let host = request.headers[.host], authorities.withLock({ $0.contains(host) }) else {
            return Self.text(.forbidden, "This page answers by the name 127.0.0.1 or localhost alone.")
        }
        if let origin = request.headers[HTTPHeader("Origin")], origin != "http://\(host)" {
            return Self.text(.forbidden, "This page answers to itself alone.")
        }
        if let site = request.headers[HTTPHeader("Sec-Fetch-Site")], site != "same-origin", site != "none" {
            return Self.text(.forbidden, "This page answers to itself alone. Paste its URL into the address bar.")
        }
        return nil
    }

    // MARK: Answers

    private func page() throws -> HTTPResponse {
        let archive = HTTPArchive(entries: [], title: inspector.title, date: clock.date)
        let html = try InspectorPage(title: inspector.title, mode: .live, har: archive.har).html()
        return HTTPResponse(statusCode: .ok, headers: [.contentType: "text/html; charset=utf-8"], body: html)
    }

    private func archive() throws -> HTTPResponse {
        HTTPResponse(
            statusCode: .ok,
            headers: [
                .contentType: "application/json",
                HTTPHeader("Content-Disposition"): "attachment; filename=\"network.har\"",
            ],
            body: try inspector.archive.encoded()
        )
    }

    /// What is new to the page, as soon as something is.
    private func changes(_ request: HTTPRequest) async throws -> HTTPResponse {
        let items = Dictionary(request.query.map { ($0.name, $0.value) }) { _, last in last }
        let (epoch, revision) = (items["epoch"] ?? "", items["after"].flatMap(Int.init) ?? 0)
        let shelf = inspector.shelf
        let deadline = clock.now + Self.maximumWait
        try await shelf.waitForChange(since: revision, of: epoch, until: deadline, on: clock)
        var changes = shelf.changes(since: revision, of: epoch, upTo: Self.maximumCalls)
        if revision > 0, !changes.hasMore, clock.now < deadline {
            // A busy app changes something all the time, and each answer has whole calls.
            try await clock.sleep(for: Self.shortestWait)
            changes = shelf.changes(since: revision, of: epoch, upTo: Self.maximumCalls)
        }
        return HTTPResponse(
            statusCode: .ok,
            headers: [.contentType: "application/json"],
            body: try InspectorPage.json(News(changes))
        )
    }

    private static func text(_ status: HTTPStatusCode, _ text: String) -> HTTPResponse {
        HTTPResponse(
            statusCode: status,
            headers: [.contentType: "text/plain; charset=utf-8"],
            body: Data("\(text)\n".utf8)
        )
    }
}

/// What has changed, as the page reads it.
private struct News: Encodable {
    let epoch: String
    let revision: Int
    let more: Bool
    let isPaused: Bool
    let oldest: Int
    let calls: [Call]

    struct Call: Encodable {
        let id: Int
        let entries: [HAR.Entry]
    }

    init(_ changes: CallShelf.Changes) {
        epoch = changes.epoch
        revision = changes.revision
        more = changes.hasMore
        isPaused = changes.isPaused
        oldest = changes.oldest
        calls = changes.captures.map { Call(id: $0.id, entries: $0.entries.map(\.withCommand)) }
    }
}
#endif
