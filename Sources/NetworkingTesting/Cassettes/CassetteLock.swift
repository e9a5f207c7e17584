import NetworkingCore
import Synchronization

/// The right to write a cassette: a lock file that only one cassette holds at a time, across all processes.
///
/// The system releases the lock when the process ends.
final class CassetteLock: Sendable {
    private let path: String
    private let file: Mutex<OpenFile?>

    /// Takes the lock.
    ///
    /// - Parameter cassette: The path of the cassette.
    /// - Throws: ``CassetteError`` if another cassette holds the lock, or if it cannot be acquired.
    init(of cassette: String) throws(CassetteError) {
        path = "\(cassette).lock"
        do {
            if let directory = PrivateFile.parent(of: cassette) {
                try PrivateFile.makeDirectory(directory, isDurable: false)
            }
            file = Mutex(try Self.open(path))
        } catch {
            throw CassetteError(
                reason: error.isAbsence
                    ? "There is no folder for the cassette \(PrintableText.singleLine(cassette)). Create it first."
                    : "The cassette \(PrintableText.singleLine(cassette)) could not be locked for writing. "
                        + "\(error.reason) If the file must not be written, use mode .none."
            )
        }
        guard file.withLock({ $0 }) != nil else {
            throw CassetteError(
                reason:
                    "The cassette \(PrintableText.singleLine(cassette)) is being recorded elsewhere, in this process "
                    + "or another. Give each test its own cassette, call finish() at the end of a test, or run the "
                    + "tests one after the other."
            )
        }
    }

    deinit {
        release()
    }

    /// Releases the lock and removes its file.
    func release() {
        let file = file.withLock { file in
            defer { file = nil }
            return file
        }
        // Remove the file while it is still locked, so that another cassette's lock file is never removed.
        guard let file, file.isUnderItsName else { return }
        _ = try? PrivateFile.remove(path)
    }

    /// The locked file; nil if another cassette holds the lock.
    private static func open(_ path: String) throws(FileFault) -> OpenFile? {
        // A round fails only if another cassette has released and removed the file in between.
        for _ in 0..<100 {
            let file = try OpenFile(continuing: path)
            guard try file.lock() else { return nil }
            if file.isUnderItsName { return file }
        }
        return nil
    }
}
