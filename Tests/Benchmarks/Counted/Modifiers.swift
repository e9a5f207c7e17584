import Foundation
import Logging
import Networking

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
    /// Eleven modifiers that do nothing.
    func eleven() -> some NetworkingComponent {
        modified(PassThrough()).modified(PassThrough()).modified(PassThrough()).modified(PassThrough())
            .modified(PassThrough()).modified(PassThrough()).modified(PassThrough()).modified(PassThrough())
            .modified(PassThrough()).modified(PassThrough()).modified(PassThrough())
    }

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
