import Foundation
import Networking
import NetworkingTestServer

/// Adds an entry to an outbox, kills the process before it sends the entry, and sends it from another process.
enum OutboxRestart {
    static func show(_ server: TestServer) async throws {
        Terminal.title("16. A request survives the end of the app")
        Terminal.code(
            """
            let outbox = Outbox(in: FileOutboxStore(directory: folder), over: network)
            try await outbox.enqueue(HTTPRequestData(method: .post, path: "orders", body: .json(order)))
            // The process is killed here. The next one has the same outbox:
            try await outbox.flush()
            """
        )
        let folder = FileManager.default.temporaryDirectory.appending(path: "quickstart-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let wasKilled = try await runAndKill(folder, server.url)
        try Tour.expect(wasKilled, "the first process is killed")
        try Tour.expect(server.requests(for: .post, path: "/orders").isEmpty, "the first process sends nothing")

        let outbox = outbox(in: folder, for: server.url)
        let entries = try await outbox.entries()
        let key = entries.first?.request.headerFields[.idempotencyKey]
        Terminal.say("Another process has added an order and was killed. \(entries.count) entry is on the disk.")
        let left = try await outbox.flush()
        let orders = server.requests(for: .post, path: "/orders")
        Terminal.say("This process has sent it: \(orders.count) request at the server, \(left) left in the outbox.")
        Terminal.say("Idempotency-Key when it was added: \(key ?? "none")")
        Terminal.say("Idempotency-Key at the server:     \(orders.first?.headerFields[.idempotencyKey] ?? "none")")
        try Tour.expect(entries.count == 1 && orders.count == 1 && left == 0, "the order arrives once")
        try Tour.expect(
            key != nil && key == orders.first?.headerFields[.idempotencyKey],
            "the order arrives with the key that it was added with"
        )
        try await Self.outbox(in: folder, for: server.url).flush()
        let count = server.requests(for: .post, path: "/orders").count
        try Tour.expect(count == 1, "an order that has arrived is not sent again")
    }

    /// Adds an order and ends this process as `kill -9` does.
    ///
    /// The tour starts a second process for it.
    static func enqueueAndEnd(_ directory: String, _ url: String) async throws {
        guard let url = URL(string: url) else { throw UsageError(arguments: [url]) }
        try await outbox(in: URL(filePath: directory), for: url)
            .enqueue(HTTPRequestData(method: .post, path: "orders", body: .json(["cups": 2])))
        kill(getpid(), SIGKILL)
    }

    private static func outbox(in directory: URL, for url: URL) -> Outbox {
        Outbox(
            in: FileOutboxStore(directory: directory),
            over: URLSession.shared.timeout(.seconds(10)).server(baseURL: url)
        )
    }

    /// Runs this program again and returns whether a signal has ended it.
    private static func runAndKill(_ directory: URL, _ url: URL) async throws -> Bool {
        let process = Process()
        process.executableURL = Bundle.main.executableURL
        process.arguments = [Quickstart.enqueueOption, directory.path, url.absoluteString]
        let ended = AsyncStream.makeStream(of: Bool.self)
        process.terminationHandler = { process in
            ended.continuation.yield(process.terminationReason == .uncaughtSignal)
            ended.continuation.finish()
        }
        try process.run()
        return await ended.stream.first { _ in true } ?? false
    }
}
