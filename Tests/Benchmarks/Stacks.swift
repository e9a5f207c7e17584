#if URLSession && AsyncHTTPClient && SQLite && Telemetry
import Foundation
import Networking
import NetworkingInspector

/// A transport that suspends once before it returns its response.
struct SuspendingTransport: NetworkingComponent {
    let response = HTTPResponseData(request: HTTPRequestData())

    func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        await Task.yield()
        return response
    }
}

/// A transport that suspends once and enforces time limits itself, as those for a network do.
struct LimitingTransport: NetworkingComponent {
    private let response = HTTPResponseData(request: HTTPRequestData())

    func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        let alarm = request.exchangeLimit?.alarm {}
        defer { alarm?.cancel() }
        await Task.yield()
        return response
    }

    // swift-format-ignore: NoLeadingUnderscores
    var _endsAtLimit: Bool {
        true
    }
}

extension NetworkingComponent {
    /// The parts of the stack of an app, and some more, each alone around this component.
    func parts(_ url: URL) -> [(name: String, network: any NetworkingComponent)] {
        [
            ("server and header field alone", server(headerField: .accept, "application/json").server(baseURL: url)),
            ("numbered alone", numbered().server(baseURL: url)),
            ("checkedStatusCode alone", checkedStatusCode().server(baseURL: url)),
            ("deadline alone", deadline(.seconds(30)).server(baseURL: url)),
            ("deduplicated alone", deduplicated().server(baseURL: url)),
            ("retry alone", retry().server(baseURL: url)),
            ("throttled alone", throttled(max: 1 << 20).server(baseURL: url)),
            ("timeout alone", timeout(.seconds(10)).server(baseURL: url)),
            ("authenticated alone", authenticated(with: BearerCredentials(token: "token")).server(baseURL: url)),
            ("traced alone", traced().server(baseURL: url)),
            ("inspected alone", inspected(by: NetworkInspector(keeping: 100)).server(baseURL: url)),
            ("cached alone, nothing stored", cached().server(baseURL: url)),
        ]
    }
}
#endif
