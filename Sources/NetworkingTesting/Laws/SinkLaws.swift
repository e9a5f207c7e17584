import FoundationForNetworking
import HTTPTypes
import NetworkingCore

extension LawCheck {
    func fillsSinks() async throws {
        let body = Data("for the sink".utf8)
        let sink = CollectingSink()
        let probe = Probe { HTTPResponseData(request: $0, data: body) }
        let response: HTTPResponseData
        switch try await result(of: request.filling(sink), around: probe) {
        case .success(let success): response = success
        case .failure(let error): throw BrokenLaw("A request with a sink fails with \(summary(of: error)).")
        }
        // A component that responds by itself has its own body.
        let expected = probe.count == 0 ? sink.data : body
        try require(sink.data == expected, "The sink gets \(sink.data.count) bytes of a body of \(body.count).")
        try require(
            sink.finished == 1,
            "The sink is notified \(sink.finished) times, not once, that its body is complete."
        )
        try require(
            response.body == .delivered(byteCount: Int64(expected.count)),
            "A body that went to the sink is not reported as delivered."
        )
        let refusing = CollectingSink { _ in .refuse }
        guard case .success = try await result(of: request.filling(refusing), around: probe) else {
            throw BrokenLaw("A request whose sink refuses the body fails.")
        }
        try require(refusing.chunks.isEmpty, "A sink gets the body that it has refused.")
    }

    func notifiesSinksOfFailures() async throws {
        struct Truncation: Error {}
        let sink = CollectingSink()
        let probe = Probe { try await $0.truncate(after: Data("half".utf8), with: Truncation()) }
        switch try await result(of: request.filling(sink), around: probe) {
        case .success where probe.count == 0: return
        case .success: throw BrokenLaw("A body that is truncated on its way to the sink causes no error.")
        case .failure(let error):
            try require(
                error is Truncation,
                "The error that truncates a body on its way to the sink becomes \(type(of: error))."
            )
        }
        try require(
            sink.failures.count == 1 && sink.finished == 0,
            "The sink is notified \(sink.failures.count) times, not once, that its body is truncated"
                + (sink.finished > 0 ? ", and that it is complete." : ".")
        )
        try await passesOnSinkErrors()
    }

    private func passesOnSinkErrors() async throws {
        let probe = Probe { try await $0.truncate(after: Data("half".utf8), with: FullSink.Full()) }
        switch try await result(of: request.filling(FullSink()), around: probe) {
        case .failure(is FullSink.Full): break
        case .failure(let error):
            throw BrokenLaw("The error of a sink is changed: \(type(of: error)).")
        case .success: throw BrokenLaw("The error of a sink is swallowed.")
        }
    }
}

/// A sink that fails on every chunk.
private struct FullSink: ResponseSink {
    struct Full: Error {}

    func receive(_ chunk: Data) async throws {
        throw Full()
    }
}

extension HTTPRequestData {
    func filling(_ sink: any ResponseSink) -> HTTPRequestData {
        var request = self
        request.sink = sink
        return request
    }

    /// Delivers part of a body to the sink, like a transport that loses its connection.
    fileprivate func truncate(after part: Data, with error: any Error) async throws -> HTTPResponseData {
        try await deliver(HTTPResponse(status: .ok)) { delivery in
            try await delivery.receive(part)
            throw error
        }
    }
}
