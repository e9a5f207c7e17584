#if Valkey
import Crypto
public import NetworkingAuthentication
import NetworkingCore

/// Stores sessions in Valkey or Redis for all machines of a service, so that one of them refreshes a session for all.
///
/// ```swift
/// let storage = ValkeySessionStorage(
///     valkey,
///     namespace: "shop",
///     keys: [SessionSealingKey(id: "2026-11", key)]
/// )
/// let tokens = try await TokenStore(for: "emily", sharing: storage, delegate: Login())
/// ```
///
/// Sessions are encrypted with AES-GCM under the first of the keys; the others can still open sessions. The server
/// sees the namespace, a digest of the user's id, the name of the key and the length of the session.
///
/// **The lock** of a session is a key with a random owner and a lease, which is longer than the store's `timeout` and
/// is renewed during the refresh. Only its owner releases it. If a process is killed during a refresh, others refresh
/// when the lease has ended. A new session is stored in one step only if no other holder has the lock and the stored
/// session is still the one from which it was refreshed.
///
/// **If the server cannot be used**, a refresh fails with an error of kind `NetworkingError.Kind.storage`, and no token
/// is sent. Tokens that have not expired are used. A session that the refresh has just received is used at once, and
/// stored as soon as the server can be reached, within the store's `timeout`.
///
/// A session that is missing counts as a sign-out, so the server should keep its keys: with an append-only file, and
/// without the eviction of keys that have an expiry (`maxmemory-policy noeviction`). Replicas receive each change
/// later. After a failover that has lost the last change, two processes may refresh the same session.
public struct ValkeySessionStorage: SharedSessionStorage {
    private let server: Server
    private let seal: SessionSeal
    private let namespace: KeyNamespace
    private let lifetime: Duration

    /// Creates a storage.
    ///
    /// - Parameters:
    ///   - commands: The client of the server.
    ///   - namespace: The start of all keys, which separates services that use one server.
    ///   - keys: The keys of the encryption: the first one seals sessions, all of them open sessions.
    ///   - lifetime: The time after which the server removes a session that was not saved since then; 90 days by
    ///     default. Each refresh saves the session.
    ///   - timeout: The time limit for each command; 500 milliseconds by default. A refresh can wait longer than a
    ///     request, and requests with a token that has not expired do not wait. The client may have a shorter limit of
    ///     its own, as a ``ValkeyClient`` has.
    /// - Precondition: `namespace` is not empty and contains no brace.
    public init(
        _ commands: any ValkeyCommands,
        namespace: String,
        keys: [SessionSealingKey],
        lifetime: Duration = .seconds(90 * 86_400),
        timeout: Duration = .milliseconds(500)
    ) {
        server = Server(commands: commands, timeout: timeout)
        seal = SessionSeal(keys: keys)
        self.namespace = KeyNamespace(namespace)
        self.lifetime = max(.milliseconds(1), lifetime)
    }

    // MARK: Sessions

    /// Returns the session of a user; `nil` if there is none.
    ///
    /// - Parameter userID: The id of the user; empty for a session without an id.
    /// - Returns: The session.
    /// - Throws: `SessionStorageError` if the server cannot be used, or if the value cannot be decrypted.
    public func session(for userID: String) async throws -> Session? {
        try await value(of: userID).map { try open($0, of: userID) }
    }

    /// Stores a session and replaces the previous session of its user.
    ///
    /// - Parameter session: The session.
    /// - Throws: `SessionStorageError`.
    public func save(_ session: Session) async throws {
        let (key, lifetime) = (key(.session, of: session.userID ?? ""), lifetime)
        let value = try seal.seal(session, at: key)
        try await server.run { _ = try await $0.set(key, to: value, ValkeySetOptions(expiry: lifetime)) }
    }

    /// Removes the session of a user.
    ///
    /// - Parameter userID: The id of the user.
    /// - Throws: `SessionStorageError`.
    public func removeSession(for userID: String) async throws {
        let key = key(.session, of: userID)
        try await server.run { _ = try await $0.evaluate(SessionScript.remove, keys: [key], arguments: []) }
    }

    // MARK: The lock

    /// Tries to take the lock of a user's session.
    ///
    /// - Parameters:
    ///   - userID: The id of the user.
    ///   - lease: The time after which the server ends the lock if it is not renewed.
    /// - Returns: The lock, or when to try again: in 50 to 150 milliseconds, at random.
    /// - Throws: `SessionStorageError` if it is not known whether the lock was taken. If it was, it is released.
    public func lockSession(for userID: String, lease: Duration) async throws -> SessionLockOutcome {
        let environment = NetworkEnvironment.current
        let owner = environment.secureRandom.bytes(16).hexadecimal
        let lock = HeldKey(key: key(.lock, of: userID), owner: Array(owner.utf8), server: server)
        let start = environment.clock.now
        do {
            guard try await lock.take(for: lease) else {
                let jitter = NetworkEnvironment.current.random.fraction()
                return .held(retryAfter: .milliseconds(50) + .milliseconds(100) * jitter)
            }
        } catch {
            // The server may have set the key, although its reply did not arrive. In an outage, most attempts are not
            // sent, and a release of each of them would still be tried when the server is back.
            if (error as? ValkeyError)?.kind.mayHaveRun ?? true { lock.release() }
            throw try server.unusable(error)
        }
        return .acquired(
            SessionLock(owner: owner, lease: lease, since: start) {
                try await lock.renew(for: lease)
            } release: {
                lock.release()
            }
        )
    }

