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
        /// The server answers something else, in chunks as it does otherwise.
        case answers(HTTPResponse, Data = Data())
        /// Nothing comes at all.
        case fails(NetworkingError.Kind)
    }

    /// What the server has, and what will go wrong with it.
    private final class Shelf: Sendable {
        let state: Mutex<State>

        init(_ state: State) {
            self.state = Mutex(state)
        }
    }

    fileprivate struct State {
        var file: Data
        var fields: HTTPFields
        var sendsParts = true
        var maximumPart = Int.max
        var troubles: [Trouble]
    }

    fileprivate static let chunk = 10
    private let shelf: Shelf
    private let transport: MockTransport

    init(_ file: Data, _ fields: HTTPFields = [.eTag: "\"1\""], _ troubles: Trouble...) {
        let shelf = Shelf(State(file: file, fields: fields, troubles: troubles))
        self.shelf = shelf
        transport = MockTransport { request in shelf.state.withLock { $0.response(to: request) } }
    }

    /// Puts another file in the place of the one that it has.
    func change(_ file: Data, _ fields: HTTPFields) {
        shelf.state.withLock { ($0.file, $0.fields) = (file, fields) }
    }

    func add(_ troubles: Trouble...) {
        shelf.state.withLock { $0.troubles += troubles }
    }

    func ignoreRanges() {
        shelf.state.withLock { $0.sendsParts = false }
    }

    func sendAtMost(_ count: Int) {
        shelf.state.withLock { $0.maximumPart = count }
    }

    var requests: [HTTPRequestData] {
        transport.requests
    }

    /// What the requests asked for, nil for the whole.
    var ranges: [String?] {
        requests.map { $0.headerFields[.range] }
    }

    /// Whether any byte of body has been taken.
    var hasSent: Bool {
        transport.deliveredPortions > 0
    }

    /// Waits until so many bytes of body have been taken, of all requests together; those before the last in whole
    /// chunks.
    func waitUntilSent(_ count: Int) async throws {
        try await transport.waitForPortions((count + Self.chunk - 1) / Self.chunk)
    }

    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        try await transport.exchange(request)
    }
}

extension FileOrigin.State {
    /// The answer to the next request, with the trouble that is due.
    fileprivate mutating func response(to request: HTTPRequestData) -> MockResponse {
        let trouble = troubles.isEmpty ? FileOrigin.Trouble.none : troubles.removeFirst()
        switch trouble {
        case .none: return response(answer(to: request))
        case .answers(let head, let body): return response((head, body))
        case .fails(let kind): return .failure(NetworkingError(kind, request: request))
        case .hangs(let count): return response(answer(to: request), upTo: count, .hang)
        case .breaks(let count):
            return response(
                answer(to: request),
                upTo: count,
                .failure(NetworkingError(.connectionLost, request: request))
            )
        }
    }

    private func response(
        _ answer: (head: HTTPResponse, body: Data),
        upTo count: Int = .max,
        _ end: MockResponse.Piece? = nil
    ) -> MockResponse {
        let body = answer.body.prefix(count)
        let chunks = stride(from: 0, to: body.count, by: FileOrigin.chunk)
            .map { MockResponse.Piece.data(Data(body.dropFirst($0).prefix(FileOrigin.chunk))) }
        return .pieces(
            chunks + (end.map { [$0] } ?? []),
            status: answer.head.status,
            headerFields: answer.head.headerFields
        )
    }

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
        let body = Data(file[first...].prefix(maximumPart))
        head.status = .partialContent
        head.headerFields[.contentRange] = "bytes \(first)-\(first + body.count - 1)/\(file.count)"
        head.headerFields[.contentLength] = "\(body.count)"
        return (head, body)
    }
}
