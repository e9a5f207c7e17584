#if canImport(Security)
import Foundation
import NetworkingCore
import Security

/// Stores sessions in the Keychain, one item for each user.
///
/// Reading an item behind biometry waits for the user, so do not read it on the main thread. On macOS an app needs the
/// entitlement of the data protection keychain. Combinations that the Keychain does not allow, such as biometry and
/// iCloud, fail when a session is saved.
///
/// The Keychain has no locks, so processes that share a session may refresh it at the same time
/// (``SharedSessionStorage``).
///
/// <!-- snippet: fragment Apple's platforms -->
/// ```swift
/// let storage = KeychainSessionStorage(service: "com.example.app")
/// let tokens = TokenStore(try storage.session(for: "emily"), in: storage, delegate: Login())
/// ```
public struct KeychainSessionStorage: SessionStorage {
    /// The condition under which an item can be read.
    public enum Accessibility: Sendable, Hashable {
        /// While the device is unlocked.
        case whenUnlocked
        /// While the device is unlocked, and on no other device.
        case whenUnlockedThisDeviceOnly
        /// Once the device has been unlocked after its start, as background requests need.
        case afterFirstUnlock
        /// Once the device has been unlocked after its start, and on no other device.
        case afterFirstUnlockThisDeviceOnly
        /// While the device is unlocked, if it has a passcode, and on no other device.
        case whenPasscodeSetThisDeviceOnly
    }

    private let sessions: KeychainSessions<SystemKeychain>

    /// Creates a storage.
    ///
    /// - Parameters:
    ///   - service: The service of the items, often the app's bundle identifier.
    ///   - accessibility: The condition under which the items can be read. `nil` means after the first unlock, and on
    ///     this device only, unless `isSynchronizable` is `true`.
    ///   - accessGroup: The group of apps that share the items; `nil` for the app's own group.
    ///   - isSynchronizable: Whether iCloud copies the items to the user's other devices. Items for this device only
    ///     and items behind biometry cannot be copied.
    ///   - requiresBiometry: Whether reading an item requires a face or a finger that was enrolled when it was saved.
    public init(
        service: String,
        accessibility: Accessibility? = nil,
        accessGroup: String? = nil,
        isSynchronizable: Bool = false,
        requiresBiometry: Bool = false
    ) {
        let standard = isSynchronizable ? Accessibility.afterFirstUnlock : .afterFirstUnlockThisDeviceOnly
        let keychain = SystemKeychain(
            service: service,
            accessibility: accessibility ?? standard,
            accessGroup: accessGroup,
            isSynchronizable: isSynchronizable,
            requiresBiometry: requiresBiometry
        )
        sessions = KeychainSessions(items: keychain, addsForChanges: requiresBiometry)
    }

    /// Returns the session of a user.
    ///
    /// An item that is not a session is removed, and this call throws ``SessionStorageError/unusable(reason:)``.
    public func session(for userID: String) throws -> Session? {
        guard let data = try sessions.data(for: userID) else { return nil }
        guard let session = try? JSONDecoder().decode(Session.self, from: data) else {
            try removeSession(for: userID)
            throw SessionStorageError.unusable(
                reason: "A session in the Keychain could not be read and was removed. Sign in again."
            )
        }
        return session
    }

    /// Stores a session.
    ///
    /// If this fails, the previous session of the user is still there.
    public func save(_ session: Session) throws {
        try sessions.save(try JSONEncoder().encode(session), for: session.userID ?? "")
    }

    /// Removes the session of a user.
    public func removeSession(for userID: String) throws {
        try sessions.remove(for: userID)
    }

    /// Returns the IDs of the users with stored sessions, in order.
    public func userIDs() throws -> [String] {
        try sessions.userIDs()
    }
}

/// The items of one storage in the system's Keychain.
private struct SystemKeychain: KeychainItems {
    let service: String
    let accessibility: KeychainSessionStorage.Accessibility
    let accessGroup: String?
    let isSynchronizable: Bool
    let requiresBiometry: Bool

