public import FoundationForNetworking
import HTTPTypes
import Logging
import NetworkingCore
import NetworkingInspector
import Synchronization

/// A file with recorded requests and responses: the first run of a test records it, and later runs replay it.
///
/// ```swift
/// @Test func user() async throws {
///     try await withCassette(at: fixtures.appending(path: "user.har"), mode: .once) { cassette in
///         let network = URLSession.shared.cassette(cassette).server(authority: "api.example.com")
///
///         let (user, _) = try await network.value(.user(id: 42))
///
///         #expect(user.name == "Emily")
///     }
/// }
/// ```
///
/// The file is an HTTP archive (HAR 1.2), formatted so that changes are easy to review. Secrets are redacted before
/// anything is stored, while the caller still receives the real response. Bodies are stored decoded: as text if they
/// are text, otherwise as base64. Each redirect is a separate interaction. Failures without a response and cancelled
/// calls are not recorded. A stream is recorded up to the point where it was read, even if it is still open in
/// ``finish()``; a stream of events is recorded up to its last complete event. A response that had already arrived when
/// its caller was cancelled is recorded, too.
///
/// Each interaction is replayed once, in the recorded order, and only for the principal it was recorded for. The
/// principals of a stack are numbered in the order in which they first appear, and their ids are not written. If two of
/// them start at the same time, that order is random: name them with ``Options/principalName``. If a caller is
/// cancelled before it has the response, its interaction can be replayed again.
///
/// Only one cassette at a time may write a file, across all processes; it holds a lock file beside it. Cassettes that
/// only read do not conflict. Recordings are saved only by ``finish()``, in one atomic step. Archives from other tools
/// can be replayed with ``Mode/none``.
public final class Cassette: Sendable {
    /// The file.
    public let url: URL
    /// How the cassette handles requests.
    public let mode: Mode
    let options: Options
    /// The content of the file when it was opened.
    let tape: Tape
    let file: CassetteFile
    /// The lock for writing, or nil if the cassette only replays.
    private let lock: CassetteLock?
    let state: Mutex<State>
    /// Held while the cassette is being finished, so that a concurrent call waits until the file is written.
    private let end = Mutex(())

    /// The content of the file, or nothing if there was no file.
    struct Tape: Sendable {
        var content: CassetteFile.Content?
        var interactions: [Interaction] = []
        var facts: [CassetteFacts] = []
        /// The interactions by a key that all matching requests share; matchers without such a key are compared
        /// afterwards.
        var index: [String: [Int]] = [:]
    }

    /// Opens a cassette.
    ///
    /// - Parameters:
    ///   - url: The file. Its folder is created if the cassette may write the file.
    ///   - mode: How the cassette handles requests.
    ///   - options: How the cassette matches, redacts, stores and replays.
    /// - Throws: ``CassetteError`` if the file is missing in mode ``Mode/none``, is damaged, has another format or is
    ///   being recorded elsewhere; if its folder is not writable; or if an archive from another tool might be
    ///   overwritten.
    /// - Precondition: Neither `maximumBodyBytes` nor a fixed `timing` is negative.
    public init(at url: URL, mode: Mode, options: Options = Options()) throws(CassetteError) {
        precondition(
            options.maximumBodyBytes >= 0,
            "maximumBodyBytes must not be negative (is \(options.maximumBodyBytes))"
        )
        if case .fixed(let duration) = options.timing {
            precondition(duration >= .zero, "timing must not be negative (is \(duration))")
        }
        guard url.isFileURL else {
            throw CassetteError(
                reason:
                    "A cassette needs a file URL (the scheme is \(url.scheme ?? "none")). Use URL(filePath:)."
            )
        }
        let file = CassetteFile(linkedFrom: url.path)
        var content = try file.read()
        var lock: CassetteLock?
        if mode.mayWrite(isThere: content != nil, options) {
            lock = try CassetteLock(of: file.path)
            // Another cassette may have written the file in the meantime.
            content = try file.read()
            if !mode.mayWrite(isThere: content != nil, options) {
                lock?.release()
                lock = nil
            } else if let content {
                try file.checkIsOurs(content)
            }
        }
        guard content != nil || mode != .none else {
            throw CassetteError(
                reason: "There is no cassette at \(file.name), and mode .none records nothing. "
                    + "Record it with mode .once where the server can be reached, and check the path."
            )
        }
        if let content, mode != .all { try file.check(content) }
        self.url = url
        self.mode = mode
        self.options = options
        self.file = file
        self.lock = lock
        tape = Tape(content, options)
        state = Mutex(State(count: tape.interactions.count))
    }

    deinit {
        let count = state.withLock { $0.isFinished ? 0 : $0.recordedCount }
        guard count > 0 else { return }
        NetworkEnvironment.current.logger.warning(
            """
            \(Cassette.counted(count, "interaction")) for the cassette \(file.name) \(count == 1 ? "is" : "are") lost: \
            finish() was not called.
            """
        )
    }

    /// The interactions in the file, including the recorded ones that will be saved.
    public var interactions: [Interaction] {
        entries(of: state.withLock { $0 }).map { Interaction($0, isForeign: isForeign) }
    }

    /// The interactions that were read from the file and that no request has used yet.
    ///
    /// Empty in mode ``Mode/all``, which replaces them.
    public var unused: [Interaction] {
        unusedIndices.map { tape.interactions[$0] }
    }

    private var unusedIndices: [Int] {
        guard mode != .all else { return [] }
        let state = state.withLock { $0 }
        return tape.interactions.indices.filter { !state.isUsed($0) }
    }

