import Networking
import NetworkingHAR
import Synchronization

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A recording of what a stack sent and got, in a file: the first run of a test makes it, and those after that replay
/// it.
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
/// The file is an HTTP archive (HAR 1.2), laid out so that a change shows as such when it is reviewed. Secrets are
/// hidden before anything is kept, while the caller that records gets the real response. Bodies are kept decoded: as
/// text where they are text, else as base64. Each redirect is an interaction of its own. Failures without a response,
/// and what a caller gave up, are not recorded; but a stream is, as far as it was read, and so is one that is still
/// open at the end: of events, up to the last that is whole. A response that had arrived when its caller was cancelled
/// is recorded, too.
///
/// Each interaction is replayed once, in the recorded order, to whom it was recorded for: the principals of a stack are
/// told apart by the order in which they first appear, and no id is written. Where two of them begin at once that order
/// is a matter of luck: name them with ``Options/principalName``. An interaction whose caller is cancelled before it
/// has the response can be replayed again.
///
/// One cassette at a time may write a file, in all processes, for which it holds a file beside it; those that only read
/// do not conflict. What was recorded is saved by ``finish()``, in one step, and by nothing else. Archives of other
/// tools can be replayed with ``Mode/none``.
public final class Cassette: Sendable {
    /// The file.
    public let url: URL
    /// What it does with requests.
    public let mode: Mode
    let options: Options
    /// What was in the file.
    let tape: Tape
    let file: CassetteFile
    /// The right to write; nil for one that only replays.
    private let lock: CassetteLock?
    let state: Mutex<State>
    /// Held while it is finished, so that whoever does that too waits until the file is written.
    private let end = Mutex(())

    /// What was in the file; nothing where there was none.
    struct Tape: Sendable {
        var content: CassetteFile.Content?
        var interactions: [Interaction] = []
        var facts: [CassetteFacts] = []
        /// The interactions by what is the same for all that match; the comparisons that have no such key come after.
        var index: [String: [Int]] = [:]
    }

