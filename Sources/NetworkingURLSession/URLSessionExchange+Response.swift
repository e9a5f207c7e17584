#if URLSession
import Foundation
import NetworkingCore
import NetworkingTrust
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif
import HTTPTypes
import Synchronization

extension URLSessionExchange {
    /// Returns the response, after delivering its body to memory or to the request's sink.
    func respond() async throws -> HTTPResponseData {
        guard request.sink != nil else {
            let alarm = request.exchangeLimit?.alarm { [self] in end(with: .cancelled) }
            defer { alarm?.cancel() }
            await wait(for: .end)
            let head = try await head()
            // The limit was enforced from the first byte, so nothing has to be delivered here.
            let whole = try await collectedBody(after: head)
            return HTTPResponseData(request: request, http: head.http, body: .collected(whole))
        }
        defer {
            end(with: .cancelled)
            body.removeAll()
        }
        await wait(for: .head)
        let head = try await head()
        return try await request.deliver(head.http) { try await deliverBody(after: head, to: &$0) }
    }

    /// Records the result of a challenge about certificates.
    func record(_ failure: TrustFailure?, _ mismatch: PinMismatch?) {
        state.withLock { state in
            state.trustFailure = failure
            state.reportedMismatch = mismatch ?? state.reportedMismatch
        }
    }

    /// Reports the mismatches of pins to the listeners, after the exchange.
    func reportTrust() {
        let (failure, reported) = state.withLock { ($0.trustFailure, $0.reportedMismatch) }
        if case .refused(let mismatch) = failure {
            request.emit(TrustEvent.mismatchRefused(mismatch))
        }
        if let reported {
            request.emit(TrustEvent.mismatchReported(reported))
        }
    }

    /// Delivers the body to a sink chunk by chunk, or into memory at once.
    private func deliverBody(after head: ReceivedHead, to delivery: inout BodyDelivery) async throws {
        if let limit = delivery.limit {
            if state.withLock({ $0.setLimit(limit) }) {
                end(with: .tooLong)
            }
            await wait(for: .end)
            let whole = try await collectedBody(after: head)
            return try await delivery.receive(whole)
        }
        while case let bytes = try await nextBytes(), !bytes.isEmpty {
            try await delivery.receive(bytes)
        }
        try await checkEnd(after: head)
    }

    /// Waits for the next bytes of the body, and returns empty data after the last.
    private func nextBytes() async throws -> Data {
        while true {
            await wait(for: .bytes)
            // A cancelled caller does not receive bytes that have already arrived.
            if case .cancelled = state.withLock({ $0.outcome }) { throw CancellationError() }
            do throws(FileFault) {
                let bytes = try body.take { [weak self] in self?.update { _ in } }
                if let bytes { return bytes }
            } catch {
                throw request.unbuffered(error)
            }
        }
    }

    /// Returns the whole body after the exchange has ended.
    private func collectedBody(after head: ReceivedHead) async throws -> Data {
        try await checkEnd(after: head)
        var whole = try await nextBytes()
        while !body.isEmpty {
            whole.append(try await nextBytes())
        }
        return whole
    }

    /// Returns the head, or throws the error that ended the exchange before it arrived.
    private func head() async throws -> ReceivedHead {
        guard let response = state.withLock({ $0.response }) else {
            try await checkEnd(after: nil)
            throw request.invalidResponse
        }
        guard let head = ReceivedHead(response, to: request.method) else {
            throw request.invalidResponse
        }
        if let refusal = head.refusal(of: request, accepting: acceptedCodings) {
            throw refusal
        }
        if let cookies, let response = response as? HTTPURLResponse {
            try await cookies.store(from: response, head.http, until: request.exchangeLimit)
        }
        // A cancelled caller receives no response, even if the head has arrived.
        if case .cancelled = state.withLock({ $0.outcome }) { throw CancellationError() }
        return head
    }

    /// The fields with the codings that the request or the session accepts; `nil` where URLSession checks coded bodies
    /// to their end.
    var acceptedCodings: [String]? {
        #if canImport(FoundationNetworking)
        [request.headerFields[.acceptEncoding], sessionAcceptEncoding].compactMap { $0 }
        #else
        nil
        #endif
    }

    /// Throws the error that ended the exchange, unless it ended normally.
    private func checkEnd(after head: ReceivedHead?) async throws {
        let (outcome, received, encoded, limit, wasSent) = state.withLock {
            ($0.outcome, $0.received, $0.encodedReceived, $0.limit, $0.wasSent)
        }
        if case .completed = outcome, let failure = try await upload?.failure() {
            throw failure.error(
                of: request,
                response: head.map { request.response(with: $0.http) }
            )
        }
        switch outcome {
        case .cancelled:
            throw CancellationError()
        case .tooLong:
            throw NetworkingError.tooLarge(request, head: head?.http ?? HTTPResponse(status: .ok), limit: limit)
        case .decompressionLimitExceeded:
            throw request.decompressionLimitExceeded(head?.http, after: received)
        case .tooFarAhead:
            throw request.tooFarAhead
        case .unbuffered(let fault):
            throw request.unbuffered(fault)
        case .completed(let error?):
            if let failure = state.withLock({ $0.trustFailure }) { throw failure.error(of: request) }
            throw request.error(for: error, after: head, received: encoded ?? received, wasSent: wasSent)
        case .completed(nil):
            guard let head, let expected = head.length, received != expected else { return }
            guard received < expected else { throw request.longerThanAnnounced(head.http, received, expected) }
            throw request.truncated(head.http, received: received, of: expected)
        case .refusedHead:
            throw request.invalidResponse
        case .refusedChallenge, nil:
            return
        }
    }
}
#endif
