import Foundation
import HTTPTypes
import Networking
import Synchronization

/// A transport that brings bodies in portions, waits and breaks off where a script says so; one script for each request.
final class StreamingTransport: NetworkingTransport {
    enum Step: Sendable {
        case chunk(Data)
        /// Waits until it is cancelled.
        case hang
        case fail(any Error)

        static func text(_ text: String) -> Step {
            .chunk(Data(text.utf8))
        }
    }

    struct Script: Sendable {
        var head = HTTPResponse(status: .ok)
        var steps: [Step]
        /// What happens instead of a head.
        var failure: (any Error)?

        init(_ steps: Step..., status: HTTPResponse.Status = .ok, type: String? = nil) {
            self.steps = steps
            head.status = status
            if let type {
                head.headerFields[.contentType] = type
            }
        }

        static func events(_ steps: Step...) -> Script {
            var script = Script(type: "text/event-stream; charset=utf-8")
            script.steps = steps
            return script
        }
    }

    private struct State {
        var scripts: [Script]
        var requests: [HTTPRequestData] = []
        var delivered = 0
        var ended = 0
    }

    private let state: Mutex<State>

    init(_ scripts: Script...) {
        state = Mutex(State(scripts: scripts))
    }

    /// Adds what the next request but those before it gets.
    func add(_ script: Script) {
        state.withLock { $0.scripts.append(script) }
    }

    var requests: [HTTPRequestData] {
        state.withLock { $0.requests }
    }

    /// How many portions the sinks have taken.
    var delivered: Int {
        state.withLock { $0.delivered }
    }

    /// How many exchanges have ended, one way or another.
    var ended: Int {
        state.withLock { $0.ended }
    }

    func waitForEnds(_ count: Int) async {
        while ended < count {
            await Task.yield()
        }
    }

    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        let script = state.withLock { state in
            state.requests.append(request.landed)
            return state.scripts.isEmpty ? Script(status: .notFound) : state.scripts.removeFirst()
        }
        defer { state.withLock { $0.ended += 1 } }
        if let failure = script.failure { throw failure }
        let destination = try await request.bodyDestination(for: script.head)
        if case .nowhere = destination {
            var response = HTTPResponseData(request: request, http: script.head, body: .delivered(byteCount: 0))
            response.wasOfferedToSink = true
            return response
        }
        var collected = Data()
        for step in script.steps {
            try Task.checkCancellation()
            switch step {
            case .chunk(let chunk):
                if case .sink(let sink) = destination {
                    try await sink.receive(chunk)
                }
                collected.append(chunk)
                state.withLock { $0.delivered += 1 }
            case .hang:
                try await Suspension<Void>().value()
            case .fail(let error):
                throw error
            }
        }
        guard case .sink(let sink) = destination else {
            return HTTPResponseData(request: request, http: script.head, body: .collected(collected))
        }
        try await sink.finish()
        var response = HTTPResponseData(
            request: request,
            http: script.head,
            body: .delivered(byteCount: Int64(collected.count))
        )
        response.wasOfferedToSink = true
        return response
    }
}
