import FoundationForNetworking
import HTTPTypes
import NetworkingCore
import Synchronization

/// The rest of a generated client, for the requests of one operation.
protocol ExchangeOfNext: AnyObject, Sendable {
    /// Makes an exchange through the rest of the client.
    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData
}

/// The calls of the `next` of one operation.
///
/// `next` must not be used after the operation, so ``end()`` forgets it and waits for the calls that are running.
final class CallsOfNext<Body: OpenAPIBody>: ExchangeOfNext {
    private let operation: OpenAPIMiddleware<Body>.Operation
    private let state: Mutex<State>

    private struct State {
        var next: OpenAPIMiddleware<Body>.Next?
        var running = 0
        var hasPassedBody = false
        var ending: Suspension<Void>?
    }

    init(_ operation: OpenAPIMiddleware<Body>.Operation, _ next: @escaping OpenAPIMiddleware<Body>.Next) {
        self.operation = operation
        state = Mutex(State(next: next))
    }

    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        let (head, body) = try await response(to: request)
        return try await request.deliver(head) { delivery in
            guard let body else { return }
            for try await chunk in body {
                try await delivery.receive(Data(chunk))
            }
        }
    }

    /// Ends the use of `next`, and returns when no call of it is running.
    func end() async {
        let ending = state.withLock { state -> Suspension<Void>? in
            state.next = nil
            guard state.running > 0 else { return nil }
            let ending = Suspension<Void>()
            state.ending = ending
            return ending
        }
        try? await ending?.uncancellableValue()
    }

    private func response(to request: HTTPRequestData) async throws -> (HTTPResponse, Body?) {
        let body = try body(of: request)
        // Counted here, so that `call` has released the closure when the count falls.
        state.withLock { $0.running += 1 }
        defer {
            let ending = state.withLock { state in
                state.running -= 1
                return state.running == 0 ? state.ending : nil
            }
            ending?.resume()
        }
        do {
            return try await call(request, body)
        } catch {
            if let error = error.networkingError { throw error }
            if error.isCancelled { throw CancellationError() }
            throw error
        }
    }

    private func call(_ request: HTTPRequestData, _ body: Body?) async throws -> (HTTPResponse, Body?) {
        guard let next = state.withLock({ $0.next }) else {
            throw NetworkingError(
                .rejected,
                request: request,
                reason:
                    "The operation of the generated client has ended, so nothing more is sent for it. Place a modifier "
                    + "that sends later or for other operations in the stack of the transport."
            )
        }
        let (head, baseURL) = operation.head(for: request)
        return try await next(head, body, baseURL)
    }

    /// Returns the body in the type of the client: that of the operation, unless a modifier has replaced it.
    private func body(of request: HTTPRequestData) throws -> Body? {
        guard let sent = request.body else { return nil }
        guard let body = operation.body, sent == operation.message.body else {
            return Body(chunks: OpenAPIChunks(of: sent))
        }
        let isFirst = state.withLock { state in
            defer { state.hasPassedBody = true }
            return !state.hasPassedBody
        }
        guard isFirst || body.isReplayable else {
            throw NetworkingError(
                .bodyNotReplayable,
                request: request,
                reason:
                    "A modifier sent the request of the operation again, but its body can be read only once. Create "
                    + "the body with the iteration behavior .multiple."
            )
        }
        return body
    }
}
