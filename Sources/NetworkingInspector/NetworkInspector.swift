import FoundationForNetworking
public import NetworkingCore

/// Records the calls of one or more stacks, and shows them as a report, an HTTP archive, text or a live page.
///
/// ```swift
/// let inspector = NetworkInspector(title: "Shop")
/// let network = URLSession.shared.retry().cached().inspected(by: inspector)
/// // … later:
/// try inspector.writeReport(to: URL(filePath: "network.html"))
/// try inspector.archive.write(to: URL(filePath: "network.har"))
/// print(inspector.archive.waterfall())
/// ```
///
/// When the limits are reached, the oldest bodies are removed first, and then the oldest calls. ``maximumBytes`` limits
/// the memory of the calls, with their URLs, header fields, errors and bodies. Everything that the inspector shows or
/// writes is redacted; its memory is not.
public final class NetworkInspector: Sendable {
    /// The title of the report and of the page.
    public let title: String
    /// The redaction of everything that the inspector shows or writes.
    public let redaction: Redaction
    /// The maximum size of a stored body, in bytes.
    public let bodyLimit: Int
    /// The approximate maximum number of bytes of memory that all calls may take together.
    public let maximumBytes: Int

    let shelf: CallShelf

    /// Creates an empty inspector.
    ///
    /// - Parameters:
    ///   - title: The title of the report and of the page.
    ///   - maximumCalls: The maximum number of calls to store, 1,000 by default; the oldest are removed. A call takes
    ///     about 5 KB in addition to its bodies.
    ///   - bodyLimit: The maximum size of a stored body, in bytes; only the length of longer ones is recorded. 1 MiB by
    ///     default.
    ///   - maximumBytes: The approximate maximum number of bytes of memory for all calls together, 64 MiB by default.
    ///     The oldest bodies are removed first. Everything except bodies takes at most half of it, and the oldest calls
    ///     are removed to ensure that. The exchanges of one call take at most an eighth; further exchanges of that call
    ///     are not recorded.
    ///   - redaction: The redaction of everything that the inspector shows or writes.
    /// - Precondition: `maximumCalls` is greater than zero, and neither `bodyLimit` nor `maximumBytes` is negative.
    public init(
        title: String = "Network",
        keeping maximumCalls: Int = 1_000,
        bodyLimit: Int = 1 << 20,
        maximumBytes: Int = 64 << 20,
        redaction: Redaction = .standard
    ) {
        precondition(maximumCalls > 0, "maximumCalls must be greater than zero (is \(maximumCalls))")
        precondition(bodyLimit >= 0, "bodyLimit must not be negative (is \(bodyLimit))")
        precondition(maximumBytes >= 0, "maximumBytes must not be negative (is \(maximumBytes))")
        self.title = title
        self.bodyLimit = bodyLimit
        self.redaction = redaction
        self.maximumBytes = maximumBytes
        shelf = CallShelf(maximumCalls: maximumCalls, maximumBytes: maximumBytes)
    }

    /// The number of recorded calls, including those in progress.
    public var callCount: Int {
        shelf.captures.count
    }

    /// Whether recording is paused.
    public var isPaused: Bool {
        shelf.isPaused
    }

    /// Pauses recording until ``resume()``; calls in progress are recorded to their end.
    public func pause() {
        shelf.setPaused(true)
    }

    /// Resumes recording.
    public func resume() {
        shelf.setPaused(false)
    }

    /// Removes all calls, including those in progress.
    public func clear() {
        shelf.clear()
    }
}

extension NetworkInspector: CustomStringConvertible, CustomReflectable {
    /// The number of recorded calls.
    public var description: String {
        "NetworkInspector(\(callCount) calls)"
    }

    /// A dump without the calls, because they are not redacted.
    public var customMirror: Mirror {
        Mirror(self, children: ["title": title, "callCount": callCount, "isPaused": isPaused])
    }
}
