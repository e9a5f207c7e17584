import NetworkingCore

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// An item of the Keychain that holds the session of a user.
struct KeychainItem: Hashable, Sendable {
    /// A place for an item.
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

/// The operations on the Keychain that ``KeychainSessions`` consists of.
protocol KeychainItems: Sendable {
    /// Returns the items of a user, or those of all users for `nil`, without asking the user for anything.
    func items(of userID: String?) throws(SessionStorageError) -> [KeychainItem]

    /// Returns the data of an item; `nil` if there is no such item any more.
    func data(of item: KeychainItem) throws(SessionStorageError) -> Data?

    /// Adds an item; returns `false` if there is one in its place.
    func add(_ data: Data, as item: KeychainItem) throws(SessionStorageError) -> Bool

    /// Changes the data of an item; returns `false` if there is no such item any more.
    func update(_ item: KeychainItem, to data: Data) throws(SessionStorageError) -> Bool

    /// Removes an item, if it is there.
    func remove(_ item: KeychainItem) throws(SessionStorageError)
}

/// The order of operations on the Keychain in which no failure, crash or other process loses a session.
///
/// A refresh token that was rotated is the only one that the server accepts. So a session is removed only when the one
/// that replaces it is in the Keychain.
struct KeychainSessions<Items: KeychainItems>: Sendable {
    /// How often an operation starts again because another process has changed the same item.
    private static var maximumTries: Int { 8 }

    let items: Items
    /// Whether a changed session becomes a new item.
    ///
    /// The system asks for a face or a finger to change an item behind biometry, and not to add one.
    let addsForChanges: Bool

    /// Returns the session of a user; `nil` if there is none.
    func data(for userID: String) throws(SessionStorageError) -> Data? {
        var absent: KeychainItem?
        for _ in 0..<Self.maximumTries {
            // One that is listed and cannot be read was made void by the system, as after a change of faces and
            // fingers.
            guard let newest = try newestFirst(of: userID).first, newest != absent else { return nil }
            if let data = try items.data(of: newest) { return data }
            // Another process may have replaced it in between.
            absent = newest
        }
        throw .busy
    }

    /// Keeps the session of a user.
    ///
    /// If this fails, the former session is still there.
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

    /// Adds a session, and removes the former one after that.
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
        // Left behind by a process that ended between adding and removing.
        for item in known.dropFirst() {
            try items.remove(item)
        }
        let next = KeychainItem(userID: userID, place: newest.place.other, generation: newest.generation &+ 1)
        guard try items.add(data, as: next) else { return false }
        // The new session counts whether the old one can be removed or not, and the next change removes it.
        try? items.remove(newest)
        return true
    }

    /// Removes the session of a user.
    func remove(for userID: String) throws(SessionStorageError) {
        // The oldest first: a failure must not bring an old session back.
        for item in try newestFirst(of: userID).reversed() {
            try items.remove(item)
        }
    }

    /// The users who have sessions, in order.
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
