#if os(Linux) && SQLite
import Foundation

/// A way in which a system call fails.
enum Fault: String, CaseIterable {
    /// One call fails with `EIO`.
    case io
    /// One call is interrupted by a signal, without a result.
    case interruption
    /// One call reads or writes only half of its bytes.
    case half
    /// One call finds no space.
    case space
    /// All calls from one on find no space.
    case fullDisk
    /// All calls from one on that synchronize a file fail with `EIO`.
    case synchronizations
    /// One call finds no free descriptor.
    case descriptor
    /// All calls from one on find no free descriptor.
    case descriptors

    /// Whether a program must not notice it.
    var isHarmless: Bool {
        self == .interruption || self == .half
    }

    /// Whether only one call fails, so that only one operation may fail.
    var isSingle: Bool {
        self != .fullDisk && self != .synchronizations && self != .descriptors
    }

    fileprivate var error: CInt {
        switch self {
        case .io, .half, .synchronizations: EIO
        case .interruption: EINTR
        case .space, .fullDisk: ENOSPC
        case .descriptor, .descriptors: EMFILE
        }
    }

    /// The kinds of calls that can fail in this way.
    ///
    /// SQLite does not repeat an interrupted fsync. Linux has none on a local volume.
    fileprivate func kinds(isDatabase: Bool) -> Kinds {
        switch self {
        case .io: [.open, .read, .write, .sync, .rename, .unlink, .truncate, .lock, .map, .makeDirectory, .status]
        case .interruption: isDatabase ? [.open, .read, .write] : [.open, .read, .write, .sync, .truncate, .lock]
        case .half: [.read, .write]
        case .space, .fullDisk: [.open, .write, .sync, .rename, .truncate, .makeDirectory]
        case .synchronizations: [.sync]
        case .descriptor, .descriptors: [.open]
        }
    }
}

/// Kinds of system calls, as in `failing-calls.c`.
private struct Kinds: OptionSet {
    let rawValue: CUnsignedInt

    static let open = Kinds(rawValue: 1)
    static let read = Kinds(rawValue: 2)
    static let write = Kinds(rawValue: 4)
    static let sync = Kinds(rawValue: 8)
    static let rename = Kinds(rawValue: 16)
    static let unlink = Kinds(rawValue: 32)
    static let truncate = Kinds(rawValue: 64)
    static let lock = Kinds(rawValue: 128)
    static let map = Kinds(rawValue: 256)
    static let makeDirectory = Kinds(rawValue: 512)
    static let status = Kinds(rawValue: 1024)
}

/// The functions of the library in `LD_PRELOAD`.
struct CallLibrary: Sendable {
    private typealias Arm = @convention(c) (UnsafePointer<CChar>, CUnsignedInt, CLong, CInt, CInt) -> Void
    private typealias Disarm = @convention(c) () -> CLong
    private typealias Note = @convention(c) (UnsafePointer<CChar>) -> Void
    private typealias Log = @convention(c) () -> UnsafePointer<CChar>

    private let armNow: Arm
    private let disarmNow: Disarm
    private let countNow: Disarm
    private let addNote: Note
    private let log: Log

    /// Finds the functions; `nil` if the process runs without the library.
    init?() {
        func function<Function>(_ name: String, _ type: Function.Type) -> Function? {
            dlsym(nil, "failing_calls_\(name)").map { unsafeBitCast($0, to: type) }
        }
        guard let arm = function("arm", Arm.self), let disarm = function("disarm", Disarm.self),
            let count = function("count", Disarm.self), let note = function("note", Note.self),
            let log = function("log", Log.self)
        else { return nil }
        (armNow, disarmNow, countNow, addNote, self.log) = (arm, disarm, count, note, log)
    }

    /// Lets a call on files below a path fail from now on.
    func arm(_ fault: Fault, at path: String, call number: Int, isDatabase: Bool) {
        let mode: CInt = fault == .half ? 2 : fault.isSingle ? 0 : 1
        armNow(path, fault.kinds(isDatabase: isDatabase).rawValue, number, fault.error, mode)
    }

    /// Lets no call fail any more, and returns the number of those that have failed.
    func disarm() -> Int {
        disarmNow()
    }

    /// The number of calls to which the fault applied since the library was armed.
    var count: Int {
        countNow()
    }

    /// Adds an entry to the log.
    func note(_ text: String) {
        addNote(text)
    }

    /// The calls since the library was armed.
    var calls: [SystemCall] {
        String(cString: log()).split(separator: "\n").compactMap { SystemCall($0) }
    }
}

/// A call in the log of the library.
struct SystemCall {
    /// Its name, such as `write`; `note` for a note.
    let name: String
    let path: String
    /// The new path of a rename or a link.
    let newPath: String
    let result: Int
    /// Whether the library has let it fail.
    let isFault: Bool

    init?(_ line: Substring) {
        let parts = line.split(separator: "\t", omittingEmptySubsequences: false)
        guard parts.count == 5, let result = Int(parts[3]) else { return nil }
        isFault = parts[0].last == "!"
        (name, path, newPath) = (String(isFault ? parts[0].dropLast() : parts[0]), String(parts[1]), String(parts[2]))
        self.result = result
    }
}
#endif
