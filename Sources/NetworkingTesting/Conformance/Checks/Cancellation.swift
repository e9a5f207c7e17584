#if TestServer
import FoundationForNetworking
import HTTPTypes
import NetworkingResilience
import NetworkingCore
import NetworkingTestServer

extension TransportCheck {
    /// Cancelled callers: each gets `CancellationError` itself, and its connection is closed.
    static let cancellation: [TransportCheck] = [
        TransportCheck("cancel before the start", needsSockets: false) { bench in
            bench.server.route("/") { _ in .ok }
            // Use the bare transport, because the outermost component of a stack checks for cancellation first.
            let transport = bench.transport
            let url = bench.server.url
            let call = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await transport.data(HTTPRequestData(url: url))
            }
            try await bench.cancel(call)
            try expect(bench.server.acceptedConnections, is: 0, in: "the number of connections")
            try expect(bench.server.requests.count, is: 0, in: "the number of requests")
        },
        TransportCheck("cancel while connecting") { bench in
            try await withUnresponsiveServer { url in
                let started = Gate()
                let listener = Listener { if case ExchangeEvent.started = $0 { started.open() } }
                let network = bench.transport.timeout(.seconds(60)).server(baseURL: url)
                let call = Task { try await network.data(.with { $0.addObserver(listener) }) }
                try await bench.wait(for: started, during: call)
                try await bench.cancel(call)
            }
        },
        TransportCheck("cancel before the head") { bench in
            try await bench.cancelsCall(respondingWith: .raw(.stall))
        },
        TransportCheck("cancel within the head") { bench in
            try await bench.cancelsCall(respondingWith: .raw("HTTP/1.1 200 OK\r\nContent-", .stall))
        },
        TransportCheck("cancel before the body") { bench in
            bench.server.route("/") { _ in .raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", .stall) }
            let arrived = Gate()
            let listener = Listener { if case ExchangeEvent.headReceived = $0 { arrived.open() } }
            let call = bench.start(.with { $0.addObserver(listener) })
            try await bench.wait(for: arrived, during: call)
            try await bench.cancel(call)
        },
        TransportCheck("cancel within the body") { bench in
            bench.server.enqueue(
                .raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", .stall),
                .raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", .stall)
            )
            for _ in 1...2 {
                let arrived = Gate()
                let request = HTTPRequestData.with {
                    $0.progressHandler = { if $0.received.count > 0 { arrived.open() } }
                }
                let call = bench.start(request)
                try await bench.wait(for: arrived, during: call)
                try await bench.cancel(call)
            }
        },
        TransportCheck("cancel within the sink") { bench in
            bench.server.route("/") { _ in
                .raw("HTTP/1.1 200 OK\r\n\r\n", .drip(Data(count: 16 << 20), by: 1 << 16), .stall)
            }
            let sink = HeldSink()
            let call = bench.start(.with { $0.sink = sink })
            try await bench.wait(for: sink.received, during: call)
            try await bench.cancel(call)
        },
        TransportCheck("cancel while the body is read") { bench in
            bench.server.route(.post, "/") { _ in .ok }
            let (chunks, source) = AsyncStream.makeStream(of: Data.self)
            let isAsked = Gate()
            let call = bench.start(
                HTTPRequestData(
                    method: .post,
                    body: .stream {
                        isAsked.open()
                        return chunks
                    }
                )
            )
            source.yield(.pattern(10))
            try await bench.wait(for: isAsked, during: call)
            // The client may keep a connection that has not been used yet.
            try await bench.expectCancellation(of: call)
            source.finish()
            try expect(bench.server.requests.count, is: 0, in: "the number of complete requests")
        },
        TransportCheck("cancel while the body is sent") { bench in
            let gate = Gate()
            let arrived = Gate()
            bench.server.routeAtHead(.post, "/") { _ in
                arrived.open()
                try await gate.wait()
                return .ok
            }
            // The body exceeds the buffers of both sides, so that the client waits for the server to read.
            let call = bench.start(HTTPRequestData(method: .post, body: .data(Data(count: 64 << 20))))
            try await bench.wait(for: arrived, during: call)
            call.cancel()
            guard case .failure(let error) = await call.result, error is CancellationError else {
                throw ConformanceFailure("CancellationError", found: "something else")
            }
            // The server starts to read, which is how it notices that the client has closed the connection.
            gate.open()
            try await bench.server.waitForOpenConnections(0)
        },
        TransportCheck("cancel at any moment") { bench in
            bench.server.route("/") { _ in .text("hello") }
            var random = SeededGenerator(seed: 7)
            for _ in 0..<100 {
                let calls = (0..<4).map { _ in bench.start() }
                for call in calls {
                    for _ in 0..<Int.random(in: 0...200, using: &random) {
                        await Task.yield()
                    }
                    call.cancel()
                }
                for call in calls {
                    switch await call.result {
                    case .success(let response): try expect(response.text, is: "hello", in: "the body")
                    case .failure(let error) where error is CancellationError: break
                    case .failure(let error): throw ConformanceFailure("CancellationError", found: describe(error))
                    }
                }
            }
            try expect(try await bench.fetch().text, is: "hello", in: "the next response")
        },
    ]
}

extension CheckBench {
    /// Cancels a call after the server has received its request.
    fileprivate func cancelsCall(respondingWith response: TestResponse) async throws {
        let arrived = Gate()
        server.route("/") { _ in
            arrived.open()
            return response
        }
        let call = start()
        try await wait(for: arrived, during: call)
        try await cancel(call)
    }
}

private struct Listener: NetworkEventObserver {
    let hear: @Sendable (any NetworkEvent) -> Void

    func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {
        hear(event)
    }
}

/// A sink that receives a chunk and never returns.
private final class HeldSink: ResponseSink {
    let received = Gate()

    func receive(_ chunk: Data) async throws {
        received.open()
        try await Gate().wait()
    }
}
#endif
