#if Crypto
import FoundationForNetworking
import HTTPTypes
public import NetworkingCore
import Synchronization

extension NetworkingComponent {
    /// Asks servers for digests of their responses, and throws if a body does not match its digest (`Want-Repr-Digest`
    /// and `Repr-Digest`, RFC 9530).
    ///
    /// ```swift
    /// let network = URLSession.shared
    ///     .verifiedDigests()
    ///     .retry()
    ///     .cached()
    /// ```
    ///
    /// A digest covers the bytes before a transport decodes them, so requests are sent with
    /// `Accept-Encoding: identity`. A request with its own `Accept-Encoding` keeps it, and is then checked only if the
    /// body arrives in its coding. The digest of a part (206) is that of the whole, so a part is not checked; a
    /// download checks the complete file (``DownloadOptions/digest``). All digests in SHA-256 and SHA-512 must match,
    /// and other algorithms are skipped. ``DigestEvent`` tells what was checked.
    ///
    /// A body in memory is checked off the caller's actor. A sink, such as that of a download or a stream, receives the
    /// bytes as they arrive, and fails at their end. Trailers are not read.
    ///
    /// Place it inside `cached`, so that no damaged response is stored, and inside `retry`. A cancelled caller gets
    /// `CancellationError`.
    ///
    /// - Parameters:
    ///   - algorithms: The algorithms to ask for, the preferred one first. If there are none, servers are not asked.
    ///   - isRequired: Whether a success (200 to 299) with a complete body needs a digest that can be checked. `false`
    ///     by default: a missing digest or a malformed field is accepted.
    /// - Returns: A component that throws ``NetworkingError/Kind/checksumMismatch`` if a body does not match, and
    ///   ``NetworkingError/Kind/invalidResponse`` if a required digest is missing.
    public func verifiedDigests(
        wanting algorithms: [HTTPDigestAlgorithm] = [.sha256, .sha512],
        isRequired: Bool = false
    ) -> some NetworkingComponent {
        modified(VerifiedDigests(algorithms: algorithms, isRequired: isRequired))
    }
}

extension HTTPRequestData {
    /// Asks the server for a digest of the representation, and for a body without a content coding, which the digest
    /// covers (`Want-Repr-Digest`, RFC 9530 section 4).
    ///
    /// ```swift
    /// var request = HTTPRequestData(path: "report")
    /// request.wantReprDigest()
    /// let response = try await network.data(request)
    /// try await response.verifyReprDigest()
    /// ```
    ///
    /// Fields that are set already stay as they are.
    ///
    /// - Parameter algorithms: The algorithms, the preferred one first.
    public mutating func wantReprDigest(_ algorithms: [HTTPDigestAlgorithm] = [.sha256, .sha512]) {
        askForDigests(algorithms)
    }
}

extension HTTPResponseData {
    /// Compares the body with its Repr-Digest field (RFC 9530 section 3).
    ///
    /// The request must have been sent with `Accept-Encoding: identity`, which ``HTTPRequestData/wantReprDigest(_:)``
    /// sets.
    ///
    /// - Throws: ``NetworkingError/Kind/checksumMismatch`` if they differ, and
    ///   ``NetworkingError/Kind/invalidResponse`` if there is no digest that can be checked, if the response is a part
    ///   (206), or if the body went to a sink.
    public func verifyReprDigest() async throws {
        guard let data = body.data, !http.isPart else {
            throw unverifiable(body.data == nil ? "Its body went to a sink." : "It is a part of the representation.")
        }
        switch StatedDigests(of: http, to: sentRequest) {
        case .known(let digests):
            if let algorithm = try await data.mismatch(of: digests) {
                throw sentRequest.digestMismatch(algorithm, http)
            }
        case .unknown(let reason):
            throw unverifiable(reason)
        }
    }

    private func unverifiable(_ reason: String) -> NetworkingError {
        NetworkingError(
            .invalidResponse,
            request: sentRequest,
            response: self,
            reason: "The digest of the response cannot be checked. \(reason)"
        )
    }
}

/// An event of `verifiedDigests()`.
@nonexhaustive
public enum DigestEvent: NetworkEvent {
    /// The body matches the digests in these algorithms.
    case verified([HTTPDigestAlgorithm])
    /// The body was not checked, for the reason given.
    case notVerified(reason: String)

    /// The record: `digestVerified(sha-256)`.
    public var record: EventRecord {
        switch self {
        case .verified(let algorithms):
            EventRecord("digestVerified", algorithms.map(\.rawValue).joined(separator: ", "))
        case .notVerified(let reason): EventRecord("digestNotVerified", reason)
        }
    }
}

