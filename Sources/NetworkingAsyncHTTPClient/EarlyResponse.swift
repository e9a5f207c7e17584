#if AsyncHTTPClient
import AsyncHTTPClient
import NIOCore
import NIOHTTP1

/// The end of a complete response that arrived while its request was still being sent.
///
/// After a status of 300 or more, AsyncHTTPClient stops sending the request. The task that sends the body then waits
/// forever and retains the body. Only a failure of the request ends that task, so the guards let the request fail with
/// this error where its response ends. ``ReceivedBytes`` treats the error as the end of the body.
struct EarlyResponse: Error, CustomStringConvertible {
    /// The last bytes of the body, which AsyncHTTPClient had not passed on.
    let rest: [ByteBuffer]

    /// The number of bytes of the complete body, including the rest.
    let byteCount: Int

    var description: String {
        "The response was complete before the request, so the rest of the request was not sent."
    }
}

/// Tracks the response bytes that AsyncHTTPClient has received but not passed on: a request that fails loses them.
///
/// AsyncHTTPClient passes bytes on when a read is complete, if it had asked for that read.
struct UnforwardedBytes {
    private var bytes: [ByteBuffer] = []
    private var isReadDue = true
    private var count = 0

    /// Records that AsyncHTTPClient has requested more bytes.
    mutating func read() {
        isReadDue = true
    }

    mutating func receive(_ part: ByteBuffer) {
        count += part.readableBytes
        bytes.append(part)
    }

    mutating func completeRead() {
        guard isReadDue else { return }
        isReadDue = false
        bytes.removeAll(keepingCapacity: true)
    }

    /// The error that represents the end of the response.
    var earlyResponse: EarlyResponse {
        EarlyResponse(rest: bytes, byteCount: count)
    }
}

/// The bytes of a response's body as they arrive, up to the end of the body or an ``EarlyResponse``.
struct ReceivedBytes {
    private var iterator: HTTPClientResponse.Body.AsyncIterator
    private var count = 0
    /// The bytes of an early response, in reverse; `nil` before it.
    private var rest: [ByteBuffer]?

    init(_ body: HTTPClientResponse.Body) {
        iterator = body.makeAsyncIterator()
    }

    /// Returns the next bytes, or `nil` at the end of the body.
    ///
    /// - Throws: The error that ended the body early.
    mutating func next() async throws -> ByteBuffer? {
        if rest != nil { return rest?.popLast() }
        do {
            let bytes = try await iterator.next(isolation: #isolation)
            count += bytes?.readableBytes ?? 0
            return bytes
        } catch let response as EarlyResponse {
            let total = response.rest.reduce(count) { $0 + $1.readableBytes }
            guard total == response.byteCount else { throw HTTPParserError.invalidEOFState }
            rest = response.rest.reversed()
            return rest?.popLast()
        }
    }
}
#endif
