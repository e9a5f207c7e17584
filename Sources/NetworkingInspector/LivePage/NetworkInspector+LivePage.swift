#if Inspector
public import Foundation
import NetworkingCore
import NetworkingLoopback

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
        let clock = NetworkEnvironment.current.clock
        let page = LivePage(of: self, on: clock)
        let listener: LoopbackListener
        do {
            listener = try await LoopbackListener(port: port == 0 ? nil : port)
        } catch let fault as LoopbackFault {
            throw LivePageError(fault)
        }
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await listener.serve(atMost: LivePage.maximumTime, on: clock) { try await page.serve($0) } }
            defer { group.cancelAll() }
            return try await operation(try page.open(at: listener.port))
        }
    }
}

/// The reason why a live page could not be served.
public struct LivePageError: Error, LocalizedError, CustomStringConvertible {
    /// The failure and its remedy.
    public let reason: String

    init(_ fault: LoopbackFault) {
        let place = fault.place
        reason =
            switch fault.reason {
            case .inUse:
                "The live page could not be served: \(place) is in use by another program. Choose another port, or 0 "
                    + "for any free one."
            case .forbidden:
                "The live page could not be served: this user may not use \(place). Choose a port above 1023, or 0 for "
                    + "any free one."
            case .other(let message?):
                "The live page could not be served: \(place) is not available (\(message))."
            case .other(nil): "The live page could not be served: \(place) is not available."
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