struct VerifiedDigests: UpstreamLimited, CustomStringConvertible {
    let algorithms: [HTTPDigestAlgorithm]
    let isRequired: Bool

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        var checked = request
        let sink = request.sink.map { DigestSink($0, of: request, self) }
        checked.sink = sink
        var response = try await upstream.send(checked)
        if let sink {
            // A component upstream, such as a cache, may return a body in memory.
            try await response.deliver(to: sink, for: checked)
        }
        guard let data = response.body.data else { return response }
        if let digests = try digests(of: response.http, to: request) {
            if let algorithm = try await data.mismatch(of: digests) {
                throw request.digestMismatch(algorithm, response.http)
            }
            request.emit(DigestEvent.verified(digests.map(\.algorithm)))
        }
        return response
    }

    func resolve(_ request: inout HTTPRequestData) {
        request.askForDigests(algorithms)
    }

    /// Returns the digests to compare the body of a response with; `nil` if it is not checked.
    fileprivate func digests(of head: HTTPResponse, to request: HTTPRequestData) throws -> [StatedDigest]? {
        guard head.hasBody(inResponseTo: request.method) else { return nil }
        guard !head.isPart else {
            request.emit(DigestEvent.notVerified(reason: "The response is a part of the representation."))
            return nil
        }
        switch StatedDigests(of: head, to: request) {
        case .known(let digests):
            return digests
        case .unknown(let reason):
            guard isRequired, head.status.isSuccess else {
                request.emit(DigestEvent.notVerified(reason: reason))
                return nil
            }
            throw NetworkingError(
                .invalidResponse,
                request: request,
                response: request.response(with: head),
                reason: "The digest of the response cannot be checked. \(reason)"
            )
        }
    }

    var stackPart: StackPart {
        StackPart(
            rules: [
                .notOutside(.caching, "is outside cached, so a damaged response may be stored. Put it inside.")
            ]
        )
    }

    var description: String {
        "verifiedDigests(wanting: \(algorithms.map(\.rawValue).joined(separator: ", "))"
            + (isRequired ? ", isRequired: true)" : ")")
    }
}

/// A sink that compares a body with its digests before another sink learns that it is complete.
private final class DigestSink: ForwardingSink {
    let sink: any ResponseSink
    private let request: HTTPRequestData
    private let rules: VerifiedDigests
    private let state = Mutex(State())

    private struct State {
        var head: HTTPResponse?
        var digests: [StatedDigest] = []
        var hashes: [BodyHash] = []
    }

    init(_ sink: any ResponseSink, of request: HTTPRequestData, _ rules: VerifiedDigests) {
        self.sink = sink
        self.request = request
        self.rules = rules
    }

    func offer(_ head: HTTPResponse) async throws -> SinkDecision {
        state.withLock { $0 = State() }
        let decision = try await sink.offer(head)
        guard decision == .take, let digests = try rules.digests(of: head, to: request) else { return decision }
        state.withLock { state in
            state.head = head
            state.digests = digests
            state.hashes = digests.map { BodyHash(for: $0) }
        }
        return decision
    }

    func receive(_ chunk: Data) async throws {
        state.withLock { state in
            for index in state.hashes.indices {
                state.hashes[index].update(chunk)
            }
        }
        try await sink.receive(chunk)
    }

    func finish() async throws {
        let state = state.withLock { $0 }
        if let head = state.head {
            if let algorithm = state.hashes.lazy.compactMap({ $0.mismatch() }).first {
                throw request.digestMismatch(algorithm, head)
            }
            request.emit(DigestEvent.verified(state.digests.map(\.algorithm)))
        }
        try await sink.finish()
    }
}

extension Data {
    /// Returns the algorithm of the first digest that the bytes do not have; `nil` if they have all of them.
    @concurrent
    fileprivate func mismatch(of digests: [StatedDigest]) async throws -> HTTPDigestAlgorithm? {
        var hashes = digests.map { BodyHash(for: $0) }
        var rest = self[...]
        while !rest.isEmpty {
            try Task.checkCancellation()
            let part = rest.prefix(1 << 20)
            for index in hashes.indices {
                hashes[index].update(part)
            }
            rest = rest.dropFirst(part.count)
        }
        return hashes.lazy.compactMap { $0.mismatch() }.first
    }
}

extension HTTPResponse {
    /// Whether the body is only a part of the representation.
    fileprivate var isPart: Bool {
        status == .partialContent || headerFields.contains(.contentRange)
    }
}

extension HTTPRequestData {
    fileprivate func digestMismatch(_ algorithm: HTTPDigestAlgorithm, _ head: HTTPResponse) -> NetworkingError {
        NetworkingError(
            .checksumMismatch,
            request: self,
            response: response(with: head),
            reason:
                "The body does not match its Repr-Digest field (\(algorithm.rawValue)). It was changed in transit or "
                + "on the server, or the server compressed it although the request did not accept that."
        )
    }
}
#endif
