package import HTTPTypes
package import Networking
package import NetworkingTesting

/// A transport that enforces time limits, and is silent until the limit of its exchange.
package struct SilentTransport: NetworkingTransport {
    private let journal: Journal?

    /// Creates a transport that notes for each exchange how much of its limit is left.
    package init(_ journal: Journal? = nil) {
        self.journal = journal
    }

    package func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        let sleep = Task { try await NetworkEnvironment.current.clock.sleep(for: .seconds(3_600)) }
        let limit = request.exchangeLimit
        journal?.note(limit.map { "\($0.deadline - $0.clock.now)" } ?? "no limit")
        let alarm = limit?.alarm { sleep.cancel() }
        defer { alarm?.cancel() }
        try await withTaskCancellationHandler {
            try await sleep.value
        } onCancel: {
            sleep.cancel()
        }
        return HTTPResponseData(request: request)
    }

    package func enforcesLimit(of request: HTTPRequestData) -> Bool {
        true
    }
}

/// A transport that enforces time limits, and responds without a wait.
package struct PromptTransport: NetworkingTransport {
    private let respond: @Sendable (HTTPRequestData) -> HTTPResponseData

    package init(status: HTTPResponse.Status = .ok) {
        self.init { HTTPResponseData(request: $0, status: status) }
    }

    package init(_ respond: @escaping @Sendable (HTTPRequestData) -> HTTPResponseData) {
        self.respond = respond
    }

    package func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        respond(request)
    }

    package func enforcesLimit(of request: HTTPRequestData) -> Bool {
        true
    }
}

extension PromptTransport {
    /// Creates a transport that responds after six seconds, also if the limit of the exchange is earlier.
    package static func late(
        _ clock: ManualClock,
        _ journal: Journal,
        _ respond: @escaping @Sendable (HTTPRequestData) -> HTTPResponseData
    ) -> PromptTransport {
        PromptTransport { request in
            journal.note("sent")
            clock.advance(by: .seconds(6))
            return respond(request)
        }
    }
}
