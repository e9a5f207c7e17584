import Foundation
import Networking
import Synchronization

/// A mocked server of a shop, with the response times of a real one.
final class Shop: Sendable {
    static let password = "correct-horse-battery"
    static let card = "4111-1111-1111-1111"
    /// The texts that a report must not contain.
    static let secrets = [password, card, "access-1", "access-2", "renewal-1", "renewal-2"]

    static let metrics = URL(string: "https://metrics.example.net/events")!
    static let refresh = URL(string: "https://api.example.com/sign-in/refresh")!

    let transport = MockTransport()
    private let state = Mutex(State())

    private struct State {
        var session = 1
        var isExpired = false
        var refreshes = 0
        var visits: [String: Int] = [:]
    }

    init() {
        signsIn()
        showsScreens()
        showsThumbnails()
        takesOrders()
    }

    /// Makes the current access token invalid.
    func expire() {
        state.withLock { ($0.session, $0.isExpired) = ($0.session + 1, true) }
    }

    var refreshes: Int {
        state.withLock { $0.refreshes }
    }

    private func signsIn() {
        transport.on(.post, "/sign-in") { [self] _ in json(tokens, after: 120) }
        transport.on(.post, "/sign-in/refresh") { [self] _ in
            state.withLock { ($0.refreshes, $0.isExpired) = ($0.refreshes + 1, false) }
            return json(tokens, after: 70)
        }
        transport.on("without a good token", where: isRefused) { _ in
            .status(.unauthorized, headerFields: [.wwwAuthenticate: "Bearer error=\"invalid_token\""])
                .delayed(by: .milliseconds(35))
        }
    }

    private func showsScreens() {
        transport.on(.get, "/profile") { [self] request in
            guard request.headerFields[.ifNoneMatch] == nil else {
                return .status(.notModified, headerFields: [.eTag: "\"emily-3\""]).delayed(by: .milliseconds(45))
            }
            let profile = #"{"id": 7, "name": "Emily", "city": "Lisbon", "newsletter": false}"#
            return json(profile, [.eTag: "\"emily-3\"", .cacheControl: "private, no-cache"], after: 85)
        }
        transport.on(.get, "/feed") { [self] request in
            let page = request.query["page"] ?? "1"
            let items = #"[{"name": "Espresso cup", "price": 12.50}, {"name": "Moka pot", "price": 34.90}]"#
            return json(#"{"page": \#(page), "items": \#(items)}"#, [.cacheControl: "max-age=60"], after: 150)
        }
        transport.on(.get, "/banner") { _ in .redirect(to: "/banners/summer").delayed(by: .milliseconds(40)) }
        transport.on(.get, "/banners/summer") { [self] _ in json(#"{"text": "Summer in a cup"}"#, after: 60) }
        transport.on(.get, "/basket") { [self] _ in json(#"{"items": ["espresso-cup"]}"#, after: 110) }
        transport.on(.get, "/recommendations") { [self] request in
            guard visit(request) > 1 else { return .status(.serviceUnavailable).delayed(by: .milliseconds(60)) }
            return json(#"{"items": ["moka-pot", "milk-jug", "grinder"], "model": "taste-4"}"#, after: 90)
        }
        transport.on("metrics", where: isMetrics) { request in
            .failure(NetworkingError(.connectionLost, request: request)).delayed(by: .milliseconds(180))
        }
    }

    private func showsThumbnails() {
        let pictures = (1...13).map { Thumbnail.png(side: 28 + $0 * 2, hue: Double($0) / 13) }
        transport.on("thumbnails", where: isThumbnail) { [self] request in
            let number = request.path.flatMap { Int($0.filter(\.isNumber)) } ?? 1
            if number == 5, visit(request) == 1 {
                return .status(.serviceUnavailable).delayed(by: .milliseconds(50))
            }
            return .ok(pictures[number - 1], headerFields: [.contentType: "image/png", .cacheControl: "max-age=86400"])
                .delayed(by: .milliseconds(50 + number * 37 % 90))
        }
    }

    private func takesOrders() {
        transport.on(.post, "/orders") { [self] _ in
            json(#"{"id": 1001, "state": "received"}"#, status: .created, after: 130)
        }
        transport.on(.get, "/orders/1001") { [self] _ in json(#"{"id": 1001, "state": "packing"}"#, after: 65) }
        transport.on(.get, "/orders/1001/gift") { _ in .status(.notFound).delayed(by: .milliseconds(50)) }
    }

    private var tokens: String {
        let session = state.withLock { $0.session }
        return #"{"accessToken": "access-\#(session)", "refreshToken": "renewal-\#(session)", "name": "Emily"}"#
    }

    @Sendable
    private func isRefused(_ request: HTTPRequestData) -> Bool {
        let (session, isExpired) = state.withLock { ($0.session, $0.isExpired) }
        let isGood = !isExpired && request.headerFields[.authorization] == "Bearer access-\(session)"
        return !isGood && !isMetrics(request)
    }

    @Sendable
    private func isMetrics(_ request: HTTPRequestData) -> Bool {
        request.url == Self.metrics
    }

    @Sendable
    private func isThumbnail(_ request: HTTPRequestData) -> Bool {
        request.path?.hasPrefix("/thumbnails/") == true
    }

    private func visit(_ request: HTTPRequestData) -> Int {
        state.withLock { state in
            state.visits[request.path ?? "", default: 0] += 1
            return state.visits[request.path ?? "", default: 0]
        }
    }

    private func json(
        _ text: String,
        _ headerFields: HTTPFields = [:],
        status: HTTPResponse.Status = .ok,
        after milliseconds: Int
    ) -> MockResponse {
        var headerFields = headerFields
        headerFields[.contentType] = "application/json"
        return MockResponse(status: status, data: Data(text.utf8), headerFields: headerFields)
            .delayed(by: .milliseconds(milliseconds))
    }
}
