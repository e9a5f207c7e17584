#if os(Linux) && SQLite
import Foundation
import Synchronization

/// The runs of a scenario, each with a later call that fails.
struct Steps {
    /// The maximum time of one run, in seconds.
    private static let timeLimit = 60.0
    private static let maximumRuns = 2_000

    private let scenario: any Scenario
    private let fault: Fault
    private let directory: URL

    init(of scenario: any Scenario, _ fault: Fault, in directory: URL) {
        (self.scenario, self.fault, self.directory) = (scenario, fault, directory)
    }

    // MARK: Running

    func run() async throws {
        guard let library = CallLibrary() else { fatalError("LD_PRELOAD does not name the library") }
        let watch = Watch(timeLimit: Self.timeLimit)
        // Whatever a process opens only once is opened before calls fail.
        let count = try await rehearse(library)
        let limit = ProcessInfo.processInfo.environment["FAILING_CALLS_RUNS"].flatMap { Int($0) } ?? Self.maximumRuns
        let step = max(1, (count + limit - 1) / max(1, limit))
        for (index, call) in stride(from: 1, through: Self.maximumRuns * step, by: step).enumerated() {
            let number = index + 1
            watch.start(number)
            guard try await hasFailed(number, call, library) else {
                FailingCalls.print("runs \(number)")
                exit(0)
            }
        }
        fatalError("the scenario has more than \(Self.maximumRuns) calls")
    }

    /// Runs the scenario without a failure, and returns the number of calls to which the fault applies.
    private func rehearse(_ library: CallLibrary) async throws -> Int {
        let files = directory.appending(path: "0/files")
        try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
        try await scenario.prepare(in: files)
        let journal = Journal(nil)
        library.arm(fault, at: files.path, call: .max, isDatabase: scenario.isDatabase)
        await scenario.run(in: files, journal)
        let count = library.count
        _ = library.disarm()
        for error in journal.errors {
            FailingCalls.print("problem 0 \(error.operation) fails without a fault: \(error.error)")
        }
        try journal.write(to: directory.appending(path: "0/journal"))
        return count
    }

    /// Runs the scenario with a call that fails, and returns whether there was such a call.
    private func hasFailed(_ number: Int, _ call: Int, _ library: CallLibrary) async throws -> Bool {
        let place = directory.appending(path: "\(number)")
        let files = place.appending(path: "files")
        try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
        try await scenario.prepare(in: files)
        let journal = Journal(library)
        library.arm(fault, at: files.path, call: call, isDatabase: scenario.isDatabase)
        await scenario.run(in: files, journal)
        let count = library.disarm()
        let calls = library.calls
        let failed = calls.first(where: \.isFault).map { "\($0.name) \($0.path)" } ?? "no call"
        var problems = orderProblems(calls) + problems(of: journal, files, hasFault: count > 0)
        let open = await openDescriptors(below: files.path)
        if !open.isEmpty {
            problems.append("descriptors are open: \(open)")
        }
        for problem in problems {
            FailingCalls.print("problem \(number) \(problem), after a failure of \(failed)")
        }
        try Data(failed.utf8).write(to: place.appending(path: "failed"))
        try journal.write(to: place.appending(path: "journal"))
        return count > 0
    }

    private func problems(of journal: Journal, _ files: URL, hasFault: Bool) -> [String] {
        let errors = journal.errors
        var problems: [String] = []
        for (operation, error) in errors {
            let text = "\(error)"
            // A developer must learn which file cannot be used, and an error of another layer must not pass through.
            if !text.contains(files.path) || ["FileFault(", "DatabaseError", "Code="].contains(where: text.contains) {
                problems.append("\(operation) fails with an unclear error: \(text)")
            }
        }
        if fault.isSingle {
            // The store can still write what makes the change void.
            problems += errors.filter { $0.error.isUncertain }.map { "\($0.operation) may take effect later" }
        }
        let text = errors.map { "\($0.operation): \($0.error)" }.joined(separator: "; ")
        if !errors.isEmpty, !hasFault || fault.isHarmless || scenario.toleratesFaults {
            problems.append("an operation fails (\(text))")
        } else if fault.isSingle, errors.count > 1 {
            problems.append("one failure lets several operations fail (\(text))")
        }
        return problems
    }

