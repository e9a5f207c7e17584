#if os(Linux) && SQLite
import Foundation
import HTTPTypes
import Networking
import NetworkingSQLite

/// Adds requests to an outbox and sends them.
struct OutboxScenario: Scenario {
    let isDatabase: Bool
    let durability = Durability.names
    let make: @Sendable (URL) -> any OutboxStore
    let names: Set<String>

    static let files = OutboxScenario(
        isDatabase: false,
        make: { FileOutboxStore(directory: $0.appending(path: "outbox")) },
        names: ["outbox", "outbox/lock"]
    )

    static let database = OutboxScenario(
        isDatabase: true,
        make: { SQLiteOutboxStore(file: $0.appending(path: "outbox.sqlite")) },
        names: Database.names("outbox.sqlite")
    )

    /// Its authority is this machine, so that it needs no network.
    private func request(_ number: Int) -> HTTPRequestData {
        HTTPRequestData(
            method: .post,
            scheme: "http",
            authority: "localhost",
            path: "/orders/\(number)",
            body: .data(Data(repeating: 7, count: number * 2_000))
        )
    }

    /// An outbox whose first attempt of request 2 fails.
    private func outbox(_ directory: URL, _ journal: Journal) -> Outbox {
        var policy = OutboxPolicy()
        policy.baseDelay = .zero
        let transport = MockTransport { request in
            let path = request.path ?? ""
            let isFirst = !journal.lines.contains { $0.hasPrefix("tried \(path) ") || $0.hasPrefix("sent \(path) ") }
            let fails = path == "/orders/2" && isFirst
            journal.add("\(fails ? "tried" : "sent") \(path) \(request.headerFields[.idempotencyKey] ?? "none")")
            return .status(fails ? .serviceUnavailable : .ok)
        }
        return Outbox(in: make(directory), over: transport, policy: policy)
    }

    func run(in directory: URL, _ journal: Journal) async {
        let outbox = outbox(directory, journal)
        for number in 1...3 {
            await queue(number, outbox, journal)
        }
        for number in 1...2 {
            await journal.attempt("flush \(number)") { try await outbox.flush() }
        }
        await queue(4, outbox, journal)
    }

    private func queue(_ number: Int, _ outbox: Outbox, _ journal: Journal) async {
        await journal.attempt("queue \(number)") {
            do {
                try await outbox.enqueue(request(number))
            } catch {
                if error.isUncertain {
                    journal.add("unknown \(number)")
                }
                throw error
            }
        }
    }

    func verify(in directory: URL, _ journal: Journal) async throws -> (problems: [String], files: Set<String>) {
        let before = journal.lines
        let outbox = outbox(directory, journal)
        for _ in 0..<5 where try await outbox.flush() > 0 {}
        var problems: [String] = []
        if try await !outbox.entries().isEmpty {
            problems.append("requests stay in the outbox")
        }
        for number in 1...4 {
            func keys(_ lines: some Sequence<String>) -> [String] {
                lines.filter { $0.hasPrefix("sent /orders/\(number) ") || $0.hasPrefix("tried /orders/\(number) ") }
                    .compactMap { $0.split(separator: " ").last.map(String.init) }
            }
            let (all, new) = (keys(journal.lines), keys(journal.lines.dropFirst(before.count)))
            if all.isEmpty, journal.hasSucceeded("queue \(number)") {
                problems.append("request \(number) is lost")
            }
            if !all.isEmpty, !journal.hasSucceeded("queue \(number)"), !journal.lines.contains("unknown \(number)") {
                problems.append("request \(number) is sent, although adding it failed")
            }
            if Set(all).count > 1 {
                problems.append("request \(number) is sent with several keys")
            }
            // A flush that has succeeded has also removed what it has sent.
            let hasFlushed = journal.hasSucceeded("flush 1") && journal.hasSucceeded("flush 2")
            if !new.isEmpty, number < 4, hasFlushed {
                problems.append("request \(number) is sent again")
            }
        }
        return (problems, names)
    }
}
#endif
