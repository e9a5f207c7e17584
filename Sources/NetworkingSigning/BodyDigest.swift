#if Crypto
public import Crypto
import FoundationForNetworking
public import NetworkingCore

extension HTTPRequestData {
    /// Returns the digest of the body, for signers.
    ///
    /// ```swift
    /// let digest = try await request.bodyDigest(using: SHA256.self)
    /// ```
    ///
    /// It is the digest of the bytes that will be sent; without a body, the digest of zero bytes. Files and streams are
    /// read in chunks, off the caller's actor, and read again when they are sent. A body that can be read only once
    /// therefore has no digest. A cancelled caller gets `CancellationError`.
    ///
    /// - Parameter function: The hash function.
    /// - Returns: The digest.
    /// - Throws: `NetworkingError.Kind.bodyNotReplayable` if the body can be read only once, and the errors of a body
    ///   that cannot be sent: `NetworkingError.Kind.unencodableBody` and `NetworkingError.Kind.storage`.
    @concurrent
    public func bodyDigest<Function: HashFunction & SendableMetatype>(
        using function: Function.Type
    ) async throws -> Function.Digest {
        var function = Function()
        try await readBody { function.update(data: $0) }
        return function.finalize()
    }

    /// Reads the body for a signer, before it is sent.
    ///
    /// - Parameter take: Receives each chunk. Chunks are short, so that a cancellation takes effect soon.
    /// - Throws: The errors of ``bodyDigest(using:)``.
    @concurrent
    func readBody(_ take: (Data) -> Void) async throws {
        guard let body else { return }
        try checkBody()
        guard body.isReplayable else { throw bodyIsReadOnce }
        do {
            for try await chunk in body.chunks {
                try chunk.forEachChunk(take)
            }
        } catch let failure as RequestBody.Failure {
            throw failure.error(of: self)
        }
    }

    private var bodyIsReadOnce: NetworkingError {
        NetworkingError(
            .bodyNotReplayable,
            request: self,
            reason:
                "Its signature covers the body, which has to be read twice, but can be read only once. Use a body that "
                + "can be replayed: data, a file, or stream(from:) with a closure that creates the stream."
        )
    }
}

extension Data {
    /// Returns the digest of a body in memory.
    ///
    /// - Parameter function: The hash function.
    /// - Returns: The digest.
    /// - Throws: `CancellationError`.
    @concurrent
    func digest<Function: HashFunction & SendableMetatype>(
        using function: Function.Type
    ) async throws -> Function.Digest {
        var function = Function()
        try forEachChunk { function.update(data: $0) }
        return function.finalize()
    }

    /// Passes on the bytes in chunks that are short enough for a cancellation to take effect soon.
    fileprivate func forEachChunk(_ take: (Data) -> Void) throws {
        var rest = self[...]
        while !rest.isEmpty {
            try Task.checkCancellation()
            take(rest.prefix(1 << 20))
            rest = rest.dropFirst(1 << 20)
        }
    }
}
#endif
