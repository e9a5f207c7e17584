public import Networking
import Synchronization

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Remembers the requests that pass a point of a stack, what became of them, and how many were under way at once.
///
/// ```swift
/// let recorder = RequestRecorder()
/// let network = transport.recorded(by: recorder).throttled(max: 5)
/// // …
/// #expect(recorder.peakActive == 5)
/// ```
public final class RequestRecorder: Sendable {
    private let state = Mutex(State())

    /// Creates a recorder of nothing.
    public init() {}

    /// The requests, in the order in which they came by, as they were there.
    public var requests: [HTTPRequestData] {
        state.withLock { $0.requests }
    }

    /// What the requests came to, in the order in which they ended.
    public var results: [Result<HTTPResponseData, any Error>] {
        state.withLock { $0.results }
    }

    /// The first request that came by.
    public var first: HTTPRequestData? {
        requests.first
    }

    /// The last request that came by.
    public var last: HTTPRequestData? {
        requests.last
    }

    /// The responses, in the order in which they came; a request that failed has none.
    public var responses: [HTTPResponseData] {
        results.compactMap { try? $0.get() }
    }

    /// What the requests failed with, in the order in which they did.
    public var errors: [any Error] {
        results.compactMap { result in
            if case .failure(let error) = result { error } else { nil }
        }
    }

    /// Checks that so many requests came by.
    ///
    /// - Parameter count: How many.
    /// - Throws: ``UnexpectedRequests``, with a list of those that came, when they are more or fewer.
    public func verify(count: Int) throws {
        let requests = requests
        guard requests.count != count else { return }
        throw UnexpectedRequests(expected: Self.count(count), arrived: requests)
    }

    /// Checks which requests came by, and in which order.
    ///
    /// ```swift
    /// try recorder.verify("GET https://api.example.com/users", "DELETE https://api.example.com/users/42")
    /// ```
    ///
    /// - Parameter expected: Method and URL of each, as ``Networking/HTTPRequestData`` describes itself: without
    ///   secrets.
    /// - Throws: ``UnexpectedRequests``, with a list of those that came, when it is another.
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

    /// How many requests are under way.
    public var active: Int {
        state.withLock { $0.active }
    }

    /// The most requests that were ever under way at once.
    public var peakActive: Int {
        state.withLock { $0.peakActive }
    }

    /// Waits until so many requests have come by.
    ///
    /// - Parameter count: How many, since the recorder was made.
    /// - Throws: `CancellationError` when the caller is cancelled.
    public func waitForRequests(_ count: Int = 1) async throws {
        let wait = Suspension<Void>()
        let id = state.withLock { $0.waits.add(wait, until: count, current: $0.requests.count) }
        try await wait.value { self.state.withLock { $0.waits.remove(id) } }
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

        /// Notes a request, and answers whom to wake.
        mutating func begin(_ request: HTTPRequestData) -> [Suspension<Void>] {
            requests.append(request)
            active += 1
            peakActive = max(peakActive, active)
            return waits.takeReached(requests.count)
        }
    }
}

/// Other requests came by a ``RequestRecorder`` than a test expected.
public struct UnexpectedRequests: LocalizedError, CustomStringConvertible {
    /// What was expected and what came, a request a line.
    public let description: String

    /// The same.
    public var errorDescription: String? {
        description
    }

    fileprivate init(expected: String, arrived requests: [HTTPRequestData]) {
        let list = requests.map { "\n  \($0)" }.joined()
        description =
            "Expected \(expected)\nbut there came \(RequestRecorder.count(requests.count))"
            + (requests.isEmpty ? "" : ":\(list)")
    }
}

extension NetworkingComponent {
    /// Has a recorder remember the requests that pass here.
    ///
    /// - Parameter recorder: The recorder.
    /// - Returns: A component whose requests are recorded.
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
