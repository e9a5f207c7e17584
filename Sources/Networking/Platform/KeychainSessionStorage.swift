#if canImport(Security)
import Foundation
import Security

/// Keeps sessions in the Keychain, one item for each user.
///
/// Reading one behind biometry waits for the user, so do not do it on the main thread. On macOS an app needs the entitlement of the
/// data protection keychain. Pairs that the Keychain does not allow, such as biometry and iCloud, fail when a session is kept.
///
/// ```swift
/// let storage = KeychainSessionStorage(service: "com.example.app")
/// let tokens = TokenStore(try storage.session(for: "emily"), in: storage, delegate: Login())
/// ```
public struct KeychainSessionStorage: SessionStorage {
    /// When an item can be read.
    public enum Accessibility: Sendable, Hashable {
        /// While the device is unlocked.
        case whenUnlocked
        /// While the device is unlocked, and on no other device.
        case whenUnlockedThisDeviceOnly
        /// Once the device has been unlocked after its start, which requests in the background need.
        case afterFirstUnlock
        /// The same, and on no other device.
        case afterFirstUnlockThisDeviceOnly
        /// While the device is unlocked, as long as it has a passcode, and on no other device.
        case whenPasscodeSetThisDeviceOnly
    }

    private let service: String
    private let accessibility: Accessibility
    private let accessGroup: String?
    private let isSynchronizable: Bool
    private let requiresBiometry: Bool

    /// Creates a storage.
    ///
    /// - Parameters:
    ///   - service: What the items belong to, often the app's bundle identifier.
    ///   - accessibility: When they can be read; nil for after the first unlock, on this device only unless iCloud brings them to others.
    ///   - accessGroup: The group of apps that share them; nil for the app's own.
    ///   - isSynchronizable: Whether iCloud brings them to the user's other devices, which items for this device only and those
    ///     behind biometry cannot be.
    ///   - requiresBiometry: Whether reading one asks for a face or a finger that was known when it was kept.
    public init(
        service: String,
        accessibility: Accessibility? = nil,
        accessGroup: String? = nil,
        isSynchronizable: Bool = false,
        requiresBiometry: Bool = false
    ) {
        self.service = service
        let standard = isSynchronizable ? Accessibility.afterFirstUnlock : .afterFirstUnlockThisDeviceOnly
        self.accessibility = accessibility ?? standard
        self.accessGroup = accessGroup
        self.isSynchronizable = isSynchronizable
        self.requiresBiometry = requiresBiometry
    }

    /// The session of a user.
    ///
    /// An item that is no session is removed, and told of once.
    public func session(for userID: String) throws -> Session? {
        let query = query(for: userID)
        query[kSecReturnData as NSString] = true
        query[kSecMatchLimit as NSString] = kSecMatchLimitOne
        var result: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &result)
        guard status != errSecItemNotFound else { return nil }
        try check(status)
        guard let data = result as? Data, let session = try? JSONDecoder().decode(Session.self, from: data) else {
            try removeSession(for: userID)
            throw SessionStorageError.unusable(
                reason: "A session in the Keychain could not be read and was removed. Sign in again."
            )
        }
        return session
    }

    /// Keeps a session.
    public func save(_ session: Session) throws {
        let data = try JSONEncoder().encode(session)
        let item = query(for: session.userID ?? "")
        if requiresBiometry {
            // Changing such an item asks for a face or a finger, in the middle of a refresh; a new one does not.
            try removeSession(for: session.userID ?? "")
        } else {
            let changes = NSMutableDictionary()
            changes[kSecValueData as NSString] = data
            try protect(changes)
            let status = SecItemUpdate(item as CFDictionary, changes as CFDictionary)
            guard status == errSecItemNotFound else { return try check(status) }
        }
        item[kSecValueData as NSString] = data
        try protect(item)
        try check(SecItemAdd(item as CFDictionary, nil))
    }

    /// Forgets a session.
    public func removeSession(for userID: String) throws {
        let status = SecItemDelete(query(for: userID) as CFDictionary)
        guard status != errSecItemNotFound else { return }
        try check(status)
    }

    /// The users who have sessions, in order.
    public func userIDs() throws -> [String] {
        let query = query(for: nil)
        query[kSecReturnAttributes as NSString] = true
        query[kSecMatchLimit as NSString] = kSecMatchLimitAll
        var result: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &result)
        guard status != errSecItemNotFound else { return [] }
        try check(status)
        let items = result as? [[String: Any]] ?? []
        return items.compactMap { $0["\(kSecAttrAccount)"] as? String }.sorted()
    }

    /// What finds the item of a user, or those of all.
    private func query(for userID: String?) -> NSMutableDictionary {
        let query = NSMutableDictionary()
        query[kSecClass as NSString] = kSecClassGenericPassword
        query[kSecAttrService as NSString] = service
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

    /// Says who may read a new item, and when.
    private func protect(_ item: NSMutableDictionary) throws {
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
                reason: "The Keychain cannot protect a session by biometry here. Choose another accessibility."
            )
        }
        item[kSecAttrAccessControl as NSString] = control
    }

    private func check(_ status: OSStatus) throws {
        guard status != errSecSuccess else { return }
        let message = SecCopyErrorMessageString(status, nil).map { "\($0)" } ?? "status \(status)"
        throw SessionStorageError.unusable(reason: "The Keychain could not be used: \(message)")
    }
}
#endif
