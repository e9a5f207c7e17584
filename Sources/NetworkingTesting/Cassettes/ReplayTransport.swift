import HTTPTypes
import Networking
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A transport that has one response, from a cassette, and gives it the way one from a network comes.
final class ReplayTransport: NetworkingTransport {
    private let response: Cassette.Interaction.Response
    private let delay: Duration
    private let principal: Principal?
    /// Says that it cannot be replayed, for a reason, and the way out.
    private let message: @Sendable (String) -> String
    private let answered = Atomic(false)

    init(
        response: Cassette.Interaction.Response,
        delay: Duration,
        principal: Principal?,
        message: @escaping @Sendable (String) -> String
    ) {
        (self.response, self.delay, self.principal, self.message) = (response, delay, principal, message)
    }

    /// Whether the response has begun to arrive.
    var hasAnswered: Bool {
        answered.load(ordering: .relaxed)
    }

    /// A body goes to a sink in chunks of this size.
    private static let chunk = 64 << 10

    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        var progress = TransferProgress(sent: request.bytesToSend)
        if delay > .zero {
            try await NetworkEnvironment.current.clock.sleep(for: delay)
        }
        try Task.checkCancellation()
        let head = HTTPResponse(status: response.status, headerFields: response.headerFields)
        progress.sent.count = progress.sent.expected ?? 0
        progress.received.expected = Int64(response.body.count)
        request.progressHandler?(progress)
        request.emit(ExchangeEvent.headReceived(head))
        let body: ResponseBody
        let destination = try await request.bodyDestination(for: head)
        answered.store(true, ordering: .relaxed)
        switch destination {
        case .nowhere:
            body = .delivered(byteCount: 0)
        case .memory, .sink:
            if let reason = response.missingBody {
                throw unplayable(request, ", since it has no body for it: \(reason)")
            }
            body = try await deliver(head, to: destination, for: request)
            progress.received.count = Int64(response.body.count)
            if !response.body.isEmpty { request.progressHandler?(progress) }
        }
        var result = HTTPResponseData(request: request, http: head, body: body)
        result.principal = principal
        result.wasOfferedToSink = request.sink != nil
        return result
    }

    private func deliver(
        _ head: HTTPResponse,
        to destination: HTTPRequestData.BodyDestination,
        for request: HTTPRequestData
    ) async throws -> ResponseBody {
        guard case .sink(let sink) = destination else {
            guard !response.isPartial else { throw beyondItsEnd(request) }
            if case .memory(let limit) = destination, response.body.count > limit {
                throw NetworkingError.tooLarge(request, head: head, limit: limit)
            }
            return .collected(response.body)
        }
        do {
            var rest = response.body[...]
            while !rest.isEmpty {
                try Task.checkCancellation()
                let chunk = rest.prefix(Self.chunk)
                rest = rest.dropFirst(chunk.count)
                try await sink.receive(Data(chunk))
            }
            guard !response.isPartial else { throw beyondItsEnd(request) }
            try await sink.finish()
        } catch {
            sink.fail(error)
            throw error
        }
        return .delivered(byteCount: Int64(response.body.count))
    }

    private func beyondItsEnd(_ request: HTTPRequestData) -> NetworkingError {
        unplayable(request, " beyond the place where its reader left when it was recorded")
    }

    private func unplayable(_ request: HTTPRequestData, _ reason: String) -> NetworkingError {
        NetworkingError(.unimplemented, request: request, reason: message(reason))
    }
}
