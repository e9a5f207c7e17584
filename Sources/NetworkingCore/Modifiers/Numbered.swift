import Synchronization

extension NetworkingComponent {
    /// Numbers the requests of this stack from 1, in the order of their arrival.
    ///
    /// `logged` shows the number, and all components upstream can read it as ``HTTPRequestData/number``. A request that
    /// has a number keeps it, so that the attempts of a retry upstream have the same number.
    ///
    /// ```swift
    /// let network = URLSession.shared.logged().numbered()
    /// ```
    ///
    /// - Returns: A component that numbers its requests. Its copies share the sequence.
    public func numbered() -> some NetworkingComponent {
        modified(Numbered())
    }
}

struct Numbered: UpstreamLimited, CustomStringConvertible {
    private let sequence = RequestSequence()

    // Inlined into its witness, so that a call has one frame less.
    @inline(__always)
    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        try await upstream.send(request.number == nil ? numbered(request) : request)
    }

    // Not inlined, because the copy of its content would take memory in every call that waits for its response.
    @inline(never)
    private func numbered(_ request: HTTPRequestData) -> HTTPRequestData {
        var request = request
        request.number = sequence.next()
        return request
    }

    var description: String {
        "numbered"
    }
}

/// Counts the requests of a stack.
final class RequestSequence: Sendable {
    private let last = Atomic(0)

    func next() -> Int {
        last.add(1, ordering: .relaxed).newValue
    }
}
