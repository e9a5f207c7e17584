import Foundation
import Networking
import NetworkingInspector

/// Records the network of a shop's app from its start, and writes a report.
enum Inspecting {
    static func show() async throws {
        Terminal.title("20. A report of all calls")
        Terminal.code(
            """
            let inspector = NetworkInspector(title: "A shop’s start", redaction: .standard.addingBodyFields("card"))
            let network = transport
                .authenticated(with: tokens) { $0.path == "/sign-in" }
                .throttled(maxPerHost: 4)
                .retry(.constant(.milliseconds(80)))
                .deduplicated()
                .cached()
                .inspected(by: inspector)
                .server(authority: "api.example.com")
            """
        )
        let shop = Shop()
        let tokens = TokenStore(nil, delegate: Renewal())
        let inspector = NetworkInspector(title: "A shop’s start", redaction: .standard.addingBodyFields("card"))
        let network = shop.transport
            .authenticated(with: tokens) { $0.path == "/sign-in" }
            .throttled(maxPerHost: 4)
            .retry(.constant(.milliseconds(80)))
            .deduplicated()
            .cached()
            .instrument()
            .inspected(by: inspector)
            .server(authority: "api.example.com")

        try await signIn(over: network, tokens)
        try await firstScreen(over: network)
        shop.expire()
        let busiest = try await network.data(.path("recommendations"))
        // Calls are numbered in the order in which they start.
        let number = inspector.callCount
        try await productScreen(over: network)
        try await order(over: network)

        let archive = inspector.archive
        Terminal.say(archive.waterfall(width: 40))
        Terminal.say("One call had an expired token, and its server was busy afterwards:")
        Terminal.say(busiest.metrics?.waterfall(width: 40) ?? "")
        try Tour.expect(busiest.status == .ok && shop.refreshes == 1, "a call survives a 401 and a 503")
        try Tour.expect(archive.entryCount > inspector.callCount, "there are more exchanges than calls")
        try report(of: inspector, opening: number)
    }

    /// Writes the report for a browser.
    ///
    /// The next run replaces the file.
    private static func report(of inspector: NetworkInspector, opening number: Int) throws {
        let file = FileManager.default.temporaryDirectory.appending(
            path: "swift-networking-quickstart-\(getuid()).html"
        )
        Terminal.code(
            """
            try inspector.writeReport(to: file)
            try inspector.archive.write(to: URL(filePath: "network.har"))        // for tools that read HAR
            try await inspector.serveLivePage { print("Live: \\($0)") }           // the same page, updated live
            """
        )
        try inspector.writeReport(to: file)
        let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
        let leak = Shop.secrets.first(where: text.contains)
        try Tour.expect(leak == nil, "a report contains no password, no token and no card")
        Terminal.say("Open \(file.absoluteString)#call-\(number)")
    }

    // MARK: - The calls of the app

    private static func signIn(
        over network: some NetworkingComponent,
        _ tokens: TokenStore<Networking.Session>
    ) async throws {
        let credentials = ["email": "emily@example.com", "password": Shop.password]
        let request = HTTPRequestData(method: .post, path: "sign-in", body: .json(credentials))
        let session = try await network.request(request, as: Tokens.self)
        tokens.set(
            Networking.Session(userID: "7", accessToken: session.accessToken, refreshToken: session.refreshToken)
        )
    }

    /// Sends five concurrent requests, two of which load the same basket.
    private static func firstScreen(over network: some NetworkingComponent) async throws {
        try await withThrowingTaskGroup { group in
            for (index, path) in ["profile", "feed", "banner", "basket", "basket"].enumerated() {
                group.addTask {
                    try await Task.sleep(for: .milliseconds(12 * index))
                    try await network.data(.path(path))
                }
            }
            try await group.waitForAll()
        }
    }

    /// Loads cached data, a second page and thumbnails, and cancels the last thumbnail while it waits.
    private static func productScreen(over network: some NetworkingComponent) async throws {
        async let profile = network.data(.path("profile"))
        async let feed = network.data(.path("feed"))
        async let page = network.data(.path("feed", page: 2))
        let event = HTTPRequestData(method: .post, url: Shop.metrics, body: .json(["screen": "products"]))
        let tracking = Task { try await network.data(event) }
        try await withThrowingTaskGroup { group in
            for number in 1...12 {
                group.addTask {
                    try await Task.sleep(for: .milliseconds(5 * number))
                    try await network.data(.path("thumbnails/\(number).png"))
                }
            }
            try await Task.sleep(for: .milliseconds(70))
            let last = Task { try await network.data(.path("thumbnails/13.png")) }
            try await Task.sleep(for: .milliseconds(90))
            last.cancel()
            try await group.waitForAll()
            _ = await last.result
        }
        let areCached = try await [profile, feed, page].map(\.isCached)
        try Tour.expect(areCached == [true, true, false], "unchanged responses come from the cache")
        guard case .failure = await tracking.result else {
            return try Tour.expect(false, "the server at \(Shop.metrics) is unreachable")
        }
    }

    /// Places an order.
    ///
    /// The report redacts its card and password.
    private static func order(over network: some NetworkingComponent) async throws {
        let order = ["product": "espresso-cup", "card": Shop.card, "password": Shop.password]
        let receipt = try await network.data(HTTPRequestData(method: .post, path: "orders", body: .json(order)))
        async let status = network.data(.path("orders/1001"))
        async let gift = network.data(.path("orders/1001/gift"))
        let statuses = try await [receipt, status, gift].map(\.status)
        try Tour.expect(statuses == [.created, .ok, .notFound], "the order exists and is not a gift")
    }
}

extension HTTPRequestData {
    fileprivate static func path(_ path: String, page: Int? = nil) -> HTTPRequestData {
        var request = HTTPRequestData(path: path)
        request.query["page"] = page.map { "\($0)" }
        return request
    }
}

private struct Renewal: AuthenticationDelegate {
    func refresh(
        _ session: Networking.Session,
        after response: HTTPResponseData?,
        over network: any NetworkingComponent
    ) async throws -> Networking.Session {
        let body = RequestBody.json(["refreshToken": session.refreshToken])
        let request = HTTPRequestData(method: .post, url: Shop.refresh, body: body)
        let tokens = try await network.request(request, as: Tokens.self)
        return session.renewed(accessToken: tokens.accessToken, refreshToken: tokens.refreshToken)
    }
}

private struct Tokens: Decodable {
    let accessToken: String
    let refreshToken: String
}
