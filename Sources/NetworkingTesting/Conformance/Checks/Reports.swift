#if TestServer
import FoundationForNetworking
import NetworkingTestServer
import NetworkingCore
import Synchronization

extension TransportCheck {
    /// Progress and events.
    static let reports: [TransportCheck] = [
        TransportCheck("progress", needsSockets: false) { bench in
            bench.server.route(.post, "/sized") { request in TestResponse(body: .data(request.body)) }
            bench.server.route(.post, "/chunked") { _ in TestResponse(body: .echo) }
            for path in ["/sized", "/chunked"] {
                let recorded = Mutex<[TransferProgress]>([])
                let request = HTTPRequestData(method: .post, path: path, body: .data(.pattern(500_000)))
                try await bench.network.data(request) { progress in recorded.withLock { $0.append(progress) } }
                let progress = recorded.withLock { $0 }
                try expect(progress.first?.sent.count, is: 0, in: "the bytes sent, at the start")
                try expect(progress.first?.received.count, is: 0, in: "the bytes received, at the start")
                try expect(progress.isSorted(by: \.sent.count), "a number of sent bytes that never decreases")
                try expect(progress.isSorted(by: \.received.count), "a number of received bytes that never decreases")
                let whole = BytesTransferred(count: 500_000, expected: 500_000)
                try expect(progress.last, is: TransferProgress(sent: whole, received: whole), in: "the last progress")
            }
        },
        TransportCheck("events", needsSockets: false) { bench in
            bench.server.route("/") { _ in .text("hello") }
            let events = try await bench.events { try await bench.fetch($0) }
            try expect(events, is: ["exchangeStarted", "headReceived", "exchangeEnded 5"], in: "the events")
        },
        TransportCheck("events of a failure") { bench in
            bench.server.route("/") { _ in .raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf") }
            let events = try await bench.events { try await bench.fail(with: .truncated, sending: $0) }
            try expect(events, is: ["exchangeStarted", "headReceived", "exchangeFailed"], in: "the events")
        },
        TransportCheck("request of the response", needsSockets: false) { bench in
            bench.server.route("/") { _ in .ok }
            let request = HTTPRequestData()
            let response = try await bench.fetch(request)
            try expect(response.request == request && response.request.id == request.id, "the caller's own request")
            let url = bench.server.url.appending(path: "/")
            try expect(response.sentRequest.url, is: url, in: "the URL of the request that went out")
        },
    ]
}

extension CheckBench {
    /// Returns the events of a request that every transport emits.
    fileprivate func events(
        of send: nonisolated(nonsending) (HTTPRequestData) async throws -> some Any
    ) async throws -> [String] {
        let listener = Listener()
        _ = try await send(.with { $0.addObserver(listener) })
        return listener.events.withLock { $0 }
    }
}

private final class Listener: NetworkEventObserver {
    let events = Mutex<[String]>([])

    func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {
        let name: String? =
            switch event {
            case ExchangeEvent.started: "exchangeStarted"
            case ExchangeEvent.headReceived: "headReceived"
            case ExchangeEvent.ended(_, let received): "exchangeEnded \(received)"
            case ExchangeEvent.failed: "exchangeFailed"
            default: nil
            }
        if let name { events.withLock { $0.append(name) } }
    }
}

extension [TransferProgress] {
    fileprivate func isSorted(by count: (TransferProgress) -> Int64) -> Bool {
        zip(self, dropFirst()).allSatisfy { count($0) <= count($1) }
    }
}
#endif
