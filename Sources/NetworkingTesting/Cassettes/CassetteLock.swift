import Networking
import Synchronization

/// The right to write a cassette: a file beside it, which one cassette holds at a time, in all processes.
///
/// The system lets go of it with the process.
final class CassetteLock: Sendable {
    private let path: String
    private let file: Mutex<OpenFile?>

    /// Takes the lock.
    ///
    /// - Parameter cassette: The path of the cassette.
    /// - Throws: ``CassetteError`` while somebody else has it, and when it cannot be taken.
    init(of cassette: String) throws(CassetteError) {
        path = "\(cassette).lock"
        do {
            if let directory = PrivateFile.parent(of: cassette) {
                try PrivateFile.makeDirectory(directory)
            }
            file = Mutex(try Self.open(path))
        } catch {
            throw CassetteError(
                reason: error.isAbsence
                    ? "There is no folder for the cassette \(PrintableText.singleLine(cassette)). Make it first."
                    : "The cassette \(PrintableText.singleLine(cassette)) could not be locked for writing. \(error.reason) "
                        + "Where nothing may be written, use mode .none."
            )
        }
        guard file.withLock({ $0 }) != nil else {
            throw CassetteError(
                reason:
                    "The cassette \(PrintableText.singleLine(cassette)) is being recorded elsewhere, in this process or another. "
                    + "Give each test a cassette of its own, call finish() when a test is done, or run those tests one after the other."
            )
        }
    }

    deinit {
        release()
    }

    /// Lets go of it, and leaves nothing behind.
    func release() {
        let file = file.withLock { file in
            defer { file = nil }
            return file
        }
        // While it is still locked, so that it is nobody else's that is removed.
        guard let file, file.isUnderItsName else { return }
        _ = try? PrivateFile.remove(path)
    }

    /// The file, locked; nil while somebody else has it.
    private static func open(_ path: String) throws(FileFault) -> OpenFile? {
        // Each round that fails is one in which somebody else has let go of it and removed it.
        for _ in 0..<100 {
            let file = try OpenFile(continuing: path)
            guard try file.lock() else { return nil }
            if file.isUnderItsName { return file }
        }
        return nil
    }
}