    func items(of userID: String?) throws(SessionStorageError) -> [KeychainItem] {
        var items: [KeychainItem] = []
        for place in KeychainItem.Place.allCases {
            let query = query(for: userID, in: place)
            query[kSecReturnAttributes as NSString] = true
            query[kSecMatchLimit as NSString] = kSecMatchLimitAll
            var result: CFTypeRef?
            let status = SecItemCopyMatching(query as CFDictionary, &result)
            guard status != errSecItemNotFound else { continue }
            try check(status)
            for attributes in result as? [[String: Any]] ?? [] {
                guard let userID = attributes["\(kSecAttrAccount)"] as? String else { continue }
                let number = (attributes["\(kSecAttrGeneric)"] as? Data).map { String(decoding: $0, as: UTF8.self) }
                let generation = number.flatMap { UInt64($0) } ?? 0
                items.append(KeychainItem(userID: userID, place: place, generation: generation))
            }
        }
        return items
    }

    func data(of item: KeychainItem) throws(SessionStorageError) -> Data? {
        let query = query(for: item)
        query[kSecReturnData as NSString] = true
        query[kSecMatchLimit as NSString] = kSecMatchLimitOne
        var result: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &result)
        guard status != errSecItemNotFound else { return nil }
        try check(status)
        return result as? Data ?? Data()
    }

    func add(_ data: Data, as item: KeychainItem) throws(SessionStorageError) -> Bool {
        let attributes = query(for: item)
        attributes[kSecValueData as NSString] = data
        try protect(attributes)
        let status = SecItemAdd(attributes as CFDictionary, nil)
        guard status != errSecDuplicateItem else { return false }
        try check(status)
        return true
    }

    func update(_ item: KeychainItem, to data: Data) throws(SessionStorageError) -> Bool {
        let changes = NSMutableDictionary()
        changes[kSecValueData as NSString] = data
        try protect(changes)
        let status = SecItemUpdate(query(for: item) as CFDictionary, changes as CFDictionary)
        guard status != errSecItemNotFound else { return false }
        try check(status)
        return true
    }

    func remove(_ item: KeychainItem) throws(SessionStorageError) {
        let status = SecItemDelete(query(for: item) as CFDictionary)
        guard status != errSecItemNotFound else { return }
        try check(status)
    }

    /// Returns a query for an item that does not match if another generation has replaced it.
    private func query(for item: KeychainItem) -> NSMutableDictionary {
        let query = query(for: item.userID, in: item.place)
        // Items of the first generation have no number.
        if item.generation > 0 {
            query[kSecAttrGeneric as NSString] = Data("\(item.generation)".utf8)
        }
        return query
    }

    /// Returns a query for the items of a user, or of all users, in one place.
    private func query(for userID: String?, in place: KeychainItem.Place) -> NSMutableDictionary {
        let query = NSMutableDictionary()
        query[kSecClass as NSString] = kSecClassGenericPassword
        query[kSecAttrService as NSString] = place == .first ? service : "\(service).replacement"
        query[kSecUseDataProtectionKeychain as NSString] = true
        query[kSecAttrSynchronizable as NSString] = isSynchronizable
        if let userID {
            query[kSecAttrAccount as NSString] = userID
        }
        if let accessGroup {
            query[kSecAttrAccessGroup as NSString] = accessGroup
        }
        return query
    }

    /// Sets the protection of a new item.
    private func protect(_ item: NSMutableDictionary) throws(SessionStorageError) {
        let protection =
            switch accessibility {
            case .whenUnlocked: kSecAttrAccessibleWhenUnlocked
            case .whenUnlockedThisDeviceOnly: kSecAttrAccessibleWhenUnlockedThisDeviceOnly
            case .afterFirstUnlock: kSecAttrAccessibleAfterFirstUnlock
            case .afterFirstUnlockThisDeviceOnly: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
            case .whenPasscodeSetThisDeviceOnly: kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly
            }
        guard requiresBiometry else {
            item[kSecAttrAccessible as NSString] = protection
            return
        }
        guard let control = SecAccessControlCreateWithFlags(nil, protection, .biometryCurrentSet, nil) else {
            throw SessionStorageError.unusable(
                reason: "The Keychain of this device cannot protect a session with biometrics. Choose another "
                    + "accessibility."
            )
        }
        item[kSecAttrAccessControl as NSString] = control
    }

    private func check(_ status: OSStatus) throws(SessionStorageError) {
        guard status != errSecSuccess else { return }
        let message = SecCopyErrorMessageString(status, nil).map { "\($0)" } ?? "status \(status)"
        throw SessionStorageError.unusable(reason: "The Keychain could not be used: \(message)")
    }
}
#endif
