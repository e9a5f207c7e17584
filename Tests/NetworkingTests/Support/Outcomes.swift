import Dispatch
import Networking
import TestSupport
import Testing

/// The results that the completion of a call has received.
final class Outcomes<Value: Sendable>: Sendable {
    private let results = Locked<[Result<Value, any Error>]>([])

    func add(_ result: Result<Value, any Error>) {
        results.withLock { $0.append(result) }
    }

    var count: Int {
        results.value.count
    }

    /// Waits for the first result.
    func first() async throws -> Result<Value, any Error> {
        try await eventually("the completion is called") { results.value.first != nil }
        return try #require(results.value.first)
    }
}

extension Result {
    /// The error; `nil` for a success.
    var error: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }

    /// The error, if it is one of the library.
    var networkingError: NetworkingError? {
        error as? NetworkingError
    }
}

extension DispatchQueue {
    /// Returns when the queue has run everything that was scheduled before.
    func drain() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            self.async { continuation.resume() }
        }
    }
}
