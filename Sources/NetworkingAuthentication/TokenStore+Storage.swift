extension TokenStore where Credentials == Session {
    /// Creates a store that saves its session in a storage.
    ///
    /// ```swift
    /// let storage = FileSessionStorage(directory: folder)
    /// let tokens = TokenStore(try storage.session(for: "emily"), in: storage, delegate: Login())
    /// ```
    ///
    /// Sessions are saved when they are set or renewed, and deleted when they are removed. If a session cannot be
    /// saved, the store still uses it, and the error is passed to `onStorageFailure`.
    ///
    /// If the storage is a ``SharedSessionStorage``, a refresh first waits for its lock and reads the stored session
    /// again. A session that another process has renewed is used instead of a refresh, and a session that another
    /// process has removed is removed here, too. The wait counts towards `timeout`. If the storage cannot be locked or
    /// read, the refresh fails with an error of kind ``NetworkingError/Kind/storage``, and no token is sent.
    ///
    /// - Parameters:
    ///   - session: The initial session; `nil` if no user is signed in.
    ///   - storage: The storage of the session.
    ///   - delegate: The delegate that renews the session.
    ///   - leeway: The time before expiry at which the session is refreshed in the background, unless it has a
    ///     ``Session/refreshWindow``; 30 seconds by default.
    ///   - timeout: The time limit for one refresh; 60 seconds by default.
    ///   - limit: The maximum number of unsuccessful refreshes in an interval; five within 30 seconds by default.
    ///   - onStorageFailure: Receives the errors of changes that could not be stored; `nil` logs them as errors.
    public convenience init(
        _ session: Session?,
        in storage: any SessionStorage,
        delegate: (any AuthenticationDelegate<Session>)? = nil,
        leeway: Duration = .seconds(30),
        timeout: Duration = .seconds(60),
        limit: RefreshLimit = .standard,
        onStorageFailure: (@Sendable (any Error) -> Void)? = nil
    ) {
        let onFailure = onStorageFailure ?? logStorageFailure
        var stored: Session?
        if let session, storage is any SharedSessionStorage {
            do {
                stored = try storage.session(for: session.userID ?? "")
            } catch {
                onFailure(error)
            }
        }
        self.init(
            session?.ofSignIn(of: stored),
            delegate: delegate,
            leeway: leeway,
            timeout: timeout,
            limit: limit,
            storage: CredentialStorage(storage, with: stored, onFailure: onFailure)
        )
    }

    /// Creates a store with the session that a storage has for a user.
    ///
    /// ```swift
    /// let tokens = TokenStore(for: "emily", in: storage, delegate: Login())
    /// ```
    ///
    /// It reads the session and does not throw: if the session cannot be read, no user is signed in, and the error is
    /// passed to `onStorageFailure`. Otherwise it works like
    /// ``init(_:in:delegate:leeway:timeout:limit:onStorageFailure:)``.
    ///
    /// - Parameters:
    ///   - userID: The id of the user; empty for a session without an id.
    ///   - storage: The storage of the session.
    ///   - delegate: The delegate that renews the session.
    ///   - leeway: The time before expiry at which the session is refreshed in the background, unless it has a
    ///     ``Session/refreshWindow``; 30 seconds by default.
    ///   - timeout: The time limit for one refresh; 60 seconds by default.
    ///   - limit: The maximum number of unsuccessful refreshes in an interval; five within 30 seconds by default.
    ///   - onStorageFailure: Receives the errors of sessions that could not be read or stored; `nil` logs them as
    ///     errors.
    public convenience init(
        for userID: String,
        in storage: any SessionStorage,
        delegate: (any AuthenticationDelegate<Session>)? = nil,
        leeway: Duration = .seconds(30),
        timeout: Duration = .seconds(60),
        limit: RefreshLimit = .standard,
        onStorageFailure: (@Sendable (any Error) -> Void)? = nil
    ) {
        let onFailure = onStorageFailure ?? logStorageFailure
        var session: Session?
        do {
            session = try storage.session(for: userID)
        } catch {
            onFailure(error)
        }
        self.init(
            session,
            in: storage,
            delegate: delegate,
            leeway: leeway,
            timeout: timeout,
            limit: limit,
            onStorageFailure: onFailure
        )
    }

    /// Creates a store that saves its session in a storage behind a network.
    ///
    /// ```swift
    /// let tokens = await TokenStore(session, sharing: storage, delegate: Login())
    /// ```
    ///
    /// It works like ``init(_:in:delegate:leeway:timeout:limit:onStorageFailure:)``, and stores each change in the
    /// background, in order (``flush()``). If no user is signed in, it takes the lock and uses the stored session of
    /// the user, if there is one, before it asks the delegate for the first credentials.
    ///
    /// - Parameters:
    ///   - session: The initial session; `nil` if no user is signed in.
    ///   - storage: The storage of the session.
    ///   - delegate: The delegate that renews the session.
    ///   - leeway: The time before expiry at which the session is refreshed in the background, unless it has a
    ///     ``Session/refreshWindow``; 30 seconds by default.
    ///   - timeout: The time limit for one refresh; 60 seconds by default. The lease of the lock is half as long again.
    ///   - limit: The maximum number of unsuccessful refreshes in an interval; five within 30 seconds by default.
    ///   - onStorageFailure: Receives the errors of changes that could not be stored; `nil` logs them as errors.
    public convenience init(
        _ session: Session?,
        sharing storage: any SharedSessionStorage,
        delegate: (any AuthenticationDelegate<Session>)? = nil,
        leeway: Duration = .seconds(30),
        timeout: Duration = .seconds(60),
        limit: RefreshLimit = .standard,
        onStorageFailure: (@Sendable (any Error) -> Void)? = nil
    ) async {
        let onFailure = onStorageFailure ?? logStorageFailure
        let userID = session?.userID ?? ""
        var stored: Session?
        if session != nil {
            do {
                stored = try await storage.session(for: userID)
            } catch {
                onFailure(error)
            }
        }
        self.init(
            session?.ofSignIn(of: stored),
            delegate: delegate,
            leeway: leeway,
            timeout: timeout,
            limit: limit,
            storage: CredentialStorage(storage, with: stored, of: userID, onFailure: onFailure)
        )
    }

    /// Creates a store with the session that a storage behind a network has for a user.
    ///
    /// ```swift
    /// let tokens = try await TokenStore(for: "emily", sharing: storage, delegate: Login())
    /// ```
    ///
    /// - Parameters:
    ///   - userID: The id of the user; empty for a session without an id.
    ///   - storage: The storage of the session.
    ///   - delegate: The delegate that renews the session.
    ///   - leeway: The time before expiry at which the session is refreshed in the background, unless it has a
    ///     ``Session/refreshWindow``; 30 seconds by default.
    ///   - timeout: The time limit for one refresh; 60 seconds by default. The lease of the lock is half as long again.
    ///   - limit: The maximum number of unsuccessful refreshes in an interval; five within 30 seconds by default.
    ///   - onStorageFailure: Receives the errors of changes that could not be stored; `nil` logs them as errors.
    /// - Throws: The error of the storage if the session cannot be read. No user would seem to be signed in otherwise.
    public convenience init(
        for userID: String,
        sharing storage: any SharedSessionStorage,
        delegate: (any AuthenticationDelegate<Session>)? = nil,
        leeway: Duration = .seconds(30),
        timeout: Duration = .seconds(60),
        limit: RefreshLimit = .standard,
        onStorageFailure: (@Sendable (any Error) -> Void)? = nil
    ) async throws {
        let session = try await storage.session(for: userID)
        self.init(
            session,
            delegate: delegate,
            leeway: leeway,
            timeout: timeout,
            limit: limit,
            storage: CredentialStorage(
                storage,
                with: session,
                of: userID,
                onFailure: onStorageFailure ?? logStorageFailure
            )
        )
    }
}
