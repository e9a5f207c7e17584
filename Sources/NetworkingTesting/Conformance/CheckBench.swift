#if TestServer
import FoundationForNetworking
import HTTPTypes
import NetworkingResilience
import NetworkingCore
import NetworkingTestServer

/// The tools of a check: its own server, and the transport under test.
struct CheckBench: Sendable {
    let server: TestServer
    let transport: AnyNetworkingComponent

    /// The transport, directed to the server, with a timeout that is longer than any check needs.
    var network: AnyNetworkingComponent {
        AnyNetworkingComponent(transport.timeout(.seconds(60)).server(baseURL: server.url))
    }

    /// Sends a request and returns its response.
    @discardableResult
    func fetch(_ request: HTTPRequestData = HTTPRequestData()) async throws -> HTTPResponseData {
        try await network.data(request)
    }

    /// Sends a request that must fail with one of several kinds of error.
    @discardableResult
    func fail(
        with kinds: NetworkingError.Kind...,
        sending request: HTTPRequestData = HTTPRequestData(),
        over network: (any NetworkingComponent)? = nil
    ) async throws -> NetworkingError {
        try await fail(with: kinds, sending: request, over: network)
    }

    @discardableResult
    func fail(
        with kinds: [NetworkingError.Kind],
        sending request: HTTPRequestData,
        over network: (any NetworkingComponent)?
    ) async throws -> NetworkingError {
        let expectation = "a failure of kind " + kinds.map(\.rawValue).joined(separator: " or ")
        do {
            let response = try await (network ?? self.network).data(request)
            throw ConformanceFailure(expectation, found: describe(response))
        } catch let error as NetworkingError {
            guard kinds.contains(error.kind) else { throw ConformanceFailure(expectation, found: describe(error)) }
            return error
        }
    }

    /// Sends a request in a new task.
    func start(_ request: HTTPRequestData = HTTPRequestData()) -> Task<HTTPResponseData, any Error> {
        let network = network
        return Task { try await network.data(request) }
    }

    /// Waits for an event during a call.
    ///
    /// The end of the call also ends the wait: if the event did not occur, the result of the call shows that.
    func wait(for milestone: Gate, during call: Task<some Sendable, any Error>) async throws {
        Task {
            _ = await call.result
            milestone.open()
        }
        try await milestone.wait()
    }

    /// Cancels a call, which must end with `CancellationError` itself and close its connection.
    func cancel(_ call: Task<some Sendable, any Error>) async throws {
        try await expectCancellation(of: call)
        try await server.waitForOpenConnections(0)
    }

    /// Cancels a call, which must end with `CancellationError` itself.
    func expectCancellation(of call: Task<some Sendable, any Error>) async throws {
        call.cancel()
        switch await call.result {
        case .success: throw ConformanceFailure("CancellationError", found: "a response")
        case .failure(let error) where error is CancellationError: break
        case .failure(let error): throw ConformanceFailure("CancellationError", found: describe(error))
        }
    }
}

/// Requires a condition.
func expect(_ isSo: Bool, _ expectation: @autoclosure () -> String) throws {
    guard isSo else { throw ConformanceFailure(expectation(), found: "something else") }
}

/// Requires an expected value.
func expect<Value: Equatable>(_ value: Value, is expected: Value, in what: String) throws {
    guard value == expected else { throw ConformanceFailure("\(expected) in \(what)", found: "\(value)") }
}

/// Requires an expected body; otherwise reports how many bytes at its start are correct.
func expect(_ body: Data, is expected: Data, in what: String = "the body") throws {
    guard body != expected else { return }
    let correct = zip(body, expected).prefix { $0 == $1 }.count
    throw ConformanceFailure(
        "\(expected.count) bytes in \(what)",
        found: "\(body.count) bytes, of which the first \(correct) are correct"
    )
}

func describe(_ error: any Error) -> String {
    guard let error = error as? NetworkingError else { return "\(type(of: error)): \(error)" }
    return "\(error.kind): \(error.reason)"
}

func describe(_ response: HTTPResponseData) -> String {
    "a response with \(response.status) and \(response.body.count) bytes"
}

extension HTTPRequestData {
    /// Creates a request and changes its options.
    static func with(
        _ method: HTTPRequest.Method = .get,
        _ path: String = "/",
        body: RequestBody? = nil,
        _ change: (inout HTTPRequestData) -> Void
    ) -> HTTPRequestData {
        var request = HTTPRequestData(method: method, path: path, body: body)
        change(&request)
        return request
    }
}

extension HTTPResponseData {
    /// The body as text.
    var text: String {
        String(decoding: data, as: UTF8.self)
    }
}

extension Data {
    /// Creates bytes that differ from their neighbors, so that a misplaced chunk is detected.
    static func pattern(_ count: Int) -> Data {
        var data = Data(count: count)
        data.withUnsafeMutableBytes { bytes in
            // Without optimization, a loop over a range looks up generic metadata for each byte, and threads wait for
            // each other during the lookup.
            var index = 0
            while index < bytes.count {
                bytes[index] = UInt8(truncatingIfNeeded: index &* 31 &+ index >> 8)
                index += 1
            }
        }
        return data
    }
}
#endif
