#if URLSession && AsyncHTTPClient && SQLite && Telemetry
import Foundation
import HTTPTypes
import Logging
import Networking
import NetworkingInspector

/// A transport that returns the same response at once, without copying anything.
struct InstantTransport: NetworkingComponent {
    let response: HTTPResponseData

    init(headerFields: HTTPFields = [:], data: Data = Data()) {
        response = HTTPResponseData(request: HTTPRequestData(), headerFields: headerFields, data: data)
    }

    func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        response
    }
}

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

/// A modifier that does nothing, written as one outside the library.
struct PassThrough: NetworkingModifier {
    func send(
        _ request: HTTPRequestData,
        upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        try await upstream.send(request)
    }
}

enum TenantKey: NetworkEnvironmentKey {
    static let defaultValue = 0
}

extension NetworkEnvironment {
    var tenant: Int {
        get { self[TenantKey.self] }
        set { self[TenantKey.self] = newValue }
    }
}

extension NetworkingComponent {
    /// The nine modifiers of an app, in the order in which an app uses them.
    ///
    /// The limit of `throttled` lets all callers of the benchmarks pass, because the client alone has no such limit.
    func appStack(_ url: URL, maximum: Int = 1 << 20) -> some NetworkingComponent {
        attempts(maximum: maximum).deduplicated().calls(url)
    }

    /// The stack of an app without `deduplicated`, the only one of its modifiers that starts a task.
    func appStackWithoutSharing(_ url: URL) -> some NetworkingComponent {
        attempts(maximum: 1 << 20).calls(url)
    }

    private func attempts(maximum: Int) -> some NetworkingComponent {
        timeout(.seconds(10)).throttled(max: maximum).retry()
    }

    private func calls(_ url: URL) -> some NetworkingComponent {
        checkedStatusCode()
            .deadline(.seconds(30))
            .numbered()
            .server(headerField: .accept, "application/json")
            .server(baseURL: url)
    }

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

    /// Nine light modifiers.
    func stackOfNine(authority: String, scheme: String = "https") -> some NetworkingComponent {
        timeout(.seconds(10)).hoplessStack(authority: authority, scheme: scheme)
    }

    /// The same without `timeout`, which runs its upstream in a separate task.
    func hoplessStack(authority: String, scheme: String = "https") -> some NetworkingComponent {
        environment(\.tenant, 1)
            .delayed(by: .zero)
            .checkedStatusCode()
            .logged(using: .silent)
            .numbered()
            .server(headerField: .accept, "application/json")
            .server(scheme: scheme)
            .server(authority: authority)
    }
}

extension Logger {
    /// A logger without output.
    static let silent = Logger(label: "benchmarks") { _ in SwiftLogNoOpLogHandler() }

    /// A logger that shows warnings, as in production.
    static let warnings: Logger = {
        var logger = Logger(label: "benchmarks") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .warning
        return logger
    }()
}
#endif
