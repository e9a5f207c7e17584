#if SQLite
import Dispatch
import Foundation
import GRDB
import Synchronization

/// A file that a ``DatabaseHandle`` has opened.
protocol OpenDatabase: AnyObject, Sendable {
    /// Whether the file is still the one at its path, and was not moved or removed.
    var isInPlace: Bool { get }
    /// Waits for work that has started and closes the file.
    func close()
}

/// Opens the file of a store when it is first used, and replaces it if it is damaged.
final class DatabaseHandle<File: OpenDatabase, Failure: Error>: Sendable {
    let file: URL
    private let settings: DatabaseFile.Settings
    private let make: @Sendable (DatabaseLocation) throws -> File
    private let onDamage: @Sendable (DatabaseFault) -> Void
    private let failure: @Sendable (DatabaseFault, URL) -> Failure
    /// The queue on which files are opened and set aside.
    ///
    /// Its thread may wait for the disk and for other processes.
    private let openings: DispatchQueue
    /// Changed on that queue only.
    private let opened = Mutex<File?>(nil)
    /// The last failed attempt to open the file, and the calls that were waiting behind it.
    private let attempts = Mutex(Attempts())

    private struct Attempts {
        /// The number of the last call that wants the file to be opened.
        var last: UInt64 = 0
        /// The last call that was waiting while another one found the file locked for too long.
        var lastBehindBusy: UInt64 = 0
    }

    /// Creates a handle; the file is created when it is first used.
    ///
    /// - Parameters:
    ///   - file: The file of the database.
    ///   - settings: The settings of the file.
    ///   - onDamage: Receives the fault after this object has moved a damaged file.
    ///   - failure: Returns the error of the store for a fault of the file.
    ///   - make: Opens the file, while no other process opens or moves it.
    init(
        file: URL,
        settings: DatabaseFile.Settings,
        onDamage: @escaping @Sendable (DatabaseFault) -> Void = { _ in },
        failure: @escaping @Sendable (DatabaseFault, URL) -> Failure,
        make: @escaping @Sendable (DatabaseLocation) throws -> File
    ) {
        self.file = file.absoluteURL
        self.settings = settings
        self.make = make
        self.onDamage = onDamage
        self.failure = failure
        openings = DispatchQueue(label: "\(settings.label).openings")
    }

    /// Opens the file, unless it is open.
    func open() async throws(Failure) {
        do {
            _ = try await current()
        } catch {
            throw failure(error, file)
        }
    }

    /// Runs work with the file, off the caller's actor, and handles its faults.
    ///
    /// The work runs again with a new file if the first one was moved, removed or migrated meanwhile. In none of these
    /// cases has the first run changed the new file.
    @concurrent
    func using<Value: Sendable>(_ work: @Sendable (File) async throws -> Value) async throws(Failure) -> Value {
        do {
            return try await result(of: work)
        } catch {
            throw failure(error, file)
        }
    }

    private func result<Value: Sendable>(
        of work: @Sendable (File) async throws -> Value
    ) async throws(DatabaseFault) -> Value {
        let file = try await current()
        do {
            return try await work(file)
        } catch {
            let fault = DatabaseFault(error, self.file)
            guard !file.isInPlace || fault == .unknownTables else { throw await outcome(of: fault, file) }
            await close(file)
        }
        let fresh = try await current()
        do {
            return try await work(fresh)
        } catch {
            throw await outcome(of: DatabaseFault(error, self.file), fresh)
        }
    }

    /// The open file; opens it first if necessary.
    private func current() async throws(DatabaseFault) -> File {
        if let file = opened.withLock({ $0 }), file.isInPlace { return file }
        let number = attempts.withLock { attempts in
            attempts.last += 1
            return attempts.last
        }
        let result: Result<File, DatabaseFault> = await withCheckedContinuation { continuation in
            openings.async { [self] in
                continuation.resume(returning: Result { () throws(DatabaseFault) in try openInTurn(number) })
            }
        }
        return try result.get()
    }

