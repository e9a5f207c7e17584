#if Inspector
import FlyingSocks
public import Foundation
import NetworkingCore

extension NetworkInspector {
    /// Serves a page that shows the calls as they happen, until the caller is cancelled.
    ///
    /// ```swift
    /// let serving = Task {
    ///     do {
    ///         try await inspector.serveLivePage { print("The network, live: \($0)") }
    ///     } catch {
    ///         print(error)    // a port that is taken
    ///     }
    /// }
    /// ```
    ///
    /// To serve it while an operation runs, use ``withLivePage(port:_:)``.
    ///
    /// Use it during development. Only programs on this machine can reach the page (127.0.0.1), and only if they know
    /// its URL, which contains 128 random bits. Requests from other pages, or with another host name, are refused. This
    /// method needs the trait `Inspector`.
    ///
    /// - Parameters:
    ///   - port: The port; 0, the default, for any free port.
    ///   - onReady: Called with the page's URL, once it can be opened.
    /// - Throws: ``LivePageError`` if the port is not available, and `CancellationError` when the caller is cancelled.
    public func serveLivePage(port: UInt16 = 0, onReady: @Sendable (URL) -> Void) async throws {
        try await withLivePage(port: port) { url in
            onReady(url)
            try await Suspension<Void>().value(until: nil)
        }
    }

    /// Serves a page that shows the calls as they happen, while an operation runs; see
    /// ``serveLivePage(port:onReady:)``.
    ///
    /// ```swift
    /// try await inspector.withLivePage { url in
    ///     print("The network, live: \(url)")
    ///     try await app.run()
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - port: The port; 0, the default, for any free port.
    ///   - operation: The operation to run, with the page's URL.
    /// - Returns: The result of the operation.
    /// - Throws: ``LivePageError`` if the port is not available, and the error of the operation.
    public func withLivePage<Result: Sendable>(
        port: UInt16 = 0,
        _ operation: (URL) async throws -> Result
    ) async throws -> Result {
        try Task.checkCancellation()
        let page = LivePage(of: self, on: NetworkEnvironment.current.clock)
        let server: LivePageServer
        do {
            server = try await LivePageServer(port: port)
        } catch let error as SocketError {
            throw LivePageError(error, port: port)
        }
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await server.run(page) }
            defer { group.cancelAll() }
            return try await operation(try page.open(at: server.port))
        }
    }
}

/// The reason why a live page could not be served.
public struct LivePageError: Error, LocalizedError, CustomStringConvertible {
    /// The failure and its remedy.
    public let reason: String

    init(_ error: SocketError, port: UInt16) {
        let place = port == 0 ? "a port of 127.0.0.1" : "port \(port) of 127.0.0.1"
        reason =
            switch error {
            case .failed(_, EADDRINUSE, _):
                "The live page could not be served: \(place) is in use by another program. Choose another port, or 0 "
                    + "for any free one."
            case .failed(_, EACCES, _):
                "The live page could not be served: this user may not use \(place). Choose a port above 1023, or 0 for "
                    + "any free one."
            case .failed(_, _, let message):
                "The live page could not be served: \(place) is not available (\(message))."
            default: "The live page could not be served: \(place) is not available."
            }
    }

    /// The ``reason``.
    public var description: String {
        reason
    }

    /// The ``reason``, for `localizedDescription`.
    public var errorDescription: String? {
        reason
    }
}
#endif
