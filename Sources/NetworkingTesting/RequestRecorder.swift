public import FoundationForNetworking
public import NetworkingCore
import Synchronization

/// Records the requests at one place in a stack, with their results and how many were in flight at once.
///
/// ```swift
/// let recorder = RequestRecorder()
/// let network = transport.recorded(by: recorder).throttled(max: 5)
/// // …
/// #expect(recorder.peakActive == 5)
/// ```
public final class RequestRecorder: Sendable {
    private let state = Mutex(State())

    /// Creates an empty recorder.
    public init() {}

    /// The requests, in the order and form in which they arrived.
    public var requests: [HTTPRequestData] {
        state.withLock { $0.requests }
    }

    /// The results of the requests, in the order in which they completed.
    public var results: [Result<HTTPResponseData, any Error>] {
        state.withLock { $0.results }
    }

    /// The first recorded request.
    public var first: HTTPRequestData? {
        requests.first
    }

    /// The last recorded request.
    public var last: HTTPRequestData? {
        requests.last
    }

    /// The responses, in the order in which they arrived, without failed requests.
    public var responses: [HTTPResponseData] {
        results.compactMap { try? $0.get() }
    }

    /// The errors of the failed requests, in the order in which they failed.
    public var errors: [any Error] {
        results.compactMap { result in
            if case .failure(let error) = result { error } else { nil }
        }
    }

    /// Checks that a number of requests were recorded.
    ///
    /// - Parameter count: The expected number.
    /// - Throws: ``UnexpectedRequests``, with a list of the recorded requests, if there are more or fewer.
    public func verify(count: Int) throws {
        let requests = requests
        guard requests.count != count else { return }
        throw UnexpectedRequests(expected: Self.count(count), arrived: requests)
    }

    /// Checks which requests were recorded, and in which order.
    ///
    /// ```swift
    /// let recorder = RequestRecorder()
    /// // …
    /// try recorder.verify("GET https://api.example.com/users", "DELETE https://api.example.com/users/42")
    /// ```
    ///
    /// - Parameter expected: The method and URL of each request, in the format of `HTTPRequestData`'s
    ///   description, which contains no secrets.
    /// - Throws: ``UnexpectedRequests``, with a list of the recorded requests, if they differ.
    public func verify(_ expected: String...) throws {
        let requests = requests
        guard requests.map(\.description) != expected else { return }
        let list = expected.map { "\n  \($0)" }.joined()
        throw UnexpectedRequests(
            expected: Self.count(expected.count) + (expected.isEmpty ? "" : ":\(list)"),
            arrived: requests
        )
    }

    fileprivate static func count(_ count: Int) -> String {
        count == 0 ? "no requests" : count == 1 ? "one request" : "\(count) requests"
    }

    /// The number of requests in flight.
    public var active: Int {
        state.withLock { $0.active }
    }

    /// The maximum number of requests in flight at the same time.
    public var peakActive: Int {
        state.withLock { $0.peakActive }
    }

    /// Waits until a number of requests have arrived.
    ///
    /// - Parameter count: The number of requests since the recorder was created.
    /// - Throws: `CancellationError` if the caller is cancelled.
    public func waitForRequests(_ count: Int = 1) async throws {
        let wait = Suspension<Void>()
        let id = state.withLock { $0.waits.add(wait, until: count, current: $0.requests.count) }
        try await wait.value(until: nil) { self.state.withLock { $0.waits.remove(id) } }
    }

    fileprivate func begin(_ request: HTTPRequestData) {
        for wait in state.withLock({ $0.begin(request) }) {
            wait.resume()
        }
    }

    fileprivate func end(_ result: Result<HTTPResponseData, any Error>) {
        state.withLock { state in
            state.results.append(result)
            state.active -= 1
        }
    }

    private struct State {
        var requests: [HTTPRequestData] = []
        var results: [Result<HTTPResponseData, any Error>] = []
        var active = 0
        var peakActive = 0
        var waits = CountWaits()

        /// Records a request and returns the waits to resume.
        mutating func begin(_ request: HTTPRequestData) -> [Suspension<Void>] {
            requests.append(request)
            active += 1
            peakActive = max(peakActive, active)
            return waits.takeReached(requests.count)
        }
    }
}

/// An error for requests at a ``RequestRecorder`` that differ from the expected ones.
public struct UnexpectedRequests: LocalizedError, CustomStringConvertible {
    /// The expected and the recorded requests, one per line.
    public let description: String

    /// The same as `description`.
    public var errorDescription: String? {
        description
    }

    fileprivate init(expected: String, arrived requests: [HTTPRequestData]) {
        let list = requests.map { "\n  \($0)" }.joined()
        description =
            "Expected \(expected)\nbut received \(RequestRecorder.count(requests.count))"
            + (requests.isEmpty ? "" : ":\(list)")
    }
}

extension NetworkingComponent {
    /// Records the requests at this place of the stack with a recorder.
    ///
    /// - Parameter recorder: The recorder.
    /// - Returns: A component that records its requests.
    public func recorded(by recorder: RequestRecorder) -> some NetworkingComponent {
        modified(Recorded(recorder: recorder))
    }
}

private struct Recorded: NetworkingModifier, CustomStringConvertible {
    let recorder: RequestRecorder

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        recorder.begin(request.forRecording)
        do {
            let response = try await upstream.send(request)
            recorder.end(.success(response))
            return response
        } catch {
            recorder.end(.failure(error))
            throw error
        }
    }

    var description: String {
        "recorded"
    }
}
