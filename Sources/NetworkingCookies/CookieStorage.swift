public import FoundationForNetworking
public import NetworkingCore

/// A place where a ``CookieJar`` stores its cookies between launches.
///
/// ```swift
/// final class VaultStorage: CookieStorage {
///     func load() async throws -> CookieArchive? {
///         try await Vault.shared.read("cookies").map { try JSONDecoder().decode(CookieArchive.self, from: $0) }
///     }
///
///     func save(_ archive: CookieArchive) async throws {
///         try await Vault.shared.write(JSONEncoder().encode(archive), as: "cookies")
///     }
/// }
/// ```
///
/// An archive contains secrets. ``FileCookieStorage`` stores it in a file.
public protocol CookieStorage: Sendable {
    /// Returns the archive that was saved last; `nil` if there is none.
    ///
    /// - Returns: The archive.
    /// - Throws: An error, with which the creation of the jar fails.
    func load() async throws -> CookieArchive?

    /// Replaces the archive that was saved before.
    ///
    /// A jar calls this in the background, and never twice at the same time.
    ///
    /// - Parameter archive: The cookies.
    /// - Throws: An error, which ``CookieJar/flush()`` throws. The next change is saved together with this one.
    func save(_ archive: CookieArchive) async throws
}

/// The cookies of a jar that outlive the process.
///
/// Encode it to store it. Its contents are secret, and its description contains none of them.
public struct CookieArchive: Sendable, Hashable, Codable {
    /// The cookies of one principal.
    package struct Session: Sendable, Hashable, Codable {
        package let principal: String?
        let identity: CookieIdentity
        package let cookies: [Cookie]

        init(principal: String?, identity: CookieIdentity, cookies: [Cookie]) {
            self.principal = principal
            self.identity = identity
            self.cookies = cookies
        }

        package init(principal: String?, id: String, cookies: [Cookie]) {
            self.init(principal: principal, identity: CookieIdentity(id), cookies: cookies)
        }
    }

    /// The key of the digests that represent cookies in principals.
    ///
    /// It is stored, so that responses in a cache on disk can be found again.
    package let key: [UInt8]
    package let sessions: [Session]

    package init(key: [UInt8], sessions: [Session]) {
        self.key = key
        self.sessions = sessions
    }

    /// The number of cookies.
    public var count: Int {
        sessions.reduce(0) { $0 + $1.cookies.count }
    }
}

extension CookieArchive: CustomStringConvertible, CustomReflectable {
    /// The number of cookies.
    public var description: String {
        "CookieArchive(\(count) cookies)"
    }

    /// The contents of a dump, without cookies.
    public var customMirror: Mirror {
        Mirror(self, children: ["count": count])
    }
}

/// Stores cookies in a file that only the current user of the machine can read.
///
/// ```swift
/// let jar = try await CookieJar(in: FileCookieStorage(file: folder.appending(path: "cookies.json")))
/// ```
///
/// A new version of the file is written to disk (`fsync`) before it replaces the old one, so that a crash leaves one of
/// the two intact. A file that contains no valid cookies is renamed when it is loaded. That call throws
/// ``CookieStorageError/damaged(movedTo:)``, and the next one returns `nil`. The file is not encrypted. The last
/// process that writes it replaces the cookies of the others.
public struct FileCookieStorage: CookieStorage {
    /// The file.
    public let file: URL

    // The cookies of a full jar take up 25 MiB.
    private static let sizeLimit = 64 << 20

    /// Creates a storage.
    ///
    /// - Parameter file: The file. It and its directory are created when cookies are saved for the first time.
    public init(file: URL) {
        self.file = file
    }

    /// Returns the cookies of the file; `nil` if there is no file.
    ///
    /// - Returns: The cookies.
    /// - Throws: ``CookieStorageError``.
    public func load() async throws -> CookieArchive? {
        let path = file.path
        let aside = "\(path).damaged-\(UUID().uuidString)"
        let isDamaged: Bool
        do {
            let archive = try await DiskQueue.complete { () throws(FileFault) -> CookieArchive? in
                let data = try PrivateFile.read(path, upTo: Self.sizeLimit)
                if let archive = try? JSONDecoder().decode(CookieArchive.self, from: data) { return archive }
                try PrivateFile.move(path, to: aside)
                return nil
            }
            if let archive { return archive }
            isDamaged = true
        } catch {
            guard error.isAbsence else { throw CookieStorageError.unusable(reason: error.reason) }
            isDamaged = false
        }
        guard isDamaged else { return nil }
        throw CookieStorageError.damaged(movedTo: URL(filePath: aside))
    }

    /// Replaces the file.
    ///
    /// - Parameter archive: The cookies.
    /// - Throws: ``CookieStorageError``.
    public func save(_ archive: CookieArchive) async throws {
        let path = file.path
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let data = try encoder.encode(archive)
        do {
            try await DiskQueue.complete { () throws(FileFault) in
                if let directory = PrivateFile.parent(of: path) {
                    try PrivateFile.makeDirectory(directory)
                }
                try PrivateFile.replace(path, with: data)
            }
        } catch {
            throw CookieStorageError.unusable(reason: error.reason)
        }
    }
}

/// The reason why cookies could not be read or stored.
@nonexhaustive
public enum CookieStorageError: Error, LocalizedError, ErrorWithUserText, CustomStringConvertible {
    /// The file was moved because it does not contain cookies, and there are no stored cookies now.
    case damaged(movedTo: URL)
    /// The file or its directory cannot be used.
    case unusable(reason: String)

    /// The error and what to do about it, without secrets.
    public var description: String {
        switch self {
        case .damaged(let file):
            "The stored cookies could not be read and were set aside as \(file.path). "
                + "Create the jar again, and remove that file."
        case .unusable(let reason):
            reason
        }
    }

    package var userText: UserText {
        switch self {
        case .damaged:
            UserText(
                key: "cookies.damaged",
                description: "The saved cookies could not be read.",
                reason: "The file of the cookies is damaged.",
                suggestion: "Sign in again where you have been signed out."
            )
        case .unusable:
            UserText(
                key: "cookies.unusable",
                description: "The cookies could not be read or saved.",
                reason: "The file of the cookies is protected, or there is not enough free space.",
                suggestion: "Check the free space on this device and try again."
            )
        }
    }
}
