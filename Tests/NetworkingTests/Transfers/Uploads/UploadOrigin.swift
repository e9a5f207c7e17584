import Foundation
import HTTPTypes
import Networking
import Synchronization

/// A server for one upload by the IETF draft or by tus, with failures that a test sets.
final class UploadOrigin: NetworkingTransport {
    /// The protocol of the server.
    enum Dialect: Sendable {
        case ietf, tus, none
    }

    /// A failure that replaces the usual response to a request.
    enum Fault: Sendable {
        /// The connection fails after the server has stored a number of bytes of the body.
        case breaks(after: Int)
        /// The server stores a number of bytes and never responds.
        case hangs(after: Int)
        /// The server processes the request, and the response is lost.
        case losesResponse
        /// The server sends another response and does not process the request.
        case responds(Int, HTTPFields = [:], Data = Data())
    }

    struct State {
        var dialect: Dialect
        var fields: HTTPFields = [:]
        var location = "/uploads/1f0a9b8c7d6e5f40"
        var faults: [HTTPRequest.Method: [Fault]] = [:]
        var bytes = Data()
        var exists = false
        var isComplete = false
        var length: Int?
        /// The number of bytes that arrived in all bodies.
        var receivedCount = 0
    }

    private final class Storage: Sendable {
        let state: Mutex<State>

        init(_ state: State) {
            self.state = Mutex(state)
        }
    }

    private let storage: Storage
    private let transport: MockTransport

    init(_ dialect: Dialect, _ fields: HTTPFields = [:]) {
        let storage = Storage(State(dialect: dialect, fields: fields))
        self.storage = storage
        transport = MockTransport { request in try storage.state.withLock { try $0.respond(to: request) } }
    }

    /// The state of the server, to read and to change.
    var state: State {
        storage.state.withLock { $0 }
    }

    func change(_ change: (inout State) -> Void) {
        storage.state.withLock { change(&$0) }
    }

    func add(_ method: HTTPRequest.Method, _ faults: Fault...) {
        storage.state.withLock { $0.faults[method, default: []] += faults }
    }

    var requests: [HTTPRequestData] {
        transport.requests
    }

    /// The method of each request, with its offset if it has one.
    var log: [String] {
        requests.map { request in
            let offset = request.headerFields[HTTPField.Name("Upload-Offset")!].map { " \($0)" } ?? ""
            let count = request.method == .patch ? "+\(request.body?.data?.count ?? 0)" : ""
            return "\(request.method)\(offset)\(count)"
        }
    }

    func waitForRequests(_ count: Int) async throws {
        while transport.requests.count < count {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        try await transport.exchange(request)
    }
}

extension UploadOrigin.State {
    fileprivate mutating func respond(to request: HTTPRequestData) throws -> MockResponse {
        let body = request.body?.data ?? Data()
        receivedCount += body.count
        var fault: UploadOrigin.Fault?
        if faults[request.method]?.isEmpty == false {
            fault = faults[request.method]?.removeFirst()
        }
        switch fault {
        case nil:
            return process(request, body)
        case .losesResponse:
            _ = process(request, body)
            return .failure(.connectionLost)
        case .breaks(let count):
            bytes += body.prefix(count)
            receivedCount -= max(0, body.count - count)
            return .failure(.connectionLost)
        case .hangs(let count):
            bytes += body.prefix(count)
            receivedCount -= max(0, body.count - count)
            return .chunks([.hang])
        case .responds(let status, let fields, let data):
            return MockResponse(status: .init(code: status), data: data, headerFields: fields)
        }
    }

    private mutating func process(_ request: HTTPRequestData, _ body: Data) -> MockResponse {
        switch dialect {
        case .ietf: processDraft(request, body)
        case .tus: processTus(request, body)
        case .none:
            request.method == .options ? .status(.methodNotAllowed) : stored(body, .ok)
        }
    }

    private mutating func stored(_ body: Data, _ status: HTTPResponse.Status) -> MockResponse {
        bytes += body
        return .status(status, headerFields: fields)
    }

    private mutating func processDraft(_ request: HTTPRequestData, _ body: Data) -> MockResponse {
        let completes = request.headerFields[.named("Upload-Complete")] == "?1"
        var response = fields
        switch request.method {
        case .options:
            response[.named("Accept-Patch")] = "text/plain, application/partial-upload"
            return .status(.noContent, headerFields: response)
        case .head:
            guard exists else { return .status(.notFound) }
            response[.named("Upload-Offset")] = "\(bytes.count)"
            response[.named("Upload-Complete")] = isComplete ? "?1" : "?0"
            response[.named("Upload-Length")] = length.map { "\($0)" }
            return .status(.noContent, headerFields: response)
        case .patch:
            guard exists else { return .status(.notFound) }
            guard !isComplete else { return .status(.badRequest) }
            guard request.headerFields[.named("Upload-Offset")] == "\(bytes.count)" else {
                response[.named("Upload-Offset")] = "\(bytes.count)"
                return .status(.conflict, headerFields: response)
            }
            bytes += body
            isComplete = completes
            response[.named("Upload-Complete")] = completes ? "?1" : "?0"
            return completes ? .json(["id": 7]).headerFields(response) : .status(.noContent, headerFields: response)
        case .delete:
            defer { exists = false }
            return .status(exists ? .noContent : .notFound)
        default:
            (exists, isComplete, bytes) = (true, completes, body)
            length = request.headerFields[.named("Upload-Length")].flatMap { Int($0) }
            response[.location] = location
            return .status(.created, headerFields: response)
        }
    }

    private mutating func processTus(_ request: HTTPRequestData, _ body: Data) -> MockResponse {
        var response = fields
        response[.named("Tus-Resumable")] = "1.0.0"
        switch request.method {
        case .options:
            response[.named("Tus-Version")] = "1.0.0,0.2.2"
            if response[.named("Tus-Extension")] == nil {
                response[.named("Tus-Extension")] = "creation,termination,expiration"
            }
            return .status(.noContent, headerFields: response)
        case .head:
            guard exists else { return .status(.notFound) }
            response[.named("Upload-Offset")] = "\(bytes.count)"
            response[.named("Upload-Length")] = length.map { "\($0)" }
            return .status(.ok, headerFields: response)
        case .patch:
            guard exists else { return .status(.notFound) }
            guard request.headerFields[.named("Upload-Offset")] == "\(bytes.count)" else { return .status(.conflict) }
            bytes += body
            response[.named("Upload-Offset")] = "\(bytes.count)"
            return .status(.noContent, headerFields: response)
        case .delete:
            defer { exists = false }
            return .status(exists ? .noContent : .notFound)
        default:
            (exists, bytes) = (true, body)
            length = request.headerFields[.named("Upload-Length")].flatMap { Int($0) }
            response[.location] = location
            if !body.isEmpty {
                response[.named("Upload-Offset")] = "\(bytes.count)"
            }
            return .status(.created, headerFields: response)
        }
    }
}

extension HTTPField.Name {
    /// A name that is valid in these tests.
    static func named(_ name: String) -> HTTPField.Name {
        HTTPField.Name(name)!
    }
}
