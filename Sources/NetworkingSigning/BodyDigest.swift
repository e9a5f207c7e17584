#if Crypto
public import Crypto
public import Networking

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension HTTPRequestData {
    /// The digest of the body, for signers.
    ///
    /// ```swift
    /// let digest = try await request.bodyDigest(using: SHA256.self)
    /// ```
    ///
    /// It is that of the bytes which will be sent, and that of no bytes where there is no body. Files and streams are
    /// read in chunks, away from the caller's actor, and once more when they are sent: a body that can be read only
    /// once has none. A cancelled caller gets `CancellationError`.
    ///
    /// - Parameter function: The hash function.
    /// - Returns: The digest.
    /// - Throws: `NetworkingError.Kind.bodyNotReplayable`, and what makes the body unfit to be sent:
    ///   `NetworkingError.Kind.unencodableBody` and `NetworkingError.Kind.storage`.
    @concurrent
    public func bodyDigest<Function: HashFunction & SendableMetatype>(
        using function: Function.Type
    ) async throws -> Function.Digest {
        var function = Function()
        try await readBody { function.update(data: $0) }
        return function.finalize()
    }

    /// Reads the body, as a signer does before it is sent.
    ///
    /// - Parameter take: Takes a chunk. Chunks are short, so that a cancellation is heard soon.
    /// - Throws: As ``bodyDigest(using:)`` does.
    @concurrent
    func readBody(_ take: (Data) -> Void) async throws {
        guard let body else { return }
        try checkBody()
        guard body.isReplayable else { throw bodyIsReadOnce }
        do {
            for try await chunk in body.chunks {
                try chunk.forEachPortion(take)
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
                "Its signature covers the body, which would be read for it and once more to be sent, and can be read only "
                + "once. Use a body that can be replayed: data, a file, or stream(from:) with a closure that makes the stream."
        )
    }
}

extension Data {
    /// The digest of a body that is in memory.
    ///
    /// - Parameter function: The hash function.
    /// - Returns: The digest.
    /// - Throws: `CancellationError`.
    @concurrent
    func digest<Function: HashFunction & SendableMetatype>(
        using function: Function.Type
    ) async throws -> Function.Digest {
        var function = Function()
        try forEachPortion { function.update(data: $0) }
        return function.finalize()
    }

    /// Hands out the bytes in chunks so short that a cancellation is heard soon.
    fileprivate func forEachPortion(_ take: (Data) -> Void) throws {
        var rest = self[...]
        while !rest.isEmpty {
            try Task.checkCancellation()
            take(rest.prefix(1 << 20))
            rest = rest.dropFirst(1 << 20)
        }
    }
}
#endif
