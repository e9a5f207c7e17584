import Synchronization

/// What happened, in order, whoever tells.
///
/// For what a test wants to compare the order of, when it happens in several places: closures, delegates, tasks.
///
/// ```swift
/// let journal = Journal()
/// let network = MockTransport { request in
///     journal.note("sent \(request.path ?? "")")
///     return .ok()
/// }
/// // …
/// #expect(journal.entries == ["sent /one", "sent /two"])
/// ```
public final class Journal: Sendable {
    private let state = Mutex<[String]>([])

    /// Creates an empty journal.
    public init() {}

    /// What was noted, in order.
    public var entries: [String] {
        state.withLock { $0 }
    }

    /// The entries, one a line.
    public var text: String {
        entries.joined(separator: "\n")
    }

    /// Adds an entry behind those that are there.
    ///
    /// - Parameter entry: What happened.
    public func note(_ entry: String) {
        state.withLock { $0.append(entry) }
    }
}
