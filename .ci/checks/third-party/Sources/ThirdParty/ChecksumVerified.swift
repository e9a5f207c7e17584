import Foundation
import Networking
import Synchronization

/// A checksum of bytes: Adler-32.
public struct Checksum32: Sendable, Hashable, CustomStringConvertible {
    private var low: UInt32 = 1
    private var high: UInt32 = 0

    /// Creates the checksum of no bytes.
    public init() {}

    /// Creates the checksum of bytes.
    ///
    /// - Parameter data: The bytes.
    public init(of data: Data) {
        add(data)
    }

    /// Adds bytes.
    ///
    /// - Parameter data: The bytes.
    public mutating func add(_ data: Data) {
        for byte in data {
            low = (low + UInt32(byte)) % 65_521
            high = (high + low) % 65_521
        }
    }

    /// Eight hexadecimal digits.
    public var description: String {
        let digits = String(high << 16 | low, radix: 16)
        return String(repeating: "0", count: 8 - digits.count) + digits
    }
}

extension RequestOptionKey {
    /// ``HTTPRequestData/expectedChecksum``.
    public static let expectedChecksum = RequestOption<Checksum32?>(
        "expectedChecksum",
        default: nil,
        affects: .sending
    )
}

extension HTTPRequestData {
    /// The checksum that the body of a successful response must have; `nil`, the default, for any.
    public var expectedChecksum: Checksum32? {
        get { self[.expectedChecksum] }
        set { self[.expectedChecksum] = newValue }
    }
}

extension StackRole {
    /// Verifies the checksum of bodies.
    public static let checksum = StackRole("checksum")
}

extension NetworkingComponent {
    /// Verifies the checksum of each successful response to a request that expects one.
    ///
    /// A response with a different checksum fails. The request's sink receives the error instead of `finish`.
    ///
    /// - Returns: A component that throws a ``NetworkingError`` of kind `checksumMismatch`.
    public func checksumVerified() -> some NetworkingComponent {
        modified(ChecksumVerified())
    }
}

/// A modifier that verifies the checksums of bodies.
public struct ChecksumVerified: NetworkingModifier, CustomStringConvertible {
    /// Creates the modifier.
    public init() {}

    /// Sends the request and verifies the body on its way.
    public func send(
        _ request: HTTPRequestData,
        upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        var verified = request
        verified.sink = request.sink.map { VerifyingSink(sink: $0, request: request) }
        let response = try await upstream.send(verified)
        if response.status.kind == .successful, let data = response.body.data {
            try request.verify(Checksum32(of: data), of: response)
        }
        return response
    }

    /// The modifier in an outline.
    public var description: String {
        "checksumVerified"
    }

    /// The role, the options and the rules of the modifier.
    public var stackPart: StackPart {
        StackPart(
            roles: [.checksum],
            options: [.expectedChecksum],
            rules: [.notOutside(.retry, "is outside retry, so a damaged body is not loaded again. Put it inside.")]
        )
    }
}

extension HTTPRequestData {
    fileprivate func verify(_ checksum: Checksum32, of response: HTTPResponseData? = nil) throws {
        reportChecksum(checksum)
        guard let expectedChecksum, expectedChecksum != checksum else { return }
        throw NetworkingError(
            .checksumMismatch,
            request: self,
            response: response,
            reason: "The body has the checksum \(checksum) and not \(expectedChecksum)."
        )
    }
}

/// A sink that computes the checksum of the chunks that it passes on.
private final class VerifyingSink: ForwardingSink {
    let sink: any ResponseSink
    private let request: HTTPRequestData
    private let checksum = Mutex(Checksum32())

    init(sink: any ResponseSink, request: HTTPRequestData) {
        (self.sink, self.request) = (sink, request)
    }

    func receive(_ chunk: Data) async throws {
        checksum.withLock { $0.add(chunk) }
        try await sink.receive(chunk)
    }

    func finish() async throws {
        try request.verify(checksum.withLock { $0 })
        try await sink.finish()
    }
}
