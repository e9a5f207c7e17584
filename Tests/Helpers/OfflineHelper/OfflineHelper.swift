#if os(Linux)
import Foundation
import HTTPTypes
import Networking
import NetworkingSQLite
import Synchronization

/// A process beside the tests: it prints the connectivity of its network namespace, or fills and empties an outbox.
///
/// Arguments:
///
/// - `watch` prints each status of `SystemConnectivity` as a line.
/// - `outbox <store> <directory> <first number>` adds 400 requests, from a number on, and sends them at the same time,
///   and waits to be killed. It prints `queued 7` when request 7 was added, and `sent 7 key` when its transport
///   receives it.
/// - `stop <store> <directory> <step>` adds request 1, sends it, and stops at a step: it prints `at <step>` and waits
///   to be killed.
///
/// The store is `file` or `sqlite`. The last two also end with their standard input.
@main
enum OfflineHelper {
    static func main() async throws {
        let arguments = CommandLine.arguments
        switch (arguments.dropFirst().first, arguments.count) {
        case ("watch", 2):
            for await status in SystemConnectivity().changes {
                print(status)
            }
        case ("outbox", 5):
            endWithParent()
            try await fillAndSend(store(arguments[2], in: arguments[3]), from: Int(arguments[4]) ?? 0)
        case ("stop", 5):
            endWithParent()
            let step = StoppedStep(arguments[4])
            let store = StoppedStore(base: store(arguments[2], in: arguments[3]), step: step)
            let outbox = Outbox(in: store, over: PrintingTransport(step: step))
            try await outbox.enqueue(request(1))
            print("queued 1")
            try await outbox.flush()
        default:
            fatalError(
                "usage: OfflineHelper watch | outbox <store> <directory> <first> | stop <store> <directory> <step>"
            )
        }
    }

    private static func store(_ name: String, in directory: String) -> any OutboxStore {
        let directory = URL(filePath: directory)
        switch name {
        case "file": return FileOutboxStore(directory: directory)
        #if SQLite
        case "sqlite": return SQLiteOutboxStore(file: directory.appending(path: "outbox.sqlite"))
        #endif
        default: fatalError("no store named \(name)")
        }
    }

    private static func fillAndSend(_ store: any OutboxStore, from first: Int) async throws {
        var policy = OutboxPolicy()
        policy.baseDelay = .zero
        let outbox = Outbox(in: store, over: PrintingTransport(), policy: policy)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await outbox.run() }
            for number in first..<(first + 400) {
                try await outbox.enqueue(request(number))
                print("queued \(number)")
            }
            try await group.waitForAll()
        }
    }

    /// Its authority is this machine, so that it needs no network, and its body is of any length.
    static func request(_ number: Int) -> HTTPRequestData {
        HTTPRequestData(
            method: .post,
            scheme: "http",
            authority: "localhost",
            path: "/orders/\(number)",
            body: .data(Data(repeating: UInt8(truncatingIfNeeded: number), count: number * 997 % 20_000))
        )
    }

    /// Writes a line at once, and not through a buffer that would end with the process.
    static func print(_ line: some CustomStringConvertible) {
        FileHandle.standardOutput.write(Data("\(line)\n".utf8))
    }

    /// Ends this process when its standard input ends, which it does with the process of the tests, however that ends.
    private static func endWithParent() {
        Thread.detachNewThread {
            while !FileHandle.standardInput.availableData.isEmpty {}
            exit(1)
        }
    }
}

/// A step at which the process waits to be killed.
struct StoppedStep: Sendable {
    private let name: String?

    init(_ name: String? = nil) {
        self.name = name
    }

    func pass(_ step: String) async throws {
        guard step == name else { return }
        OfflineHelper.print("at \(step)")
        try await Task.sleep(for: .seconds(3_600))
    }
}

/// Prints each request, and lets the first attempt of every fifth fail.
private struct PrintingTransport: NetworkingTransport {
    private let failed = Failed()
    var step = StoppedStep()

    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        let number = request.path?.split(separator: "/").last.map(String.init) ?? ""
        try await step.pass("send.before")
        OfflineHelper.print("sent \(number) \(request.headerFields[.idempotencyKey] ?? "none")")
        try await step.pass("send.after")
        let fails = Int(number).map { $0 % 5 == 0 } ?? false
        return HTTPResponseData(request: request, status: fails && failed.isFirst(number) ? .serviceUnavailable : .ok)
    }

    private final class Failed: Sendable {
        private let numbers = Mutex<Set<String>>([])

        func isFirst(_ number: String) -> Bool {
            numbers.withLock { $0.insert(number).inserted }
        }
    }
}

/// A store that stops before and after each change.
private struct StoppedStore: OutboxStore {
    let base: any OutboxStore
    let step: StoppedStep

    func ids() async throws -> [OutboxEntry.ID] {
        try await base.ids()
    }

    func entry(_ id: OutboxEntry.ID) async throws -> OutboxEntry? {
        try await base.entry(id)
    }

    func add(_ entry: OutboxEntry) async throws {
        try await step.pass("add.before")
        try await base.add(entry)
        try await step.pass("add.after")
    }

    func update(_ progress: OutboxEntry.Progress, of id: OutboxEntry.ID) async throws {
        try await step.pass("update.before")
        try await base.update(progress, of: id)
        try await step.pass("update.after")
    }

    func remove(_ id: OutboxEntry.ID) async throws -> Bool {
        try await step.pass("remove.before")
        let existed = try await base.remove(id)
        try await step.pass("remove.after")
        return existed
    }

    func claim() async throws -> Bool {
        try await step.pass("claim.before")
        let isClaimed = try await base.claim()
        try await step.pass("claim.after")
        return isClaimed
    }

    func release() async {
        await base.release()
    }
}
#else
@main
enum OfflineHelper {
    static func main() {}
}
#endif
