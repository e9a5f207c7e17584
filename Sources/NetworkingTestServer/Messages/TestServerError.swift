#if TestServer
public import FoundationForNetworking

/// An error of a ``TestServer`` that cannot start, or of a check that fails.
public struct TestServerError: Error, Sendable, Hashable {
    /// The kind of failure.
    public let kind: Kind

    /// The text for the developer.
    public let description: String

    /// The kinds of failure.
    public enum Kind: Sendable, Hashable {
        /// Another process or test listens on the port.
        case portTaken

        /// The system does not allow this user to listen on the port.
        case portForbidden

        /// The certificate or the private key of a server with TLS cannot be used.
        case unusableCertificate

        /// The expected request did not arrive.
        case noRequest

        /// A request differs from the expected one: ``RecordedRequest/expect(_:_:headerFields:text:)``,
        /// ``RecordedRequest/json(as:)``.
        case unexpectedRequest

        /// A request was not taken, a response was not used, or a request had no response: ``TestServer/verify()``.
        case verificationFailed
    }
}

extension TestServerError: LocalizedError, CustomStringConvertible {
    /// The same text as the description.
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

    static func unusableCertificate(_ reason: String) -> TestServerError {
        TestServerError(
            kind: .unusableCertificate,
            description: """
                The certificate or the private key of the server cannot be used: \(reason). Pass PEM text with the \
                certificate of the server first, and its private key.
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
    /// The elements, one per numbered line.
    var numberedLines: String {
        enumerated().map { "  \($0 + 1). \($1)" }.joined(separator: "\n")
    }
}
#endif
