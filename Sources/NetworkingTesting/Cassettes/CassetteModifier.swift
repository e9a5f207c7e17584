import FoundationForNetworking
import HTTPTypes
public import NetworkingCore
import NetworkingInspector

extension NetworkingComponent {
    /// Records exchanges on a cassette, or replays them from it without sending anything.
    ///
    /// ```swift
    /// let cassette = try Cassette(at: url, mode: .once)
    /// let network = URLSession.shared
    ///     .cassette(cassette)
    ///     .retry()
    ///     .server(authority: "api.example.com")
    /// // …
    /// try cassette.finish()
    /// ```
    ///
    /// Place it directly on the transport, so that all other modifiers also run in a replay. It follows redirects
    /// itself and records each as an interaction. If it is placed outside of `authenticated`, it does not record token
    /// requests, and still separates the requests of two users.
    ///
    /// A response body that goes to a sink is forwarded as it arrives, and a copy of up to
    /// ``Cassette/Options/maximumBodyBytes`` is recorded. A cancelled caller gets `CancellationError`: nothing is
    /// recorded, and the interaction it would have replayed stays available to other requests. A caller cancelled just
    /// after its response arrived gets that error, too, but the response is recorded.
    ///
    /// - Parameter cassette: The cassette; several stacks may share it.
    /// - Returns: A component that throws what upstream throws. For a request that the cassette neither has nor
    ///   records, it throws `NetworkingError.Kind.unimplemented` and describes the nearest interaction.
    public func cassette(_ cassette: Cassette) -> some NetworkingComponent {
        modified(CassetteModifier(cassette: cassette))
    }
}

struct CassetteModifier: NetworkingModifier, CustomStringConvertible {
    let cassette: Cassette

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        guard !passes(request) else { return try await upstream.send(request) }
        let principal = { (next: HTTPRequestData) in upstream.principal(for: next) }
        return try await request.takingOverRedirects(for: principal, over: upstream) { hop in
            guard !passes(hop) else { return try await upstream.send(hop) }
            return try await exchange(hop, over: upstream)
        }
    }

    private func passes(_ request: HTTPRequestData) -> Bool {
        cassette.options.passing?(request) ?? false
    }

    private func exchange(
        _ request: HTTPRequestData,
        over upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        try Task.checkCancellation()
        let captured = try await cassette.options.captured(request, records: cassette.mayWrite)
        let redaction = cassette.options.redaction.redactingSecrets(of: request)
        let facts = cassette.options.facts(of: captured.redacted(by: redaction))
        let principal = upstream.principal(for: request)
        switch cassette.plan(for: facts, of: request, for: principal) {
        case .replay(let index):
            return try await replay(index, to: request, for: principal)
        case .record(let ticket, let user, let replaced):
            let tee = request.sink.map { CassetteTee($0, limit: cassette.options.maximumBodyBytes) }
            let pending = Cassette.PendingRecording(
                ticket,
                captured,
                facts,
                for: user,
                replacing: replaced,
                redaction,
                tee
            )
            return try await record(pending, request, over: upstream)
        case .fail(let reason):
            throw NetworkingError(.unimplemented, request: request, reason: reason)
        }
    }

    var description: String {
        "cassette(.\(cassette.mode.rawValue))"
    }
}

// MARK: Replaying

extension CassetteModifier {
    private func replay(
        _ index: Int,
        to request: HTTPRequestData,
        for principal: Principal?
    ) async throws -> HTTPResponseData {
        var interaction = cassette.tape.interactions[index]
        cassette.options.beforeReplay?(&interaction)
        let delay: Duration =
            switch cassette.options.timing {
            case .immediate: .zero
            case .recorded: interaction.duration
            case .fixed(let duration): duration
            }
        let transport = ReplayTransport(
            response: interaction.response,
            delay: delay,
            principal: principal
        ) { [cassette] reason in
            "\(cassette.name) cannot replay interaction \(index + 1)\(reason). Record it again with mode .all."
        }
        do {
            return try await transport.send(request)
        } catch {
            if error is CancellationError, !transport.hasResponded { cassette.giveBack(index, of: request) }
            throw error
        }
    }
}

// MARK: Recording

extension CassetteModifier {
    private func record(
        _ pending: Cassette.PendingRecording,
        _ request: HTTPRequestData,
        over upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        var sent = request
        if let tee = pending.tee {
            sent.sink = tee
            cassette.watch(pending)
        }
        let response: HTTPResponseData
        do {
            response = try await upstream.send(sent)
        } catch {
            let isLeft = error is CancellationError && pending.tee?.isReaderPaced == true
            if !isLeft || !cassette.keepPart(of: pending) {
                cassette.abandon(pending, request)
            }
            throw error
        }
        cassette.keep(response, of: pending)
        // The response has arrived and is therefore recorded, but a caller that is cancelled now does not get it.
        try Task.checkCancellation()
        guard pending.tee != nil else { return response }
        var returned = response
        returned.sentRequest.sink = request.sink
        return returned
    }
}