    /// Stores a refreshed session in one step, unless the stored one has changed or another holder has the lock.
    ///
    /// - Parameters:
    ///   - session: The session.
    ///   - old: The session that the holder has read; `nil` if there was none.
    ///   - lock: The lock of the same user, which may have ended.
    /// - Returns: Whether the session is stored.
    /// - Throws: `SessionStorageError` if it is not known whether it was stored; another attempt finds out.
    public func save(_ session: Session, replacing old: Session?, under lock: SessionLock) async throws -> Bool {
        let userID = session.userID ?? ""
        let (key, lockKey) = (key(.session, of: userID), key(.lock, of: userID))
        let value = try await value(of: userID)
        let stored = try value.map { try open($0, of: userID) }
        // An earlier attempt without a reply has stored it.
        guard stored != session else { return true }
        guard stored == old else { return false }
        let arguments = [
            Array(lock.owner.utf8), value ?? [], try seal.seal(session, at: key), lifetime.millisecondDigits,
        ]
        return try await server.run {
            try await $0.evaluate(SessionScript.replace, keys: [lockKey, key], arguments: arguments).integer == 1
        }
    }

    // MARK: Keys

    private enum Part: String {
        case session, lock
    }

    /// Returns a key; both keys of a user are in one slot of a cluster.
    private func key(_ part: Part, of userID: String) -> String {
        let digest = SHA256.hash(data: Array(userID.utf8)).prefix(16).hexadecimal
        return namespace.key(digest, part.rawValue)
    }

    private func value(of userID: String) async throws -> [UInt8]? {
        let key = key(.session, of: userID)
        return try await server.run { try await $0.get(key) }
    }

    private func open(_ value: [UInt8], of userID: String) throws -> Session {
        try seal.open(value, of: userID, at: key(.session, of: userID))
    }
}

/// The server, as a storage of sessions uses it.
private struct Server: Sendable {
    let commands: any ValkeyCommands
    let timeout: Duration

    /// Runs commands within the time limit.
    ///
    /// - Throws: `SessionStorageError`, or `CancellationError` if the caller is cancelled.
    func run<Value: Sendable>(
        _ work: @escaping @Sendable (any ValkeyCommands) async throws -> Value
    ) async throws -> Value {
        do {
            return try await attempt(work)
        } catch {
            throw try unusable(error)
        }
    }

    /// Runs commands within the time limit, and throws the error of the client.
    func attempt<Value: Sendable>(
        _ work: @escaping @Sendable (any ValkeyCommands) async throws -> Value
    ) async throws -> Value {
        try await StoreWait.run(until: nil, atMost: timeout) { [commands] in try await work(commands) }
    }

    /// Returns the error of the storage for an error of the client.
    ///
    /// - Throws: `CancellationError` if the caller is cancelled.
    func unusable(_ error: any Error) throws -> SessionStorageError {
        try Task.checkCancellation()
        let reason =
            switch error {
            case is StoreWait.Timeout: "It did not reply within \(timeout.roundedText)."
            case let error as ValkeyError: "The command failed: \(error)."
            // The description of an unknown error may contain a secret.
            default: "The client threw \(type(of: error))."
            }
        return SessionStorageError.unusable(
            reason: "The Valkey server of the sessions cannot be used. \(reason) Check the server and its load."
        )
    }
}

/// The key of a lock, with the name of its holder as the value.
private struct HeldKey: Sendable {
    let key: String
    let owner: [UInt8]
    let server: Server

    /// Throws the error of the client.
    func take(for lease: Duration) async throws -> Bool {
        try await server.attempt { [self] in
            try await $0.set(key, to: owner, ValkeySetOptions(.ifMissing, expiry: lease))
        }
    }

    /// Returns `false` if another holder has the lock, or if it has ended.
    func renew(for lease: Duration) async throws -> Bool {
        try await server.run { [self] in
            try await $0.evaluate(SessionScript.renew, keys: [key], arguments: [owner, lease.millisecondDigits]).integer
                == 1
        }
    }

    /// Releases the lock in the background, in a few attempts.
    ///
    /// If they fail, it ends with its lease.
    func release() {
        let environment = NetworkEnvironment.current
        _ = OwnedTask.detached { [self] in
            try await NetworkEnvironment.$current.withValue(environment) {
                for attempt in 0..<5 {
                    do {
                        return try await server.run {
                            _ = try await $0.evaluate(SessionScript.release, keys: [key], arguments: [owner])
                        }
                    } catch {
                        try await environment.clock.sleep(for: .milliseconds(500 << attempt))
                    }
                }
            }
        }
    }
}

extension Duration {
    /// The whole milliseconds, at least one, as an argument of a command.
    var millisecondDigits: [UInt8] {
        // The server adds its own clock to the number, and refuses a sum that overflows.
        let seconds = min(max(self, .zero), .seconds(100 * 365 * 86_400)).components
        return Array("\(max(1, seconds.seconds * 1_000 + seconds.attoseconds / 1_000_000_000_000_000))".utf8)
    }
}
#endif
