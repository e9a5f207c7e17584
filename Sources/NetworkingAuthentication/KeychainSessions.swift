import FoundationForNetworking
import NetworkingCore

/// An item of the Keychain that holds the session of a user.
struct KeychainItem: Hashable, Sendable {
    /// The position of an item in the Keychain.
    ///
    /// A user has two, so that a new item can be added before the old one is removed.
    enum Place: CaseIterable, Sendable {
        case first, second

        var other: Place {
            self == .first ? .second : .first
        }
    }

    let userID: String
    let place: Place
    /// A number that is higher for each item that replaces another one.
    ///
    /// The item with the highest number is the user's session.
    var generation: UInt64 = 0
}

/// The Keychain operations that ``KeychainSessions`` uses.
protocol KeychainItems: Sendable {
    /// Returns the items of a user, or of all users for `nil`, without prompting the user.
    func items(of userID: String?) throws(SessionStorageError) -> [KeychainItem]

    /// Returns the data of an item; `nil` if the item no longer exists.
    func data(of item: KeychainItem) throws(SessionStorageError) -> Data?

    /// Adds an item; returns `false` if its place is taken.
    func add(_ data: Data, as item: KeychainItem) throws(SessionStorageError) -> Bool

    /// Changes the data of an item; returns `false` if the item no longer exists.
    func update(_ item: KeychainItem, to data: Data) throws(SessionStorageError) -> Bool

    /// Removes an item, if it exists.
    func remove(_ item: KeychainItem) throws(SessionStorageError)
}

/// Orders Keychain operations so that no failure, crash or other process loses a session.
///
/// After a rotation, the server accepts only the new refresh token. So a session is removed only after its replacement
/// is in the Keychain.
struct KeychainSessions<Items: KeychainItems>: Sendable {
    /// The maximum number of times that an operation runs because another process changed the same item.
    private static var maximumTries: Int { 8 }

    let items: Items
    /// Whether a changed session is stored as a new item.
    ///
    /// The system prompts for biometry to change an item behind biometry, but not to add one.
    let addsForChanges: Bool

    /// Returns the session of a user; `nil` if there is none.
    func data(for userID: String) throws(SessionStorageError) -> Data? {
        var absent: KeychainItem?
        for _ in 0..<Self.maximumTries {
            // The system invalidates items after a change of faces or fingers: they are listed but cannot be read.
            guard let newest = try newestFirst(of: userID).first, newest != absent else { return nil }
            if let data = try items.data(of: newest) { return data }
            // Another process may have replaced it in the meantime.
            absent = newest
        }
        throw .busy
    }

    /// Stores the session of a user.
    ///
    /// If this fails, the previous session is still there.
    func save(_ data: Data, for userID: String) throws(SessionStorageError) {
        var absent: KeychainItem?
        for _ in 0..<Self.maximumTries {
            let known = try newestFirst(of: userID)
            if let newest = known.first, !addsForChanges, newest != absent {
                if try items.update(newest, to: data) { return }
                absent = newest
            } else if try add(data, for: userID, inPlaceOf: known) {
                return
            }
        }
        throw .busy
    }

    /// Adds a session and then removes the previous one.
    ///
    /// - Returns: `false` if another process has added one at the same time.
    private func add(
        _ data: Data,
        for userID: String,
        inPlaceOf known: [KeychainItem]
    ) throws(SessionStorageError) -> Bool {
        guard let newest = known.first else {
            return try items.add(data, as: KeychainItem(userID: userID, place: .first))
        }
        // Left by a process that ended between adding and removing.
        for item in known.dropFirst() {
            try items.remove(item)
        }
        let next = KeychainItem(userID: userID, place: newest.place.other, generation: newest.generation &+ 1)
        guard try items.add(data, as: next) else { return false }
        // The new session is valid even if the old one cannot be removed; the next change removes it.
        try? items.remove(newest)
        return true
    }

    /// Removes the session of a user.
    func remove(for userID: String) throws(SessionStorageError) {
        // The oldest item first: a failure must not restore an old session.
        for item in try newestFirst(of: userID).reversed() {
            try items.remove(item)
        }
    }

    /// Returns the IDs of the users with stored sessions, in order.
    func userIDs() throws(SessionStorageError) -> [String] {
        Set(try items.items(of: nil).map(\.userID)).sorted()
    }

    private func newestFirst(of userID: String) throws(SessionStorageError) -> [KeychainItem] {
        try items.items(of: userID).sorted { $0.generation > $1.generation }
    }
}

extension SessionStorageError {
    fileprivate static var busy: SessionStorageError {
        .unusable(reason: "Another process keeps changing the session in the Keychain. Try again.")
    }
}
