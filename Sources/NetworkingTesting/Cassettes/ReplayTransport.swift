import HTTPTypes
import Networking

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A transport that has one response, from a cassette, and gives it the way one from a network comes.
struct ReplayTransport: NetworkingTransport {
    let response: Cassette.Interaction.Response
    let delay: Duration
    let principal: Principal?
    /// Why the body is not there, as an error of the request's.
    let unplayable: @Sendable (HTTPRequestData) -> NetworkingError

    /// A body goes to a sink in portions of this size.
    private static let portion = 64 << 10

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
        request.emit(.headReceived(head))
        let body: ResponseBody
        let destination = try await request.bodyDestination(for: head)
        switch destination {
        case .nowhere:
            body = .delivered(byteCount: 0)
        case .memory, .sink:
            guard response.missingBody == nil else { throw unplayable(request) }
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
            if case .memory(let limit) = destination, response.body.count > limit {
                throw NetworkingError.tooLarge(request, head: head, limit: limit)
            }
            return .collected(response.body)
        }
        do {
            var rest = response.body[...]
            while !rest.isEmpty {
                try Task.checkCancellation()
                let chunk = rest.prefix(Self.portion)
                rest = rest.dropFirst(chunk.count)
                try await sink.receive(Data(chunk))
            }
            try await sink.finish()
        } catch {
            sink.fail(error)
            throw error
        }
        return .delivered(byteCount: Int64(response.body.count))
    }
}
