public import Networking

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Keeps what the calls of one stack or several did, and shows it: as a report, as an HTTP archive, as text, as a live
/// page.
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
/// The oldest calls make room for new ones, and their bodies do before that. ``maximumBytes`` bounds the memory of the
/// calls, with their URLs, header fields, errors and bodies. Nothing that the inspector shows or writes has what its
/// redaction hides; its memory has.
public final class NetworkInspector: Sendable {
    /// What the report and the page are called.
    public let title: String
    /// What is hidden.
    public let redaction: Redaction
    /// The longest body that is kept, in bytes.
    public let bodyLimit: Int
    /// About how many bytes of memory all calls may take together.
    public let maximumBytes: Int

    let shelf: CallShelf

    /// Creates an inspector that has seen nothing.
    ///
    /// - Parameters:
    ///   - title: What the report and the page are called.
    ///   - maximumCalls: How many calls to keep; the oldest make room. A call takes some 5 KB besides its bodies.
    ///   - bodyLimit: The longest body to keep, in bytes; of longer ones the length is told. 1 MiB by default.
    ///   - maximumBytes: About how many bytes of memory all calls may take together, 64 MiB by default. The oldest
    ///     bodies make room. All but bodies takes at most half of it, and the oldest calls make room for that. The
    ///     exchanges of one call take at most an eighth, after which no more of them are kept.
    ///   - redaction: What to hide.
    /// - Precondition: `maximumCalls` is greater than zero, the limits are not negative.
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

    /// How many calls it has, those under way included.
    public var callCount: Int {
        shelf.captures.count
    }

    /// Whether calls pass without being kept.
    public var isPaused: Bool {
        shelf.isPaused
    }

    /// Lets calls pass without being kept, until ``resume()``; those under way are kept to their end.
    public func pause() {
        shelf.setPaused(true)
    }

    /// Keeps calls again.
    public func resume() {
        shelf.setPaused(false)
    }

    /// Forgets all calls, those under way included.
    public func clear() {
        shelf.clear()
    }

    /// What it has, as an HTTP archive; calls under way as far as they are.
    public var archive: HTTPArchive {
        HTTPArchive(of: shelf.captures, title: title)
    }

    /// Writes what it has as a page for a browser: one file, which only this user may read and which needs no network.
    ///
    /// - Parameter url: The file; one that is there is replaced.
    /// - Throws: ``HTTPArchiveError`` when it cannot be written.
    public func writeReport(to url: URL) throws(HTTPArchiveError) {
        try archive.writeReport(to: url)
    }
}

extension NetworkInspector: CustomStringConvertible, CustomReflectable {
    /// How many calls it has.
    public var description: String {
        "NetworkInspector(\(callCount) calls)"
    }

    /// What a dump shows: nothing of the calls, which are as they were.
    public var customMirror: Mirror {
        Mirror(self, children: ["title": title, "callCount": callCount, "isPaused": isPaused])
    }
}
