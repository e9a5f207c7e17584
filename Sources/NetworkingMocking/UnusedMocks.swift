import NetworkingCore

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

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
    /// try transport.verifyAllUsed()   // GET /users has answered 1 request; it is to answer exactly 2 times.
    /// ```
    ///
    /// It checks stubs (``MockUses``), the script, the expectations, and requests without a response, whose error the
    /// app may have ignored. Exchanges in flight count as used.
    ///
    /// - Throws: ``UnusedMocks``.
    public func verifyAllUsed() throws {
        let board = board.read { $0 }
        let sentences = board.unusedStubs + board.unmetExpectations + board.unansweredRequests
        if !sentences.isEmpty { throw UnusedMocks(sentences: sentences) }
    }
}

extension MockBoard {
    fileprivate var unusedStubs: [String] {
        stubs.indices.filter { uses[$0] < stubs[$0].uses.least }
            .map { index in
                let stub = stubs[index]
                let count =
                    switch uses[index] {
                    case 0: "has answered no request"
                    case 1: "has answered 1 request"
                    case let uses: "has answered \(uses) requests"
                    }
                let sentence = "\(stub.matcher) \(count); it is to answer \(stub.uses)."
                return "\(sentence)\(shadow(over: index))"
            }
    }

    /// Describes the earlier stub that responded to requests for a later one; empty if there is none.
    private func shadow(over index: Int) -> String {
        var shadows: [Int: [HTTPRequestData]] = [:]
        for (request, answerer) in zip(requests, answerers) {
            guard case .stub(let earlier) = answerer, earlier < index else { continue }
            guard stubs[index].matcher.matches(request) else { continue }
            shadows[earlier, default: []].append(request)
        }
        guard let (earlier, requests) = shadows.max(by: { ($0.value.count, $1.key) < ($1.value.count, $0.key) }),
            let first = requests.first
        else { return "" }
        let count = requests.count == 1 ? "1 request" : "\(requests.count) requests"
        return " \(stubs[earlier].matcher), which stands before it, has answered \(count) that it matches too, "
            + "such as \(first): put the narrower one first."
    }

    fileprivate var unmetExpectations: [String] {
        guard let next = nextExpectation else { return [] }
        let left = expectations.count - met
        let answers = left == 1 ? "1 answer" : "\(left) answers"
        let what = "Nobody has asked for \(answers) of \(expectations.count) that were to be given in order"
        return ["\(what); the next is for \(next.matcher)."]
    }

    fileprivate var unansweredRequests: [String] {
        zip(requests, answerers).filter { $0.1 == .nobody }
            .map { "Nobody answered \($0.0). \(usedUp(for: $0.0) ?? nearestMiss(of: $0.0))" }
    }
}
