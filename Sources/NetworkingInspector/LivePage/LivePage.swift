#if Inspector
import FlyingFox
import Foundation
import HTTPTypes
import NetworkingCore
import NetworkingLoopback
import Synchronization

/// The responses of the page that shows calls as they happen.
final class LivePage: Sendable {
    // HTTPTypes has types with these names too.
    typealias HTTPRequest = FlyingFox.HTTPRequest
    typealias HTTPResponse = FlyingFox.HTTPResponse

    /// The maximum duration of a connection, well above the time that a request waits for changes.
    static let maximumTime = Duration.seconds(60)
    /// The maximum time that a request of the browser waits for changes.
    private static let maximumWait = Duration.seconds(20)
    /// The time that such a request waits for further changes after the first one.
    private static let minimumWait = Duration.milliseconds(100)
    /// The maximum number of calls in a response, so that a page that is opened late fills up gradually.
    private static let maximumCalls = 200

    private let inspector: NetworkInspector
    let clock: NetworkClock
    private let token = RandomToken.make()
    /// The authorities that the page is served at; empty until they are known.
    private let authorities = Mutex<[String]>([])

    init(of inspector: NetworkInspector, on clock: NetworkClock) {
        self.inspector = inspector
        self.clock = clock
    }

    /// Starts accepting requests to a port of 127.0.0.1 or localhost, and returns the page's URL.
    func open(at port: UInt16) throws -> URL {
        // Browsers omit the default port of the scheme.
        let suffix = port == 80 ? "" : ":\(port)"
        authorities.withLock { $0 = ["127.0.0.1\(suffix)", "localhost\(suffix)"] }
        guard let url = URL(string: "http://127.0.0.1:\(port)/\(token)/") else { throw CancellationError() }
        return url
    }

    /// Serves the one request of a connection.
    func serve(_ connection: LoopbackConnection) async throws {
        let head = try await connection.head()
        try await connection.respond(with: try await response(toHead: head).message)
        try await connection.drain()
    }

    /// Returns the response to the head of a request, without its empty line.
    ///
    /// - Parameter head: The head; `nil` if it is too long.
    /// - Returns: The response.
    /// - Throws: `CancellationError` if the page ends.
    func response(toHead head: ArraySlice<UInt8>?) async throws -> HTTPResponse {
        guard let request = head.flatMap({ LoopbackRequestHead($0) }).map({ HTTPRequest($0) }) else {
            return protected(Self.text(.badRequest, "The request is malformed, or too long."))
        }
        do {
            return try await handleRequest(request)
        } catch {
            try Task.checkCancellation()
            return protected(Self.text(.internalServerError, "The response could not be created."))
        }
    }

    func handleRequest(_ request: HTTPRequest) async throws -> HTTPResponse {
        protected(try await response(to: request))
    }

    private func protected(_ response: HTTPResponse) -> HTTPResponse {
        var response = response
        let fields: [(HTTPHeader, String)] = [
            // Another user could find the page in a browser's cache.
            (HTTPHeader("Cache-Control"), "no-store"),
            (HTTPHeader("X-Content-Type-Options"), "nosniff"),
            // The URL contains the token.
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

    private func response(to request: HTTPRequest) async throws -> HTTPResponse {
        if let refusal = refusal(of: request) { return refusal }
        let path = request.target.path().split(separator: "/", omittingEmptySubsequences: false)
        guard path.count >= 2, path[0].isEmpty, SecretComparison.areEqual(path[1], token) else {
            return Self.text(.notFound, "Not found. Use the URL of the page that the app has printed.")
        }
        switch (request.method, path.dropFirst(2).joined(separator: "/")) {
        case (.GET, "") where path.count == 2:
            // A client that drops the slash would follow a redirect forever.
            return Self.text(.notFound, "The page's URL ends with a slash.")
        case (.GET, ""): return try page()
        case (.GET, "calls"): return try await changes(request)
        case (.GET, "archive.har"): return try archive()
        case (.POST, "clear"): inspector.clear()
        case (.POST, "pause"): inspector.pause()
        case (.POST, "resume"): inspector.resume()
        case (_, "") where path.count > 2, (_, "calls"), (_, "archive.har"), (_, "clear"), (_, "pause"), (_, "resume"):
            return Self.text(.methodNotAllowed, "This method is not allowed here.")
        default: return Self.text(.notFound, "Not found.")
        }
        return HTTPResponse(statusCode: .noContent)
    }

    // MARK: Access control

    /// Returns a refusal for a request that the page itself did not make; `nil` if it may proceed.
    ///
    /// `Host` reveals a foreign name that resolves to this machine (DNS rebinding). `Origin` or `Sec-Fetch-Site`
    /// reveals a page of another origin.
    private func refusal(of request: HTTPRequest) -> HTTPResponse? {
        // Two fields could name different hosts to the parts of the path that check them (RFC 9112 section 3.2).
        guard request.headers.values(for: .host).count <= 1 else {
            return Self.text(.badRequest, "A request has one Host field (RFC 9112 section 3.2).")
        }
        guard let host = request.headers[.host], authorities.withLock({ $0.contains(host) }) else {
            return Self.text(.forbidden, "This page is available only as 127.0.0.1 or localhost.")
        }
        if let origin = request.headers[HTTPHeader("Origin")], origin != "http://\(host)" {
            return Self.text(.forbidden, "This page accepts no requests from other pages.")
        }
        if let site = request.headers[HTTPHeader("Sec-Fetch-Site")], site != "same-origin", site != "none" {
            return Self.text(
                .forbidden,
                "This page accepts no requests from other pages. Paste its URL into the address bar."
            )
        }
        return nil
    }

    // MARK: Responses

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

    /// Returns the changes for the page as soon as there are any.
    private func changes(_ request: HTTPRequest) async throws -> HTTPResponse {
        let items = Dictionary(request.query.map { ($0.name, $0.value) }) { _, last in last }
        let (epoch, revision) = (items["epoch"] ?? "", items["after"].flatMap(Int.init) ?? 0)
        let shelf = inspector.shelf
        let deadline = clock.now + Self.maximumWait
        try await shelf.waitForChange(since: revision, of: epoch, until: deadline, on: clock)
        var changes = shelf.changes(since: revision, of: epoch, upTo: Self.maximumCalls)
        if revision > 0, !changes.hasMore, clock.now < deadline {
            // A busy app causes changes all the time, and each response contains whole calls.
            try await clock.sleep(for: Self.minimumWait)
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

extension FlyingFox.HTTPRequest {
    /// Creates a request with all lines of its fields, and without a body, because no request of the page has one.
    fileprivate init(_ head: LoopbackRequestHead) {
        var headers = HTTPHeaders()
        for field in head.fields {
            headers.addValue(field.value, for: HTTPHeader(field.name.rawName))
        }
        let target = head.target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        self.init(
            method: HTTPMethod(head.method),
            version: .http11,
            target: Target(path: String(target[0]), query: target.count > 1 ? String(target[1]) : ""),
            headers: headers,
            body: HTTPBodySequence(data: Data())
        )
    }
}

extension FlyingFox.HTTPResponse {
    /// The bytes to send, on a connection that is closed afterwards.
    fileprivate var message: Data {
        get async throws {
            let body = try await bodyData
            var head = "HTTP/1.1 \(statusCode.code) \(statusCode.phrase)\r\n"
            for (name, value) in headers {
                head += "\(name.rawValue): \(value)\r\n"
            }
            head += "Content-Length: \(body.count)\r\nConnection: close\r\n\r\n"
            return Data(head.utf8) + body
        }
    }
}

/// The changes, in the form that the page reads.
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
