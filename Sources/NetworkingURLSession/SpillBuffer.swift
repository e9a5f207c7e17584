import Dispatch
import FoundationForNetworking
import NetworkingCore
import Synchronization

/// A buffer for bytes that wait for their reader: a few in memory, and more in private files.
///
/// The files are written and read on the buffer's own queue. ``append(_:)`` and ``take(orNotify:)`` never wait for the
/// disk.
final class SpillBuffer: Sendable {
    /// The maximum number of bytes that wait in memory for the reader.
    let maximumInMemory: Int
    /// The number of bytes not yet written to disk above which ``waitForDisk()`` waits.
    private let maximumUnwritten: Int
    private let patience: Duration
    /// The maximum time that one call of ``waitForDisk()`` waits while the excess is small.
    private static let maximumTurn: Duration = .milliseconds(50)
    private let state: Mutex<State>
    /// Used on the queue only, so that the lock is always free.
    private let files: Mutex<SpillFiles>

    private struct State {
        /// The queue for the files, created on first use because most buffers need none.
        var queue: DispatchQueue?
        /// The bytes that have waited longest.
        var memory = Data()
        /// The number of bytes in the files, which come after those in memory.
        var countInFiles: Int64 = 0
        /// The bytes after those in the files, except bytes that are being written.
        var unwritten: [Data] = []
        /// The number of bytes that are not in the files yet, including bytes that are being written.
        var unwrittenCount = 0
        var isWriting = false
        /// The time when the disk last accepted bytes, or when the writing started.
        var lastProgress: ContinuousClock.Instant?
        /// Called when the next bytes have been read from the files.
        var notify: (@Sendable () -> Void)?
        var fault: FileFault?
        var isDropped = false

        var count: Int64 {
            Int64(memory.count) + countInFiles + Int64(unwrittenCount)
        }

        func isUnresponsive(after patience: Duration) -> Bool {
            guard isWriting, let lastProgress else { return false }
            return lastProgress.duration(to: .now) >= patience
        }

        mutating func takeUnwritten() -> [Data] {
            defer { unwritten = [] }
            return unwritten
        }
    }

    /// Creates an empty buffer.
    ///
    /// - Parameters:
    ///   - maximumInMemory: The maximum number of bytes that wait in memory for the reader.
    ///   - maximumUnwritten: The number of bytes not yet written to disk above which ``waitForDisk()`` waits.
    ///   - patience: The time without progress after which the disk counts as unresponsive.
    ///   - queue: The queue for the files.
    ///   - files: The files, which are empty.
    init(
        inMemoryUpTo maximumInMemory: Int = .max,
        unwrittenUpTo maximumUnwritten: Int = 1 << 20,
        patience: Duration = .seconds(5),
        queue: DispatchQueue? = nil,
        files: SpillFiles = SpillFiles()
    ) {
        self.maximumInMemory = maximumInMemory
        self.maximumUnwritten = maximumUnwritten
        self.patience = patience
        state = Mutex(State(queue: queue))
        self.files = Mutex(files)
    }

    /// Whether bytes may wait in a file.
    var spills: Bool {
        maximumInMemory < .max
    }

    /// The number of bytes in the buffer.
    var count: Int64 {
        state.withLock { $0.count }
    }

    /// The number of bytes that are waiting for the disk.
    var unwrittenCount: Int {
        state.withLock { $0.unwrittenCount }
    }

    /// Whether the buffer is empty.
    var isEmpty: Bool {
        count == 0
    }

    /// Whether ``take(orNotify:)`` has a result; `false` while the next bytes are being read from a file.
    var isReady: Bool {
        state.withLock { $0.notify == nil && ($0.count > 0 || $0.fault != nil) }
    }

    /// The error that prevents bytes from being stored in a file.
    var fault: FileFault? {
        state.withLock { $0.fault }
    }

    /// Reserves memory for announced bytes.
    func reserveCapacity(_ count: Int) {
        state.withLock { $0.memory.reserveCapacity(count) }
    }

    /// Adds bytes at the end of the buffer.
    func append(_ data: Data) {
        let starts = state.withLock { state in
            guard state.fault == nil, !state.isDropped else { return false }
            // Bytes in the files come after those in memory, so later bytes have to go to the files, too.
            let isInMemory = state.countInFiles == 0 && state.unwrittenCount == 0
            guard !isInMemory || state.memory.count + data.count > maximumInMemory else {
                state.memory.append(data)
                return false
            }
            state.unwritten.append(data)
            state.unwrittenCount += data.count
            guard !state.isWriting else { return false }
            state.isWriting = true
            state.lastProgress = .now
            return true
        }
        if starts {
            onQueue { self.write() }
        }
    }

    /// Takes the oldest bytes of the buffer.
    ///
    /// - Parameter notify: Called when the next bytes can be taken, if the result is `nil`.
    /// - Returns: The bytes; empty if there are none, and `nil` if they are in a file.
    /// - Throws: The error that prevents bytes from being stored in a file.
    func take(orNotify notify: @escaping @Sendable () -> Void) throws(FileFault) -> Data? {
        let (taken, starts) = try state.withLock { state throws(FileFault) -> (Data?, Bool) in
            if let fault = state.fault { throw fault }
            guard state.memory.isEmpty, state.count > 0 else {
                defer { state.memory = Data() }
                return (state.memory, false)
            }
            defer { state.notify = notify }
            return (nil, state.notify == nil)
        }
        if starts {
            onQueue { self.load() }
        }
        return taken
    }

