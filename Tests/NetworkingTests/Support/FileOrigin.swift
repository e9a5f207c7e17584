import Foundation
import HTTPTypes
import Networking
import Synchronization
import Testing

/// Expects that so many bytes are kept of a download, or none that could be gone on with.
func expectKept(_ count: Int64?, of place: URL, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let state = try DownloadState(at: place)
    #expect(state?.byteCount == count, sourceLocation: sourceLocation)
}

/// A server that has one file, of which it sends parts as RFC 9110 says, and troubles that a test has thought up.
final class FileOrigin: NetworkingTransport {
    /// What happens to a request in place of a whole answer.
    enum Trouble: Sendable {
        case none
        /// The connection breaks after so many bytes of the body.
        case breaks(after: Int)
        /// Nothing more comes after so many bytes of the body.
        case hangs(after: Int)
        /// The server answers something else, in portions as it does otherwise.
        case answers(HTTPResponse, Data = Data())
        /// Nothing comes at all.
        case fails(NetworkingError.Kind)
    }

    fileprivate struct State {
        var file: Data
        var fields: HTTPFields
        var sendsParts = true
        var longestPart = Int.max
        var troubles: [Trouble]
        var requests: [HTTPRequestData] = []
        var sent = 0
        var arrivals: [Gate] = []
    }

    /// Opened when the request has brought so much.
    fileprivate struct Gate {
        let sent: Int
        let continuation: CheckedContinuation<Void, Never>
    }

    private static let portion = 10
    private let state: Mutex<State>

    init(_ file: Data, _ fields: HTTPFields = [.eTag: "\"1\""], _ troubles: Trouble...) {
        state = Mutex(State(file: file, fields: fields, troubles: troubles))
    }

    /// Puts another file in the place of the one that it has.
    func change(_ file: Data, _ fields: HTTPFields) {
        state.withLock { ($0.file, $0.fields) = (file, fields) }
    }

    func add(_ troubles: Trouble...) {
        state.withLock { $0.troubles += troubles }
    }

    func ignoreRanges() {
        state.withLock { $0.sendsParts = false }
    }

    func sendAtMost(_ count: Int) {
        state.withLock { $0.longestPart = count }
    }

    var requests: [HTTPRequestData] {
        state.withLock { $0.requests }
    }

    /// What the requests asked for, nil for the whole.
    var ranges: [String?] {
        requests.map { $0.headerFields[.range] }
    }

    /// How many bytes of body have been taken.
    var sent: Int {
        state.withLock { $0.sent }
    }

    /// Waits until so many bytes of body have been taken, of all requests together.
    func waitUntilSent(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isReached = state.withLock { state in
                if state.sent < count {
                    state.arrivals.append(Gate(sent: count, continuation: continuation))
                }
                return state.sent >= count
            }
            if isReached { continuation.resume() }
        }
    }

    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        let (head, body, trouble) = state.withLock { state in
            state.requests.append(request.landed)
            let trouble = state.troubles.isEmpty ? Trouble.none : state.troubles.removeFirst()
            if case .answers(let head, let body) = trouble { return (head, body, trouble) }
            let (head, body) = state.answer(to: request)
            return (head, body, trouble)
        }
        if case .fails(let kind) = trouble { throw NetworkingError(kind, request: request) }
        let destination = try await request.bodyDestination(for: head)
        var taken = 0
        var collected = Data()
        while true {
            try Task.checkCancellation()
            if case .breaks(after: taken) = trouble { throw fail(.connectionLost, request, destination) }
            if case .hangs(after: taken) = trouble { try await Suspension<Void>().value() }
            var portion = min(Self.portion, body.count - taken)
            switch trouble {
            case .breaks(let count), .hangs(let count): portion = min(portion, count - taken)
            default: break
            }
            if portion == 0 { break }
            let chunk = Data(body.dropFirst(taken).prefix(portion))
            switch destination {
            case .sink(let sink):
                do {
                    try await sink.receive(chunk)
                } catch {
                    sink.fail(error)
                    throw error
                }
            case .memory: collected.append(chunk)
            case .nowhere: break
            }
            taken += portion
            note(portion)
        }
        var response = HTTPResponseData(request: request, http: head, body: .collected(collected))
        if case .sink(let sink) = destination {
            try await sink.finish()
            response.body = .delivered(byteCount: Int64(taken))
        }
        response.wasOfferedToSink = true
        return response
    }

    private func fail(
        _ kind: NetworkingError.Kind,
        _ request: HTTPRequestData,
        _ destination: HTTPRequestData.BodyDestination
    ) -> NetworkingError {
        let error = NetworkingError(kind, request: request)
        if case .sink(let sink) = destination {
            sink.fail(error)
        }
        return error
    }

    private func note(_ count: Int) {
        let reached = state.withLock { state in
            state.sent += count
            let sent = state.sent
            defer { state.arrivals.removeAll { $0.sent <= sent } }
            return state.arrivals.filter { $0.sent <= sent }
        }
        for gate in reached {
            gate.continuation.resume()
        }
    }
}

extension FileOrigin.State {
    fileprivate func answer(to request: HTTPRequestData) -> (HTTPResponse, Data) {
        var head = HTTPResponse(status: .ok, headerFields: fields)
        let condition = request.headerFields[.ifRange]
        let holds = condition == nil || condition == fields[.eTag] || condition == fields[.lastModified]
        guard sendsParts, holds, let range = request.headerFields[.range],
            let first = Int(range.dropFirst("bytes=".count).dropLast())
        else {
            head.headerFields[.contentLength] = "\(file.count)"
            return (head, file)
        }
        guard first < file.count else {
            head.status = .rangeNotSatisfiable
            head.headerFields[.contentRange] = "bytes */\(file.count)"
            return (head, Data())
        }
        let body = Data(file[first...].prefix(longestPart))
        head.status = .partialContent
        head.headerFields[.contentRange] = "bytes \(first)-\(first + body.count - 1)/\(file.count)"
        head.headerFields[.contentLength] = "\(body.count)"
        return (head, body)
    }
}
