import Foundation
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingAuthentication

/// The order of Keychain operations.
///
/// A scripted Keychain replaces the real one, which Linux lacks.
@Suite(.tags(.concurrency))
struct KeychainSessionsTests {
    private let keychain = ScriptedKeychain()

    private func sessions(addsForChanges: Bool = true) -> KeychainSessions<ScriptedKeychain> {
        KeychainSessions(items: keychain, addsForChanges: addsForChanges)
    }

    private func save(_ text: String, for userID: String = "emily", addsForChanges: Bool = true) throws {
        try sessions(addsForChanges: addsForChanges).save(Data(text.utf8), for: userID)
    }

    private func saved(for userID: String = "emily") throws -> String? {
        try sessions().data(for: userID).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(arguments: [true, false])
    func keepsTheNewestSessionOfEachUser(addsForChanges: Bool) throws {
        for text in ["one", "two", "three", "four"] {
            try save(text, addsForChanges: addsForChanges)
            try save("\(text) of Michael", for: "michael", addsForChanges: addsForChanges)
            #expect(try saved() == text)
            #expect(try saved(for: "michael") == "\(text) of Michael")
            #expect(keychain.count == 2)
        }
        #expect(try sessions().userIDs() == ["emily", "michael"])
        try sessions().remove(for: "emily")
        #expect(try saved() == nil)
        #expect(try sessions().userIDs() == ["michael"])
    }

    /// After a rotation, the server accepts only the newest refresh token.
    @Test(arguments: [true, false])
    func keepsTheFormerSessionIfTheNewOneCannotBeStored(addsForChanges: Bool) throws {
        try save("old", addsForChanges: addsForChanges)
        keychain.fail { $0 == .add || $0 == .update }
        #expect(throws: SessionStorageError.self) { try save("new", addsForChanges: addsForChanges) }
        keychain.fail { _ in false }
        #expect(try saved() == "old")
        #expect(keychain.count == 1)
    }

    /// After any failure or termination of the process, one of the two sessions is stored.
    @Test(arguments: [true, false], 0..<8)
    func losesNoSessionIfTheProcessEnds(addsForChanges: Bool, operations: Int) throws {
        try save("older", addsForChanges: addsForChanges)
        try save("old", addsForChanges: addsForChanges)
        keychain.fail(after: operations)
        let result = Result { try save("new", addsForChanges: addsForChanges) }
        keychain.fail { _ in false }
        let kept = try #require(try saved())
        #expect(kept == "new" || (try? result.get()) == nil && kept == "old")
        try save("newest", addsForChanges: addsForChanges)
        #expect(try saved() == "newest")
        #expect(keychain.count == 1)
    }

    @Test func usesTheNewSessionIfTheOldOneCannotBeRemoved() throws {
        try save("old")
        keychain.fail { $0 == .remove }
        try save("new")
        #expect(keychain.count == 2)
        #expect(try saved() == "new")
        keychain.fail { _ in false }
        try save("newest")
        #expect(try saved() == "newest")
        #expect(keychain.count == 1)
    }

    @Test func removesBothSessionsAtSignOut() throws {
        try save("old")
        keychain.fail { $0 == .remove }
        try save("new")
        #expect(throws: SessionStorageError.self) { try sessions().remove(for: "emily") }
        // The old session does not return.
        #expect(try saved() == "new")
        keychain.fail { _ in false }
        try sessions().remove(for: "emily")
        #expect(try saved() == nil)
        #expect(keychain.count == 0)
    }

    @Test func readsASessionThatAnotherProcessIsReplacing() throws {
        try save("old")
        keychain.beforeNext(.read) { try? save("new") }
        #expect(try saved() == "new")
    }

    @Test func storesASessionWhileAnotherProcessDoes() throws {
        try save("old")
        keychain.beforeNext(.add) { try? save("theirs") }
        try save("ours")
        #expect(try saved() == "ours")
        #expect(keychain.count == 1)
    }

    @Test func changesASessionThatAnotherProcessRemoves() throws {
        try save("old", addsForChanges: false)
        keychain.beforeNext(.update) { try? sessions().remove(for: "emily") }
        try save("new", addsForChanges: false)
        #expect(try saved() == "new")
    }

    /// The system invalidates items when enrolled faces or fingers change.
    ///
    /// A query may still list them.
    @Test(arguments: [true, false])
    func itemThatTheSystemInvalidatedCountsAsMissing(addsForChanges: Bool) throws {
        try save("old", addsForChanges: addsForChanges)
        keychain.invalidateItems()
        #expect(try saved() == nil)
        try save("new", addsForChanges: addsForChanges)
        #expect(try saved() == "new")
    }

    @Test func findsSessionsAfterBiometryIsSwitchedOff() throws {
        try save("one")
        try save("two")
        try save("three", addsForChanges: false)
        #expect(try saved() == "three")
        #expect(keychain.count == 1)
    }
}

/// A Keychain in memory with operations that fail as the test requires.
private final class ScriptedKeychain: KeychainItems {
    enum Operation {
        case list, read, add, update, remove
    }

