#if TestServer
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Says what keeps a ``TestServer`` from starting, or what did not go as the test had it scripted.
public struct TestServerError: Error, Sendable, Hashable {
    /// What kind of failure it is.
    public let kind: Kind

    /// The sentences that a test shows.
    public let description: String

    /// Names the kinds of failure.
    public enum Kind: Sendable, Hashable {
        /// Somebody else listens on the port.
        case portTaken

        /// The system does not let this user listen on the port.
        case portForbidden

        /// The request that was waited for did not arrive.
        case noRequest

        /// A request is not what the test expects: ``RecordedRequest/expect(_:_:headerFields:text:)``,
        /// ``RecordedRequest/json(as:)``.
        case unexpectedRequest

        /// A request was not taken, a response not used, or an answer not scripted: ``TestServer/verify()``.
        case verificationFailed
    }
}

extension TestServerError: LocalizedError, CustomStringConvertible {
    /// The same as the description.
    public var errorDescription: String? {
        description
    }

    static func portTaken(_ port: Int) -> TestServerError {
        TestServerError(
            kind: .portTaken,
            description: """
                Port \(port) of 127.0.0.1 is in use: another process, or another test of this process, listens there. \
                Omit the port to use a free one, or end the other listener.
                """
        )
    }

    static func portForbidden(_ port: Int) -> TestServerError {
        TestServerError(
            kind: .portForbidden,
            description: """
                The system does not let this user listen on port \(port) of 127.0.0.1. Choose one above 1023, or omit \
                the port to use a free one.
                """
        )
    }

    static func noRequest(_ sentence: String, _ requests: [RecordedRequest]) -> TestServerError {
        let list =
            requests.isEmpty
            ? " No request has arrived." : " These requests have arrived:\n\(requests.numberedLines)"
        return TestServerError(kind: .noRequest, description: sentence + list)
    }
}

extension Sequence {
    /// One line for each, with its number.
    var numberedLines: String {
        enumerated().map { "  \($0 + 1). \($1)" }.joined(separator: "\n")
    }
}
#endif
