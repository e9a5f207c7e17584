import FoundationForNetworking
import HTTPTypes
import NetworkingCore
import Synchronization

/// A transport that delivers one response from a cassette as a network transport would.
final class ReplayTransport: NetworkingTransport {
    private let response: Cassette.Interaction.Response
    private let delay: Duration
    private let principal: Principal?
    /// Creates the error message for a response that cannot be replayed, from a reason.
    private let message: @Sendable (String) -> String
    private let responded = Atomic(false)

    init(
        response: Cassette.Interaction.Response,
        delay: Duration,
        principal: Principal?,
        message: @escaping @Sendable (String) -> String
    ) {
        (self.response, self.delay, self.principal, self.message) = (response, delay, principal, message)
    }

    /// Whether the response has started to arrive.
    var hasResponded: Bool {
        responded.load(ordering: .relaxed)
    }

    /// The size of the body chunks that a sink receives, in bytes.
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
        var result = try await request.deliver(head) { delivery in
            responded.store(true, ordering: .relaxed)
            try await deliverBody(of: request, to: &delivery)
            progress.received.count = Int64(response.body.count)
        }
        responded.store(true, ordering: .relaxed)
        if progress.received.count > 0 { request.progressHandler?(progress) }
        result.principal = principal
        return result
    }

    private func deliverBody(of request: HTTPRequestData, to delivery: inout BodyDelivery) async throws {
        if let reason = response.missingBody {
            throw unplayable(request, " because it has no body for it: \(reason)")
        }
        guard delivery.limit == nil else {
            guard !response.isPartial else { throw beyondItsEnd(request) }
            return try await delivery.receive(response.body)
        }
        var rest = response.body[...]
        while !rest.isEmpty {
            try Task.checkCancellation()
            let chunk = rest.prefix(Self.chunk)
            rest = rest.dropFirst(chunk.count)
            try await delivery.receive(Data(chunk))
        }
        guard !response.isPartial else { throw beyondItsEnd(request) }
    }

    private func beyondItsEnd(_ request: HTTPRequestData) -> NetworkingError {
        unplayable(request, " beyond the place where its reader stopped when it was recorded")
    }

    private func unplayable(_ request: HTTPRequestData, _ reason: String) -> NetworkingError {
        NetworkingError(.unimplemented, request: request, reason: message(reason))
    }
}
