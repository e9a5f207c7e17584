#if URLSession && AsyncHTTPClient && SQLite
import Logging
import Networking

/// A transport that answers at once with the same response, without a copy of anything.
struct InstantTransport: NetworkingComponent {
    let response: HTTPResponseData

    init() {
        response = HTTPResponseData(request: HTTPRequestData())
    }

    func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        response
    }
}

/// A transport that suspends once before it answers.
struct SuspendingTransport: NetworkingComponent {
    let response = HTTPResponseData(request: HTTPRequestData())

    func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        await Task.yield()
        return response
    }
}

/// A modifier that does nothing, as somebody's own would be written.
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
    /// Nine modifiers, all that exist and make sense together; those still to come take their places.
    func stackOfNine(authority: String, scheme: String = "https") -> some NetworkingComponent {
        timeout(.seconds(10)).hoplessStack(authority: authority, scheme: scheme)
    }

    /// The same without `timeout`, which runs its upstream in a task of its own.
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
    /// A logger that is there but shows nothing that is logged.
    static let silent = Logger(label: "benchmarks") { _ in SwiftLogNoOpLogHandler() }

    /// A logger that shows warnings, as in production.
    static let warnings: Logger = {
        var logger = Logger(label: "benchmarks") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .warning
        return logger
    }()
}
#endif