    /// Blocks the caller while many bytes are waiting for the disk.
    ///
    /// It blocks for at most 50 milliseconds, because the callers share a queue and must take turns. If the excess is
    /// more than half of the limit, it blocks until the bytes are written or `patience` has passed, so that memory use
    /// is bounded. The buffer has a ``fault`` if the disk has accepted no bytes for the time of `patience`.
    func waitForDisk() {
        let excess = state.withLock { $0.unwrittenCount - maximumUnwritten }
        guard excess > 0 else { return }
        let isWritten = DispatchSemaphore(value: 0)
        onQueue { isWritten.signal() }
        let turn = excess > maximumUnwritten / 2 ? patience : min(patience, Self.maximumTurn)
        guard isWritten.wait(timeout: .now() + .nanoseconds(Int(turn / .nanoseconds(1)))) == .timedOut,
            state.withLock({ $0.isUnresponsive(after: patience) })
        else { return }
        fail(.unresponsive(FileManager.default.temporaryDirectory.path))
    }

    /// Discards all bytes and their files.
    func removeAll() {
        let queue = state.withLock { state in
            (state.memory, state.countInFiles, state.unwritten, state.unwrittenCount) = (Data(), 0, [], 0)
            state.isDropped = true
            return state.queue
        }
        queue?.async { self.files.withLock { $0.removeAll() } }
    }
}

// MARK: - On the queue

extension SpillBuffer {
    private func onQueue(_ work: @escaping @Sendable () -> Void) {
        let queue = state.withLock { state in
            let queue = state.queue ?? DispatchQueue(label: "Networking.SpillBuffer")
            state.queue = queue
            return queue
        }
        queue.async(execute: work)
    }

    /// Writes the bytes that were added since the last write.
    private func write() {
        let batch = state.withLock { $0.takeUnwritten() }
        do throws(FileFault) {
            for data in batch {
                try files.withLock { files throws(FileFault) in try files.append(data) }
                state.withLock { $0.lastProgress = .now }
            }
        } catch {
            return fail(error)
        }
        let count = batch.reduce(0) { $0 + $1.count }
        let hasMore = state.withLock { state in
            guard !state.isDropped else { return false }
            state.countInFiles += Int64(count)
            state.unwrittenCount -= count
            state.isWriting = !state.unwritten.isEmpty
            return state.isWriting
        }
        if hasMore {
            // The next write is queued after a read that is waiting.
            onQueue { self.write() }
        }
    }

    /// Reads the next bytes into memory.
    private func load() {
        let isInFiles = state.withLock { state in
            guard state.countInFiles == 0 else { return true }
            // Nothing is being written now, so these are the next bytes.
            for data in state.takeUnwritten() {
                state.memory.append(data)
                state.unwrittenCount -= data.count
            }
            return false
        }
        if isInFiles {
            do throws(FileFault) {
                let data = try files.withLock { files throws(FileFault) in try files.take() }
                // Nothing else can shorten the file. An empty result would be requested again without end.
                guard !data.isEmpty else { return fail(.absent(FileManager.default.temporaryDirectory.path)) }
                state.withLock { state in
                    guard !state.isDropped else { return }
                    state.memory = data
                    state.countInFiles -= Int64(data.count)
                }
            } catch {
                return fail(error)
            }
        }
        takeNotify()?()
    }

    private func fail(_ fault: FileFault) {
        state.withLock { state in
            state.fault = state.fault ?? fault
            state.unwritten = []
        }
        takeNotify()?()
    }

    private func takeNotify() -> (@Sendable () -> Void)? {
        state.withLock { state in
            defer { state.notify = nil }
            return state.notify
        }
    }
}

/// Two files: one is read to its end while the other is written, and then they swap roles.
///
/// Their size is therefore bounded by the largest backlog of the reader, and not by the total number of bytes.
struct SpillFiles: Sendable {
    private var read = Part()
    private var written = Part()
    private let willWrite: @Sendable (TemporaryFile) throws(FileFault) -> Void

    /// Creates files that hold no bytes.
    ///
    /// - Parameter willWrite: Called before each write. A test delays or fails the write here.
    init(willWrite: @escaping @Sendable (TemporaryFile) throws(FileFault) -> Void = { _ in }) {
        self.willWrite = willWrite
    }

    private struct Part: Sendable {
        var file: TemporaryFile?
        /// The positions of the unread bytes in the file.
        var waiting: Range<Int64> = 0..<0
    }

    /// The existing files.
    var files: [TemporaryFile] {
        [read.file, written.file].compactMap { $0 }
    }

    /// Adds bytes at the end.
    mutating func append(_ data: Data) throws(FileFault) {
        let file: TemporaryFile
        if let open = written.file {
            file = open
        } else {
            file = try TemporaryFile()
        }
        written.file = file
        try willWrite(file)
        try file.write(data, at: written.waiting.upperBound)
        written.waiting = written.waiting.lowerBound..<written.waiting.upperBound + Int64(data.count)
    }

    /// Takes the oldest bytes; returns empty data if there are none.
    mutating func take() throws(FileFault) -> Data {
        if read.waiting.isEmpty {
            read.waiting = 0..<0
            swap(&read, &written)
        }
        guard let file = read.file, !read.waiting.isEmpty else { return Data() }
        let data = try file.read(upTo: min(read.waiting.count, 256 << 10), at: read.waiting.lowerBound)
        read.waiting = read.waiting.lowerBound + Int64(data.count)..<read.waiting.upperBound
        return data
    }

    /// Discards the bytes and the files.
    mutating func removeAll() {
        (read, written) = (Part(), Part())
    }
}
