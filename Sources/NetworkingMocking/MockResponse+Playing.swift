import FoundationForNetworking
import HTTPTypes
import NetworkingCore

extension MockResponse {
    /// Plays the response to a request with its body in memory.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - progress: The progress reported so far.
    ///   - onChunk: Called after each chunk of the body that has reached its destination.
    /// - Returns: The response.
    /// - Throws: The error of the mock response, or `CancellationError`.
    func respond(
        to request: HTTPRequestData,
        after progress: TransferProgress = TransferProgress(),
        onChunk: @escaping @Sendable () -> Void = {}
    ) async throws -> HTTPResponseData {
        if let delay {
            try await NetworkEnvironment.current.clock.sleep(for: delay)
        }
        switch outcome {
        case .failure(let error):
            throw error
        case .failureOfKind(let kind):
            throw NetworkingError(kind, request: request)
        case .never:
            try await Suspension<Void>().value(until: nil)
            throw CancellationError()
        case .held(let held):
            let response = try await held.response(to: request).replacing(self)
            return try await response.respond(to: request, after: progress, onChunk: onChunk)
        case .response(let head, let content):
            request.emit(ExchangeEvent.headReceived(head))
            let play = MockPlay(request: request, head: head, progress: progress, onChunk: onChunk)
            guard request.method != .head else { return try await play.respond(with: Data()) }
            switch content {
            case .data(let data) where isWhole: return try await play.respond(with: data)
            case .data(let data): return try await play.chunks(scheduled(chunks(of: data)), count: data.count)
            case .file(let url):
                let data = try await Self.read(url, for: request)
                if isWhole { return try await play.respond(with: data) }
                return try await play.chunks(scheduled(chunks(of: data)), count: data.count)
            case .chunks(let chunks): return try await play.chunks(scheduled(chunks))
            }
        }
    }

    /// Reads a file outside of the caller's executor.
    @concurrent
    private static func read(_ url: URL, for request: HTTPRequestData) async throws -> Data {
        do {
            let file = try OpenFile(reading: url.path)
            var data = Data()
            while case let chunk = try file.read(upTo: 1 << 20), !chunk.isEmpty {
                try Task.checkCancellation()
                data.append(chunk)
            }
            return data
        } catch let fault as FileFault {
            throw NetworkingError(
                .storage,
                request: request,
                underlying: fault,
                reason: "The file of MockResponse.file cannot be sent. \(fault.reason)"
            )
        }
    }
}

/// The delivery of one response body.
private struct MockPlay {
    let request: HTTPRequestData
    let head: HTTPResponse
    let progress: TransferProgress
    let onChunk: @Sendable () -> Void

    /// Responds with a body that is available immediately.
    ///
    /// The outermost component of the stack delivers it to a sink.
    func respond(with body: Data) async throws -> HTTPResponseData {
        guard request.sink == nil else {
            reportWhole(body)
            return HTTPResponseData(request: request, http: head, body: .collected(body))
        }
        return try await request.deliver(head) { delivery in
            try await delivery.receive(body)
            reportWhole(body)
        }
    }

    private func reportWhole(_ body: Data) {
        report(Int64(body.count), of: Int64(body.count))
        if !body.isEmpty { onChunk() }
    }

    /// Responds with a body that arrives in chunks.
    ///
    /// - Parameters:
    ///   - chunks: The chunks.
    ///   - count: The total number of bytes; nil to use the length in the head.
    /// - Returns: The response.
    /// - Throws: The error that interrupts the body.
    func chunks(_ chunks: [MockResponse.Chunk], count: Int? = nil) async throws -> HTTPResponseData {
        let announced = count.map { Int64($0) } ?? head.headerFields[.contentLength].flatMap { Int64($0) }
        return try await request.deliver(head) { delivery in
            try await play(chunks, announced: announced, to: &delivery)
        }
    }

    private func play(
        _ chunks: [MockResponse.Chunk],
        announced: Int64?,
        to delivery: inout BodyDelivery
    ) async throws {
        var reported: BytesReceived?
        for chunk in chunks {
            try Task.checkCancellation()
            switch chunk.kind {
            case .data(let data):
                guard !data.isEmpty else { continue }
                try await delivery.receive(data)
                onChunk()
                reported = report(delivery.byteCount, of: announced)
            case .step:
                reported = report(delivery.byteCount, of: announced)
            case .sleep(let duration):
                try await NetworkEnvironment.current.clock.sleep(for: duration)
            case .gate(let gate):
                try await gate.wait()
            case .hang:
                try await Suspension<Void>().value(until: nil)
            case .failure(let error):
                throw error
            }
        }
        let received = delivery.byteCount
        if let announced, received < announced {
            throw request.truncated(head, received: received, of: announced)
        }
        if reported?.count != received || reported?.expected != received {
            report(received, of: received)
        }
    }

    @discardableResult
    private func report(_ count: Int64, of expected: Int64?) -> BytesReceived {
        let received = BytesReceived(count: count, expected: expected)
        request.progressHandler?(TransferProgress(sent: progress.sent, received: received))
        return received
    }
}
