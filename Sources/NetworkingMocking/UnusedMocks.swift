public import FoundationForNetworking
import NetworkingCore

/// An error about unused mocks of a ``MockTransport``, and about requests that it could not respond to.
public struct UnusedMocks: LocalizedError, CustomStringConvertible {
    /// The problems, one or two sentences each, without secrets.
    public let sentences: [String]

    /// The sentences, one per line.
    public var description: String {
        sentences.joined(separator: "\n")
    }

    /// The same as `description`.
    public var errorDescription: String? {
        description
    }
}

extension MockTransport {
    /// Throws unless all mocks were used as required and every request got a response.
    ///
    /// ```swift
    /// let transport = MockTransport()
    /// transport.on(.get, "/users", uses: .exactly(2), .json(users))
    /// // …
    /// try transport.verifyAllUsed()   // GET /users was used once; expected exactly 2 times.
    /// ```
    ///
    /// It checks stubs (``MockUses``), the script, the expectations, and requests without a response, because the app
    /// may have ignored their error. A stub or expectation counts as used as soon as a request has selected it, even if
    /// the exchange is still in flight.
    ///
    /// - Throws: ``UnusedMocks``.
    public func verifyAllUsed() throws {
        let board = board.read { $0 }
        let sentences = board.unusedStubs + board.unmetExpectations + board.requestsWithoutResponse
        if !sentences.isEmpty { throw UnusedMocks(sentences: sentences) }
    }
}

extension MockBoard {
    fileprivate var unusedStubs: [String] {
        stubs.indices.filter { uses[$0] < stubs[$0].uses.minimum }
            .map { index in
                let stub = stubs[index]
                let count =
                    switch uses[index] {
                    case 0: "was not used"
                    case 1: "was used once"
                    case let uses: "was used \(uses) times"
                    }
                let sentence = "\(stub.matcher) \(count); expected \(stub.uses)."
                return "\(sentence)\(shadow(over: index))"
            }
    }

    /// Describes the earlier stub that responded to requests that the stub at an index matches, too; empty if there is
    /// none.
    private func shadow(over index: Int) -> String {
        var shadows: [Int: [HTTPRequestData]] = [:]
        for (request, source) in zip(requests, sources) {
            guard case .stub(let earlier) = source, earlier < index else { continue }
            guard stubs[index].matcher.matches(request) else { continue }
            shadows[earlier, default: []].append(request)
        }
        guard let (earlier, requests) = shadows.max(by: { ($0.value.count, $1.key) < ($1.value.count, $0.key) }),
            let first = requests.first
        else { return "" }
        let count = requests.count == 1 ? "1 request" : "\(requests.count) requests"
        return " The earlier stub \(stubs[earlier].matcher) was used for \(count) that this one matches too, such as "
            + "\(first): add the more specific stub first."
    }

    fileprivate var unmetExpectations: [String] {
        guard let next = nextExpectation else { return [] }
        let left = expectations.count - met
        let responses = left == 1 ? "1 response" : "\(left) responses"
        let what = "The script has \(responses) left of \(expectations.count)"
        return ["\(what); the next is for \(next.matcher)."]
    }

    fileprivate var requestsWithoutResponse: [String] {
        zip(requests, sources)
            .compactMap { request, source in
                guard case .missing(let reason) = source else { return nil }
                return "No stub matched \(request). \(reason)"
            }
    }
}
