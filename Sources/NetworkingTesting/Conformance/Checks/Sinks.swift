#if TestServer
import FoundationForNetworking
import HTTPTypes
import NetworkingTestServer
import NetworkingCore
import Synchronization

extension TransportCheck {
    /// The calls that a sink receives, and their order.
    static let sinks: [TransportCheck] = [
        TransportCheck("sink gets the body in order", needsSockets: false) { bench in
            let body = Data.pattern(2_000_000)
            bench.server.enqueue(
                TestResponse(body: .data(body)),
                TestResponse(body: .chunks([TestResponse.Chunk(body)]))
            )
            for _ in 1...2 {
                let sink = CollectingSink()
                let response = try await bench.fetch(
                    .with {
                        $0.sink = sink
                        // This limit only applies to bodies in memory.
                        $0.maximumResponseBytes = 10
                    }
                )
                try expect(sink.heads.map(\.status), is: [.ok], in: "the heads that the sink is offered")
                try expect(sink.data, is: body, in: "the bytes that the sink receives")
                try expect(sink.chunks.allSatisfy { !$0.isEmpty }, "chunks that are not empty")
                try expect(sink.finished, is: 1, in: "the number of `finish` calls")
                try expect(response.body, is: .delivered(byteCount: 2_000_000), in: "the body of the response")
            }
        },
        TransportCheck("sink gets one chunk at a time", needsSockets: false) { bench in
            let body = Data.pattern(1_000_000)
            bench.server.route("/") { _ in TestResponse(body: .data(body)) }
            let sink = SlowSink()
            try await bench.fetch(.with { $0.sink = sink })
            let record = sink.record.withLock { $0 }
            try expect(record.hasOverlap, is: false, in: "whether two calls of the sink overlap")
            try expect(record.isFinishedLast, is: true, in: "whether `finish` is the last call")
            try expect(record.data, is: body, in: "the bytes that the sink receives")
        },
        TransportCheck("sink gets neither error pages nor redirects", needsSockets: false) { bench in
            bench.server.route("/old") { _ in
                TestResponse(status: .found, headerFields: [.location: "/gone"], body: .data(Data("moved".utf8)))
            }
            bench.server.route("/gone") { _ in .text("not here", status: .notFound) }
            let sink = CollectingSink()
            let response = try await bench.fetch(.with(.get, "/old") { $0.sink = sink })
            try expect(response.text, is: "not here", in: "the body of the response")
            try expect(sink.heads.map(\.status), is: [.notFound], in: "the heads that the sink is offered")
            try expect(sink.chunks.count, is: 0, in: "the number of chunks that the sink receives")
        },
        TransportCheck("sink is offered each final head once", needsSockets: false) { bench in
            bench.server.route("/page") { _ in TestResponse(status: .notFound, body: .data(Data("not here".utf8))) }
            bench.server.route("/body") { _ in TestResponse(body: .chunks(["one", "two"])) }
            bench.server.route("/empty") { _ in .ok }
            bench.server.route("/old") { _ in
                TestResponse(status: .found, headerFields: [.location: "/body"], body: .data(Data("moved".utf8)))
            }
            for decision in [SinkDecision.take, .collect(upTo: 100), .refuse] {
                for (path, status) in [("/page", 404), ("/body", 200), ("/empty", 200), ("/old", 200), ("/old", 302)] {
                    let sink = CollectingSink { _ in decision }
                    try await bench.fetch(
                        .with(.get, path) {
                            $0.sink = sink
                            if status == 302 { $0.redirects = .never }
                        }
                    )
                    let heads = sink.heads.map(\.status.code)
                    try expect(heads, is: [status], in: "the heads offered to a sink that returns \(decision)")
                    let ends = decision == .take ? 1 : 0
                    try expect(sink.finished, is: ends, in: "the number of `finish` calls")
                }
            }
        },
        TransportCheck("sink that fails ends the exchange") { bench in
            for stage in FailingSink.Stage.allCases {
                let gate = Gate()
                // The end of the body is only sent to a sink that fails at the end.
                if stage == .finish { gate.open() }
                bench.server.enqueue(TestResponse(body: .sized(["first", TestResponse.Chunk("second", gate: gate)])))
                do {
                    try await bench.fetch(.with { $0.sink = FailingSink(stage: stage) })
                    throw ConformanceFailure("the error of a sink's \(stage)", found: "a response")
                } catch is FailingSink.Full {
                }
                // After a complete body, the connection may stay open.
                if stage != .finish { try await bench.server.waitForOpenConnections(0) }
            }
        },
        TransportCheck("sink is notified of a truncated body") { bench in
            bench.server.enqueue(.raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"))
            let sink = CollectingSink()
            try await bench.fail(with: .truncated, sending: .with { $0.sink = sink })
            try expect(sink.failures.count, is: 1, in: "the number of `fail` calls")
            try expect(sink.finished, is: 0, in: "the number of `finish` calls")
        },
    ]
}

/// A sink that yields before it returns, and records calls that overlap.
private final class SlowSink: ResponseSink {
    struct Record {
        var data = Data()
        var isBusy = false
        var hasOverlap = false
        var isFinishedLast = false
    }

    let record = Mutex(Record())

    func receive(_ chunk: Data) async throws {
        record.withLock { record in
            record.hasOverlap = record.hasOverlap || record.isBusy
            record.isBusy = true
            record.isFinishedLast = false
            record.data += chunk
        }
        for _ in 1...20 {
            await Task.yield()
        }
        record.withLock { $0.isBusy = false }
    }

    func finish() async throws {
        record.withLock { record in
            record.hasOverlap = record.hasOverlap || record.isBusy
            record.isFinishedLast = true
        }
    }
}

private struct FailingSink: ResponseSink {
    struct Full: Error {}

    enum Stage: CaseIterable {
        case offer, receive, finish
    }

    let stage: Stage

    func offer(_ head: HTTPResponse) async throws -> SinkDecision {
        if stage == .offer { throw Full() }
        return .take
    }

    func receive(_ chunk: Data) async throws {
        if stage == .receive { throw Full() }
    }

    func finish() async throws {
        if stage == .finish { throw Full() }
    }
}
#endif
