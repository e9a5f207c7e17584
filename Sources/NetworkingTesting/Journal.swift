import Synchronization

/// An ordered record of notes from different parts of a test.
///
/// Use it to compare the order of events in several places, such as closures, delegates and tasks.
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

    /// The notes, in order.
    public var entries: [String] {
        state.withLock { $0 }
    }

    /// The entries, one per line.
    public var text: String {
        entries.joined(separator: "\n")
    }

    /// Appends an entry.
    ///
    /// - Parameter entry: The text of the entry.
    public func note(_ entry: String) {
        state.withLock { $0.append(entry) }
    }
}