    /// Opens a cassette.
    ///
    /// - Parameters:
    ///   - url: The file. Its folder is made when there is something to record.
    ///   - mode: What it does with requests.
    ///   - options: How it compares, hides, keeps and plays.
    /// - Throws: ``CassetteError`` for a file that cannot be used: one that is not there in mode ``Mode/none``, that is
    ///   damaged, of another format, or being recorded elsewhere; for a folder that must not be written; for somebody
    ///   else's archive, where it might be written.
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
                    "A cassette is a file, and a URL of the scheme \(url.scheme ?? "none") names none. Use URL(filePath:)."
            )
        }
        let file = CassetteFile(linkedFrom: url.path)
        var content = try file.read()
        var lock: CassetteLock?
        if mode.mayWrite(isThere: content != nil, options) {
            lock = try CassetteLock(of: file.path)
            // Somebody may have written it until a moment ago.
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
        NetworkEnvironment.current.warn(
            "\(Cassette.counted(count, "interaction")) for the cassette \(file.name) \(count == 1 ? "is" : "are") lost: "
                + "finish() was not called."
        )
    }

    /// The interactions that the file has, or will have when it is saved.
    public var interactions: [Interaction] {
        entries(of: state.withLock { $0 }).map { Interaction($0, isForeign: isForeign) }
    }

    /// The interactions that were read from the file and that nobody has asked for yet.
    ///
    /// None in mode ``Mode/all``, which replaces them.
    public var unused: [Interaction] {
        unusedIndices.map { tape.interactions[$0] }
    }

    private var unusedIndices: [Int] {
        guard mode != .all else { return [] }
        let state = state.withLock { $0 }
        return tape.interactions.indices.filter { !state.isUsed($0) }
    }

    /// How many interactions were recorded since it was opened.
    public var recordedCount: Int {
        state.withLock { $0.recordedCount }
    }

    /// How many times a recorded response was replayed.
    public var replayedCount: Int {
        state.withLock { $0.uses.reduce(0) { $0 + $1.count } }
    }

    /// Throws when there are interactions that nobody has asked for.
    ///
    /// - Throws: ``CassetteError`` that lists them.
    public func verifyAllUsed() throws(CassetteError) {
        if let problem = unusedProblem() { throw CassetteError(reason: problem) }
    }

    /// Saves what was recorded, lets go of the file, and throws what is not as it should be.
    ///
    /// The file is only written when something in it changed. Requests that come later fail; calling it again does
    /// nothing, unless the file could not be written. A call that comes while another writes waits for that. Hooks must
    /// not call it.
    ///
    /// - Throws: ``CassetteError`` when the file cannot be written; and, when it has been, for interactions that nobody
    ///   asked for, unless the options allow or drop them, for responses that could not be recorded, and for calls that
    ///   are still under way.
    public func finish() throws(CassetteError) {
        try end.withLock { _ throws(CassetteError) in try finishAlone() }
    }

    private func finishAlone() throws(CassetteError) {
        // What somebody read until now is on the cassette: whether their leaving has come through yet is a matter of
        // luck.
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
                // It can be tried again, when there is room on the disk or whatever it takes.
                self.state.withLock { $0.isFinished = false }
                throw error
            }
        }
        lock?.release()
        var problems = state.problems
        if !state.underway.isEmpty {
            let requests = state.underway.sorted { $0.key < $1.key }.map(\.value)
            problems.append(
                "\(Cassette.counted(requests.count, "call")) still under way when the cassette \(file.name) was finished, and not in it. "
                    + "Wait for all calls first:\(list(requests))"
            )
        }
        if !options.allowsUnused, !(options.dropsUnused && lock != nil), let problem = unusedProblem() {
            problems.append(problem)
        }
        if !problems.isEmpty { throw CassetteError(reason: problems.joined(separator: "\n")) }
    }

    /// Lets go of the file without saving anything, for a test that has failed: half a recording would be taken for a
    /// whole one.
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
    /// Whether somebody else has written the file.
    var isForeign: Bool {
        tape.content.map { !$0.isOurs } ?? false
    }

    /// Whether requests that the file does not have are recorded.
    var records: Bool {
        switch mode {
        case .none: false
        case .once: tape.content == nil
        case .newEpisodes, .all: true
        }
    }

    /// Whether it may write at all.
    var mayWrite: Bool {
        lock != nil
    }

    /// Method and URL of an interaction of the file, for a message.
    func label(of index: Int) -> String {
        "\(tape.interactions[index].request.hidden(by: options.redaction))"
    }

    /// What a message calls it.
    var name: String {
        "The cassette \(file.name) (mode .\(mode.rawValue), \(Cassette.counted(tape.interactions.count, "interaction")))"
    }

    private func unusedProblem() -> String? {
        let lines = unusedIndices.map { "\(label(of: $0)): \(tape.interactions[$0].response.status.code)" }
        guard !lines.isEmpty else { return nil }
        return
            "Nobody asked for \(Cassette.counted(lines.count, "interaction")) of the cassette \(file.name). Send what is missing, "
            + "or remove them with the option dropsUnused:\(list(lines))"
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
        interactions = content.har.log.entries.map { Cassette.Interaction($0, isForeign: !content.isOurs) }
        facts = interactions.map { options.facts(of: $0.request.hidden(by: options.redaction)) }
        index = Dictionary(grouping: facts.indices) { options.key(of: facts[$0], for: interactions[$0].user) }
    }
}

extension Cassette.Options {
    /// What is compared of a request whose secrets are hidden.
    func facts(of request: Cassette.Interaction.Request) -> CassetteFacts {
        guard let normalize else { return CassetteFacts(request) }
        var request = request
        normalize(&request)
        return CassetteFacts(request)
    }
}

extension Cassette: CustomStringConvertible, CustomReflectable {
    /// The file, the mode and how many interactions were read.
    public var description: String {
        name
    }

    /// What a dump shows: no secret.
    public var customMirror: Mirror {
        Mirror(self, children: ["description": description])
    }
}