    /// Returns the problems of an order of calls that a loss of power would reveal.
    private func orderProblems(_ calls: [SystemCall]) -> [String] {
        guard scenario.durability != .none else { return [] }
        var problems: [String] = []
        // The files with bytes, and the directories with names, that are not on the disk.
        var (dirty, changed): (Set<String>, Set<String>) = ([], [])
        for call in calls where call.result >= 0 {
            let parent = { (path: String) in (path as NSString).deletingLastPathComponent }
            switch call.name {
            case "truncate" where scenario.isDatabase && call.path.hasSuffix("-wal"):
                // Once the database has the bytes of the log, the log may be emptied at any time.
                if dirty.contains(String(call.path.dropLast("-wal".count))) {
                    problems.append("\(call.path) is emptied before the database is on the disk")
                }
                dirty.remove(call.path)
            case "write", "truncate":
                // The index of a write-ahead log is built again.
                if !call.path.hasSuffix("-shm") { dirty.insert(call.path) }
            case "sync":
                dirty.remove(call.path)
                changed.remove(call.path)
            case "rename", "link":
                if !scenario.isDatabase, dirty.remove(call.path) != nil, scenario.isFinal(call.newPath) {
                    problems.append("\(call.newPath) gets its name before its bytes are on the disk")
                }
                changed.insert(parent(call.newPath))
            case "mkdir":
                changed.insert(parent(call.path))
            case "unlink":
                dirty.remove(call.path)
            case "note" where call.path == "ok open":
                // Reading acknowledges nothing.
                break
            case "note":
                // SQLite writes the database itself later, from its log.
                let files = scenario.isDatabase ? dirty.filter { $0.hasSuffix("-wal") } : dirty
                // A failed operation acknowledges nothing.
                if call.path.hasPrefix("ok "), scenario.durability == .names {
                    problems += files.sorted().map { "\(call.path) succeeds before \($0) is on the disk" }
                    problems += changed.sorted()
                        .map { "\(call.path) succeeds before the new names in \($0) are on the disk" }
                }
                // Each problem is reported once.
                (dirty, changed) = ([], [])
            default: break
            }
        }
        return problems
    }

    /// Returns the open files below a path, after a while in which those that are still in use are closed.
    private func openDescriptors(below path: String) async -> [String] {
        var open: [String] = []
        for _ in 0..<500 {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
            open = names.map { "/proc/self/fd/\($0)" }
                .compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: $0) }
                .filter { $0.hasPrefix(path) }
            if open.isEmpty { return [] }
            try? await Task.sleep(for: .milliseconds(10))
        }
        return open
    }

    // MARK: Verifying

    func verify() async throws {
        let watch = Watch(timeLimit: Self.timeLimit)
        var number = 0
        while FileManager.default.fileExists(atPath: directory.appending(path: "\(number)/journal").path) {
            watch.start(number)
            let place = directory.appending(path: "\(number)")
            let failed = (try? String(contentsOf: place.appending(path: "failed"), encoding: .utf8)) ?? "no call"
            for problem in try await verified(place) {
                FailingCalls.print("problem \(number) \(problem), after a failure of \(failed)")
            }
            number += 1
        }
        FailingCalls.print("runs \(number - 1)")
        exit(0)
    }

    private func verified(_ place: URL) async throws -> [String] {
        let files = place.appending(path: "files")
        do {
            let journal = try Journal(contentsOf: place.appending(path: "journal"))
            let (problems, names) = try await scenario.verify(in: files, journal)
            let left = Set(FileManager.default.enumerator(atPath: files.path)?.compactMap { $0 as? String } ?? [])
            let surplus = left.subtracting(names)
            return problems + (surplus.isEmpty ? [] : ["\(surplus.sorted()) is left"])
        } catch {
            return ["the next run fails: \(error)"]
        }
    }
}

extension Scenario {
    /// Whether a path is the final one of a file, and not one beside it.
    fileprivate func isFinal(_ path: String) -> Bool {
        durability == .names || !path.hasSuffix("-state")
    }
}

/// Ends the process if a run takes too long.
private final class Watch: Sendable {
    private let current = Mutex((number: 0, start: Date()))

    init(timeLimit: Double) {
        Thread.detachNewThread { [self] in
            while true {
                Thread.sleep(forTimeInterval: 1)
                let (number, start) = current.withLock { $0 }
                guard Date().timeIntervalSince(start) > timeLimit else { continue }
                FailingCalls.print("problem \(number) the run does not end")
                exit(3)
            }
        }
    }

    func start(_ number: Int) {
        current.withLock { $0 = (number, Date()) }
    }
}
#endif
