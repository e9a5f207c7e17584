import NetworkingCore
import Synchronization

/// Stores the changes of a token store, one after the other.
struct CredentialStorage<Credentials: AuthenticatingCredentials>: Sendable {
    let store: @Sendable (CredentialChange<Credentials>, _ before: Credentials?) throws -> Void
    /// Receives the errors of changes that could not be stored.
    let onFailure: @Sendable (any Error) -> Void
    /// The part that other processes also use; `nil` if the storage is not a ``SharedSessionStorage``.
    let shared: SharedCredentials<Credentials>?
}

extension CredentialStorage where Credentials == Session {
    init(
        _ storage: any SessionStorage,
        with stored: Session?,
        onFailure: @escaping @Sendable (any Error) -> Void
    ) {
        let known = KnownSession(stored)
        self.onFailure = onFailure
        shared = (storage as? any SharedSessionStorage & SessionStorage).map { SharedCredentials($0, known) }
        store = { change, before in
            let (saved, removed) = change.effect(after: before)
            if let saved { try storage.save(saved) }
            known.note(change)
            if let removed { try storage.removeSession(for: removed) }
        }
    }

    /// Stores the changes in the background.
    init(
        _ storage: any SharedSessionStorage,
        with stored: Session?,
        of userID: String,
        onFailure: @escaping @Sendable (any Error) -> Void
    ) {
        let (known, changes, signOuts) = (KnownSession(stored), StorageQueue(), SignOuts())
        self.onFailure = onFailure
        shared = SharedCredentials(storage, known, startingWith: userID, changes, signOuts)
        store = { change, before in
            let (saved, removed) = change.effect(after: before)
            changes.add {
                do {
                    if let saved {
                        signOuts.remove(saved.userID ?? "")
                        try await storage.save(saved)
                    }
                    known.note(change)
                    if let removed {
                        signOuts.add(removed)
                        try await signOuts.carryOut(in: storage)
                    }
                } catch {
                    onFailure(error)
                }
            }
        }
    }
}

extension CredentialChange<Session> {
    /// The session to save, and the user whose session is to be removed.
    fileprivate func effect(after before: Session?) -> (saved: Session?, removed: String?) {
        let old = before?.userID ?? ""
        return switch self {
        case .set(let session): (session, nil)
        // The session may belong to the same user, although the user's ID was not known before.
        case .refreshed(let session): (session, before != nil && session.userID ?? "" != old ? old : nil)
        case .removed: (nil, old)
        }
    }
}

/// The users who have signed out and whose sessions are still stored, because the storage could not be reached.
///
/// They are removed before the next refresh, which would sign the user in again otherwise.
final class SignOuts: Sendable {
    private let users = Mutex<Set<String>>([])

    func add(_ userID: String) {
        _ = users.withLock { $0.insert(userID) }
    }

    func remove(_ userID: String) {
        _ = users.withLock { $0.remove(userID) }
    }

    /// Removes the sessions from the storage.
    func carryOut(in storage: any SharedSessionStorage) async throws {
        for userID in users.withLock({ $0 }) {
            try await storage.removeSession(for: userID)
            remove(userID)
        }
    }
}

/// The changes of a storage that takes its time: one after the other, and each to its end.
///
/// A change is not cancelled with the task that makes it, because half a change could be worse than all or none of it.
final class StorageQueue: Sendable {
    private let last = Mutex<OwnedTask<Void>?>(nil)

    /// Adds a change, which starts in the environment of the caller when all changes before it have ended.
    func add(_ change: @escaping @Sendable () async -> Void) {
        let environment = NetworkEnvironment.current
        last.withLock { last in
            last = .detached { [former = last] in
                try? await former?.value
                await NetworkEnvironment.$current.withValue(environment) { await change() }
            }
        }
    }

    /// Adds a change and waits for its end, also while the caller is cancelled.
    func run<Value: Sendable>(_ change: @escaping @Sendable () async throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            add {
                do {
                    continuation.resume(returning: try await change())
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        }
    }

    /// Waits until all changes so far have ended.
    func settle() async throws {
        guard let last = last.withLock({ $0 }) else { return }
        try await StoreWait.run(until: nil) { try await last.value }
    }
}
