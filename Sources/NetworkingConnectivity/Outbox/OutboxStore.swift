public import FoundationForNetworking
public import NetworkingCore
import Synchronization

/// A store for the entries of an ``Outbox``.
///
/// When a method that changes the store has returned, the change must survive the end of the process. A change that is
/// interrupted has either happened completely or not at all.
public protocol OutboxStore: Sendable {
    /// Returns the identifiers of all entries in order, including dead letters.
    func ids() async throws -> [OutboxEntry.ID]

    /// Returns an entry with its progress; `nil` if there is none.
    ///
    /// - Throws: ``OutboxStoreError/damaged(_:)`` once for an entry that cannot be read, which the store sets aside.
    func entry(_ id: OutboxEntry.ID) async throws -> OutboxEntry?

    /// Adds an entry.
    func add(_ entry: OutboxEntry) async throws

    /// Replaces the progress of an entry; does nothing if there is no such entry.
    func update(_ progress: OutboxEntry.Progress, of id: OutboxEntry.ID) async throws

    /// Removes an entry.
    ///
    /// - Returns: `true` if there was one.
    func remove(_ id: OutboxEntry.ID) async throws -> Bool

    /// Claims the entries for sending, unless another process or object has claimed them.
    ///
    /// The claim ends with the process.
    ///
    /// - Returns: `true` if this object has the claim now.
    func claim() async throws -> Bool

    /// Ends the claim.
    func release() async
}

/// An error of an ``OutboxStore``.
@nonexhaustive
public enum OutboxStoreError: Error, LocalizedError, ErrorWithUserText, CustomStringConvertible {
    /// An entry could not be read and was set aside.
    case damaged(OutboxEntry.ID)
    /// The file of all entries was damaged, and the store starts empty.
    ///
    /// The URL is the new name of the file; `nil` if another process has moved it.
    case fileDamaged(movedTo: URL?)
    /// A file or the directory cannot be used.
    case unusable(reason: String)

    /// The error and what to do about it, without secrets.
    public var description: String {
        switch self {
        case .damaged(let id): "The entry \(id) could not be read and was set aside."
        case .fileDamaged(let file?):
            "The file of the outbox was damaged and was moved to \(file.path). The outbox starts empty, and requests "
                + "that were not sent are lost."
        case .fileDamaged(nil):
            "The file of the outbox was damaged. The outbox starts empty, and requests that were not sent are lost."
        case .unusable(let reason): reason
        }
    }

    package var userText: UserText {
        switch self {
        case .damaged, .fileDamaged:
            UserText(
                key: "outbox.damaged",
                description: "Changes that were not sent yet are lost.",
                reason: "The file with the unsent changes is damaged.",
                suggestion: "Check your latest changes and make them again."
            )
        case .unusable:
            UserText(
                key: "outbox.unusable",
                description: "Changes that were not sent yet could not be read or saved.",
                reason: "The file with the unsent changes is protected, or there is not enough free space.",
                suggestion: "Check the free space on this device and try again."
            )
        }
    }
}

/// A store in memory, for tests and previews.
public final class MemoryOutboxStore: OutboxStore {
    private let state = Mutex(State())

    /// Creates an empty store.
    public init() {}

    /// Returns the identifiers of all entries in order.
    public func ids() -> [OutboxEntry.ID] {
        state.withLock { $0.entries.keys.sorted() }
    }

    /// Returns an entry; `nil` if there is none.
    public func entry(_ id: OutboxEntry.ID) -> OutboxEntry? {
        state.withLock { $0.entries[id] }
    }

    /// Adds an entry.
    ///
    /// - Throws: The errors of ``HTTPRequestData/encode(to:)``, like a store on disk.
    public func add(_ entry: OutboxEntry) throws {
        let stored = try JSONDecoder().decode(OutboxEntry.self, from: JSONEncoder().encode(entry))
        state.withLock { $0.entries[entry.id] = stored }
    }

    /// Replaces the progress of an entry.
    public func update(_ progress: OutboxEntry.Progress, of id: OutboxEntry.ID) {
        state.withLock { $0.entries[id]?.progress = progress }
    }

    /// Removes an entry.
    public func remove(_ id: OutboxEntry.ID) -> Bool {
        state.withLock { $0.entries.removeValue(forKey: id) != nil }
    }

    /// Claims the entries for sending.
    public func claim() -> Bool {
        state.withLock { state in
            defer { state.isClaimed = true }
            return !state.isClaimed
        }
    }

    /// Ends the claim.
    public func release() {
        state.withLock { $0.isClaimed = false }
    }

    private struct State {
        var entries: [OutboxEntry.ID: OutboxEntry] = [:]
        var isClaimed = false
    }
}
