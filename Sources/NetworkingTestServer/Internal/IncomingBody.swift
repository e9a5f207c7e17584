#if TestServer
import FoundationForNetworking

/// The body of a request, which is read in chunks while it arrives.
struct IncomingBody: Sendable {
    /// The connection; `nil` for a request without a socket.
    private(set) var inbox: Inbox?
    private var data: Data
    /// Whether the whole body was read.
    private(set) var isComplete = false

    init(_ inbox: Inbox) {
        self.inbox = inbox
        data = Data()
    }

    init(_ data: Data) {
        self.data = data
    }

    /// Returns the next chunk, or `nil` at the end of the body.
    ///
    /// The limit is greater than zero. Bytes beyond it stay unread, so they block the client. If the client disconnects
    /// within the body, the call throws `CancellationError`.
    mutating func next(upTo limit: Int) async throws -> Data? {
        guard !isComplete else { return nil }
        guard inbox != nil else {
            defer { data = data.dropFirst(limit) }
            isComplete = data.isEmpty
            return isComplete ? nil : data.prefix(limit)
        }
        while true {
            inbox?.parser.bodyAllowance = limit
            switch try await inbox?.next() {
            case .chunk(let chunk): return chunk
            case .complete:
                isComplete = true
                return nil
            // The allowance can be spent between two chunks of the chunked coding.
            case .allowanceSpent: continue
            case .head, nil: throw CancellationError()
            }
        }
    }

    /// Sends an informational response.
    ///
    /// Nothing is sent for a request without a socket.
    func send(_ response: TestResponse.Informational) async throws {
        try await inbox?.socket.write(response.chunk.data)
    }
}
#endif
