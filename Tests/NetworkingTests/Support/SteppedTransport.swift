import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport

/// A transport that advances the clock of a test during its exchange, when the alarms of the stack are set.
///
/// It enforces no limit, so the stack runs it in a task and cancels that task at a limit.
struct SteppedTransport: NetworkingTransport {
    let clock: ManualClock
    /// The number of alarms that are set when the exchange waits.
    var alarms = 1
    /// The times before each part of the request's body is sent.
    var sending: [Duration] = []
    /// The time between the request and the head; `nil` for a server that never responds.
    var head: Duration? = .zero
    var status = HTTPResponse.Status.ok
    var headerFields = HTTPFields()
    /// The times before each byte of the response.
    var body: [Duration] = []
    private let log = Log()

    /// The requests so far.
    var requests: [HTTPRequestData] {
        log.requests.withLock { $0 }
    }

    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        log.requests.withLock { $0.append(request) }
        try await clock.waitForSleepers(alarms)
        let length = Int64(sending.count) << 20
        for (number, time) in zip(1..., sending) {
            try pass(time)
            request.progressHandler?(TransferProgress(sent: BytesSent(count: Int64(number) << 20, expected: length)))
        }
        guard let head else { return try await hang(after: .seconds(3_600)) }
        try pass(head)
        let response = HTTPResponse(status: status, headerFields: headerFields)
        request.emit(ExchangeEvent.headReceived(response))
        return try await request.deliver(response) { delivery in
            for (number, time) in zip(1..., body) {
                try pass(time)
                request.progressHandler?(TransferProgress(received: BytesReceived(count: Int64(number))))
                try await delivery.receive(Data("x".utf8))
            }
        }
    }

    private func pass(_ time: Duration) throws {
        clock.advance(by: time)
        try Task.checkCancellation()
    }

    private func hang(after time: Duration) async throws -> HTTPResponseData {
        clock.advance(by: time)
        try await Suspension<Void>().value()
        throw CancellationError()
    }

    private final class Log: Sendable {
        let requests = Mutex<[HTTPRequestData]>([])
    }
}