    private struct Entry {
        let item: KeychainItem
        var data: Data?
    }

    private struct State {
        var entries: [Entry] = []
        var fails: @Sendable (Operation) -> Bool = { _ in false }
        var remaining = Int.max
        var hook: (operation: Operation, work: @Sendable () -> Void)?

        /// Returns the index of an item, or `nil` if an item of another generation has replaced it.
        func index(of item: KeychainItem) -> Int? {
            entries.firstIndex { $0.item == item && $0.data != nil }
        }
    }

    private let state = Mutex(State())

    var count: Int {
        state.withLock { $0.entries.count }
    }

    func fail(_ fails: @escaping @Sendable (Operation) -> Bool) {
        state.withLock {
            $0.fails = fails
            $0.remaining = .max
        }
    }

    /// Makes all operations after a number of them fail.
    func fail(after count: Int) {
        state.withLock { $0.remaining = count }
    }

    func beforeNext(_ operation: Operation, _ work: @escaping @Sendable () -> Void) {
        state.withLock { $0.hook = (operation, work) }
    }

    func invalidateItems() {
        state.withLock { state in
            for index in state.entries.indices {
                state.entries[index].data = nil
            }
        }
    }

    private func begin(_ operation: Operation) throws(SessionStorageError) {
        let hook = state.withLock { state -> (@Sendable () -> Void)? in
            guard let hook = state.hook, hook.operation == operation else { return nil }
            state.hook = nil
            return hook.work
        }
        hook?()
        let fails = state.withLock { state in
            state.remaining -= 1
            return state.remaining < 0 || state.fails(operation)
        }
        guard !fails else { throw .unusable(reason: "The script lets this operation fail.") }
    }

    func items(of userID: String?) throws(SessionStorageError) -> [KeychainItem] {
        try begin(.list)
        return state.withLock { state in
            state.entries.map(\.item).filter { userID == nil || $0.userID == userID }
        }
    }

    func data(of item: KeychainItem) throws(SessionStorageError) -> Data? {
        try begin(.read)
        return state.withLock { state in state.index(of: item).flatMap { state.entries[$0].data } }
    }

    func add(_ data: Data, as item: KeychainItem) throws(SessionStorageError) -> Bool {
        try begin(.add)
        return state.withLock { state in
            let isTaken = state.entries.contains { $0.item.userID == item.userID && $0.item.place == item.place }
            guard !isTaken else { return false }
            state.entries.append(Entry(item: item, data: data))
            return true
        }
    }

    func update(_ item: KeychainItem, to data: Data) throws(SessionStorageError) -> Bool {
        try begin(.update)
        return state.withLock { state in
            guard let index = state.index(of: item) else { return false }
            state.entries[index].data = data
            return true
        }
    }

    func remove(_ item: KeychainItem) throws(SessionStorageError) {
        try begin(.remove)
        state.withLock { state in state.entries.removeAll { $0.item == item } }
    }
}
