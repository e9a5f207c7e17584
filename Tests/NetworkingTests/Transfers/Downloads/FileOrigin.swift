import Foundation
import HTTPTypes
import Networking
import Synchronization
import Testing

/// Checks that a partial file has a number of bytes, or with `nil`, that no partial file can be resumed.
func expectPartialFile(_ count: Int64?, of place: URL, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let state = try DownloadState(at: place)
    #expect(state?.byteCount == count, sourceLocation: sourceLocation)
}

/// A server with one file and RFC 9110 ranges, and with failures that a test sets.
final class FileOrigin: NetworkingTransport {
    /// A failure that replaces a complete response.
    enum Fault: Sendable {
        case none
        /// The connection fails after a number of bytes of the body.
        case breaks(after: Int)
        /// The server stops sending after a number of bytes of the body.
        case hangs(after: Int)
        /// The server sends another response, in chunks like any response.
        case responds(HTTPResponse, Data = Data())
        /// The exchange fails before a response.
        case fails(NetworkingError.Kind)
    }

    /// The file of the server and its next failures.
    private final class Storage: Sendable {
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
        var faults: [Fault]
    }

    fileprivate static let chunk = 10
    private let storage: Storage
    private let transport: MockTransport

    init(_ file: Data, _ fields: HTTPFields = [.eTag: "\"1\""], _ faults: Fault...) {
        let storage = Storage(State(file: file, fields: fields, faults: faults))
        self.storage = storage
        transport = MockTransport { request in storage.state.withLock { $0.response(to: request) } }
    }

    /// Replaces the file of the server.
    func change(_ file: Data, _ fields: HTTPFields) {
        storage.state.withLock { ($0.file, $0.fields) = (file, fields) }
    }

    func add(_ faults: Fault...) {
        storage.state.withLock { $0.faults += faults }
    }

    func ignoreRanges() {
        storage.state.withLock { $0.sendsParts = false }
    }

    func sendAtMost(_ count: Int) {
        storage.state.withLock { $0.maximumPart = count }
    }

    var requests: [HTTPRequestData] {
        transport.requests
    }

    /// The `Range` field of each request, or `nil` if it has none.
    var ranges: [String?] {
        requests.map { $0.headerFields[.range] }
    }

    /// `true` if the server has sent at least one byte of a body.
    var hasSent: Bool {
        transport.deliveredChunks > 0
    }

    /// Waits until the client has received a number of bytes of all bodies, counted in whole chunks before the last
    /// one.
    func waitUntilSent(_ count: Int) async throws {
        try await transport.waitForChunks((count + Self.chunk - 1) / Self.chunk)
    }

    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        try await transport.exchange(request)
    }
}

extension FileOrigin.State {
    /// Returns the response to the next request, with the next failure.
    fileprivate mutating func response(to request: HTTPRequestData) -> MockResponse {
        let fault = faults.isEmpty ? FileOrigin.Fault.none : faults.removeFirst()
        switch fault {
        case .none: return response(content(for: request))
        case .responds(let head, let body): return response((head, body))
        case .fails(let kind): return .failure(NetworkingError(kind, request: request))
        case .hangs(let count): return response(content(for: request), upTo: count, .hang)
        case .breaks(let count):
            return response(
                content(for: request),
                upTo: count,
                .failure(NetworkingError(.connectionLost, request: request))
            )
        }
    }

    private func response(
        _ content: (head: HTTPResponse, body: Data),
        upTo count: Int = .max,
        _ end: MockResponse.Chunk? = nil
    ) -> MockResponse {
        let body = content.body.prefix(count)
        let chunks = stride(from: 0, to: body.count, by: FileOrigin.chunk)
            .map { MockResponse.Chunk.data(Data(body.dropFirst($0).prefix(FileOrigin.chunk))) }
        return .chunks(
            chunks + (end.map { [$0] } ?? []),
            status: content.head.status,
            headerFields: content.head.headerFields
        )
    }

    fileprivate func content(for request: HTTPRequestData) -> (HTTPResponse, Data) {
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