    /// Opens the file, unless the call was waiting while another one found the file locked for too long.
    ///
    /// Otherwise each call would add its own time to that of the next.
    private func openInTurn(_ number: UInt64) throws(DatabaseFault) -> File {
        let isBehindBusy = attempts.withLock { number <= $0.lastBehindBusy }
        guard !isBehindBusy else { throw .busy }
        do {
            return try openNow()
        } catch {
            if error == .busy {
                attempts.withLock { $0.lastBehindBusy = $0.last }
            }
            throw error
        }
    }

    private func openNow() throws(DatabaseFault) -> File {
        if let file = opened.withLock({ $0 }), file.isInPlace { return file }
        opened.withLock { $0 = nil }
        guard file.isFileURL else {
            throw .file(
                "The store needs a file URL (is \(file.scheme ?? "a URL without a scheme")). Use URL(filePath:)."
            )
        }
        let location = location
        do {
            try location.prepare()
            let opened = try location.locked(patience: settings.patience) { () throws -> File in
                try location.prepareFiles()
                do {
                    return try make(location)
                } catch DatabaseSchema.Mismatch.outdated {
                    try location.removeFiles()
                    try location.prepareFiles()
                    return try make(location)
                } catch {
                    guard isDamage(DatabaseFault(error, self.file), location) else { throw error }
                    throw DatabaseFault.damage(movedTo: URL(fileURLWithPath: try location.setAside()))
                }
            }
            self.opened.withLock { $0 = opened }
            return opened
        } catch let fault as DatabaseFault where fault.isDamage {
            onDamage(fault)
            throw fault
        } catch {
            throw DatabaseFault(error, file)
        }
    }

    /// Returns the fault to throw; sets a damaged file aside first.
    private func outcome(of fault: DatabaseFault, _ damaged: File) async -> DatabaseFault {
        guard fault.isDamage || fault == .unreadable else { return fault }
        return await withCheckedContinuation { continuation in
            openings.async { [self] in
                continuation.resume(returning: setAsideNow(damaged, fault))
            }
        }
    }

    private func setAsideNow(_ damaged: File, _ fault: DatabaseFault) -> DatabaseFault {
        opened.withLock { opened in
            if opened === damaged { opened = nil }
        }
        let location = location
        do {
            let moved = try location.locked(patience: settings.patience) { () throws -> URL? in
                // Another process or task may already have moved it, and the file in place may be a new one.
                guard damaged.isInPlace else { return nil }
                guard isDamage(fault, location) else { throw fault }
                return URL(fileURLWithPath: try location.setAside())
            }
            let fault = DatabaseFault.damage(movedTo: moved)
            if moved != nil {
                onDamage(fault)
            }
            return fault
        } catch {
            return DatabaseFault(error, file)
        }
    }

    /// Whether a fault is damage of the file, after a second look at a file that SQLite could not read.
    private func isDamage(_ fault: DatabaseFault, _ location: DatabaseLocation) -> Bool {
        guard fault == .unreadable else { return fault.isDamage }
        return switch location.contents(patience: settings.patience) {
        case .damaged: true
        case .usable: false
        // A cache starts empty, so that it does not stay unusable. Other stores keep what they have acknowledged.
        case .unreadable: !settings.isDurable
        }
    }

    /// Closes the file now, not when its last reference is released.
    ///
    /// Only for tests that then use the file by other means; no work may be running.
    func close() async {
        let file = opened.withLock { $0 }
        guard let file else { return }
        await close(file)
        file.close()
    }

    private func close(_ file: File) async {
        await withCheckedContinuation { continuation in
            openings.async { [self] in
                opened.withLock { opened in
                    if opened === file { opened = nil }
                }
                continuation.resume()
            }
        }
    }

    private var location: DatabaseLocation {
        DatabaseLocation(path: file.path, isDurable: settings.isDurable)
    }
}
#endif
