public import NetworkingCore

/// A mismatch between a server's certificates, which the platform trusts, and the pins of the host.
public struct PinMismatch: Sendable, Hashable, CustomStringConvertible {
    /// The host of the connection.
    public let host: String
    /// The pins of the certificates that the server presented, its own first.
    public let presented: [CertificatePin]
    /// The pins of the host, of which one had to match.
    public let expected: [CertificatePin]

    /// Creates a mismatch, for a transport of your own.
    ///
    /// - Parameters:
    ///   - host: The host of the connection.
    ///   - presented: The pins of the certificates that the server presented.
    ///   - expected: The pins of the host.
    public init(host: String, presented: [CertificatePin], expected: [CertificatePin]) {
        self.host = host
        self.presented = presented
        self.expected = expected
    }

    /// The host and the pins; all of them are public.
    public var description: String {
        let presented = presented.map { "\($0)" }.joined(separator: ", ")
        let expected = expected.map { "\($0)" }.joined(separator: " or ")
        return "\(host) presented \(presented.isEmpty ? "no certificate" : presented), expected \(expected)"
    }
}

extension NetworkingError {
    /// The mismatch that made the request fail with ``Kind/tls``; `nil` for any other failure.
    ///
    /// ```swift
    /// do {
    ///     try await network.data(request)
    /// } catch let error as NetworkingError where error.pinMismatch != nil {
    ///     showUpdateRequired()
    /// }
    /// ```
    public package(set) var pinMismatch: PinMismatch? {
        get { self[metadata: PinMismatchKey.self] }
        set { self[metadata: PinMismatchKey.self] = newValue }
    }

    /// Creates the error of a request to a server that has none of the pinned keys, for a transport of your own.
    ///
    /// Its kind is ``Kind/tls``, and its ``pinMismatch`` is the mismatch.
    ///
    /// - Parameters:
    ///   - mismatch: The mismatch.
    ///   - request: The request that was not sent.
    public init(_ mismatch: PinMismatch, request: HTTPRequestData) {
        self.init(
            .tls,
            request: request,
            reason: "The server has none of the pinned keys: \(mismatch). If the server has a new key, add its pin; "
                + "otherwise the connection may be intercepted."
        )
        pinMismatch = mismatch
    }
}

private enum PinMismatchKey: ResponseMetadata {
    static let defaultValue: PinMismatch? = nil
}