    /// The number of interactions recorded since the cassette was opened.
    public var recordedCount: Int {
        state.withLock { $0.recordedCount }
    }

    /// The number of times that a recorded response was replayed.
    public var replayedCount: Int {
        state.withLock { $0.uses.reduce(0) { $0 + $1.count } }
    }

    /// Throws if the file has interactions that no request has used.
    ///
    /// - Throws: ``CassetteError`` that lists the unused interactions.
    public func verifyAllUsed() throws(CassetteError) {
        if let problem = unusedProblem() { throw CassetteError(reason: problem) }
    }

    /// Saves the recordings, releases the file, and reports every problem as an error.
    ///
    /// The file is written only if its content changed. Later requests fail. A second call does nothing, unless the
    /// file could not be written. A concurrent call waits until the first one is done. Hooks must not call this method.
    ///
    /// - Throws: ``CassetteError`` if the file cannot be written. The file is written, and the error is thrown
    ///   afterwards, if interactions are unused (unless the options allow or drop them), if responses could not be
    ///   recorded, or if calls are still in flight.
    public func finish() throws(CassetteError) {
        try end.withLock { _ throws(CassetteError) in try finishAlone() }
    }

    private func finishAlone() throws(CassetteError) {
        // Record what readers have consumed so far, because whether their cancellation has arrived yet depends on
        // timing.
        for stream in state.withLock({ $0.isFinished ? [] : Array($0.streams.values) }) {
            _ = keepPart(of: stream)
        }
        let (state, isFirst) = state.withLock { state in
            defer { state.isFinished = true }
            return (state, !state.isFinished)
        }
        guard isFirst else { return }
        if lock != nil {
            do {
                try save(state)
            } catch {
                // The caller can try again, for example when the disk has free space.
                self.state.withLock { $0.isFinished = false }
                throw error
            }
        }
        lock?.release()
        var problems = state.problems
        if !state.underway.isEmpty {
            let requests = state.underway.sorted { $0.key < $1.key }.map(\.value)
            problems.append(
                "\(Cassette.counted(requests.count, "call")) still in progress when the cassette \(file.name) was "
                    + "finished, and not in it. Wait for all calls first:\(list(requests))"
            )
        }
        if !options.allowsUnused, !(options.dropsUnused && lock != nil), let problem = unusedProblem() {
            problems.append(problem)
        }
        if !problems.isEmpty { throw CassetteError(reason: problems.joined(separator: "\n")) }
    }

    /// Releases the file without saving anything, for a failed test: a partial recording would look like a complete
    /// one.
    public func discard() {
        end.withLock { _ in
            let isFirst = state.withLock { state in
                defer { state.isFinished = true }
                return !state.isFinished
            }
            if isFirst { lock?.release() }
        }
    }
}

extension Cassette {
    /// Whether another tool has written the file.
    var isForeign: Bool {
        tape.content.map { !$0.isOurs } ?? false
    }

    /// Whether requests that are missing from the file are recorded.
    var records: Bool {
        switch mode {
        case .none: false
        case .once: tape.content == nil
        case .newEpisodes, .all: true
        }
    }

    /// Whether the cassette may write its file.
    var mayWrite: Bool {
        lock != nil
    }

    /// The method and URL of an interaction in the file, for a message.
    func label(of index: Int) -> String {
        "\(tape.interactions[index].request.redacted(by: options.redaction))"
    }

    /// The name of the cassette in messages.
    var name: String {
        "The cassette \(file.name) (mode .\(mode.rawValue), "
            + "\(Cassette.counted(tape.interactions.count, "interaction")))"
    }

    private func unusedProblem() -> String? {
        let lines = unusedIndices.map { "\(label(of: $0)): \(tape.interactions[$0].response.status.code)" }
        guard !lines.isEmpty else { return nil }
        return
            "No request used \(Cassette.counted(lines.count, "interaction")) of the cassette \(file.name). Send the "
            + "missing requests, or remove the interactions with the option dropsUnused:\(list(lines))"
    }

    private func list(_ lines: [String]) -> String {
        let shown = lines.prefix(20).map { "\n  \($0)" }.joined()
        return lines.count > 20 ? "\(shown)\n  … and \(lines.count - 20) more" : shown
    }
}

extension Cassette.Mode {
    /// Whether the file may have to be written.
    fileprivate func mayWrite(isThere: Bool, _ options: Cassette.Options) -> Bool {
        switch self {
        case .none: false
        case .newEpisodes, .all: true
        case .once: !isThere || options.dropsUnused || options.expiration?.action == .record
        }
    }
}

extension Cassette.Tape {
    fileprivate init(_ content: CassetteFile.Content?, _ options: Cassette.Options) {
        self.content = content
        guard let content else { return }
        interactions = content.har.entries.map { Cassette.Interaction($0, isForeign: !content.isOurs) }
        facts = interactions.map { options.facts(of: $0.request.redacted(by: options.redaction)) }
        index = Dictionary(grouping: facts.indices) { options.key(of: facts[$0], for: interactions[$0].user) }
    }
}

extension Cassette.Options {
    /// The parts of a redacted request that matchers compare.
    func facts(of request: Cassette.Interaction.Request) -> CassetteFacts {
        guard let normalize else { return CassetteFacts(request) }
        var request = request
        normalize(&request)
        return CassetteFacts(request)
    }
}

extension Cassette: CustomStringConvertible, CustomReflectable {
    /// The file, the mode and the number of interactions read.
    public var description: String {
        name
    }

    /// A dump without secrets.
    public var customMirror: Mirror {
        Mirror(self, children: ["description": description])
    }
}
