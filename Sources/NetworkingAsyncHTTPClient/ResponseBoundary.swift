#if AsyncHTTPClient
import NIOCore
import NIOHTTP1

/// Finds the end of each response in the bytes of an HTTP/1.1 connection (RFC 9112 section 6.3).
///
/// The decoder joins all bytes that it gets: bytes after a response become the start of the next response. This type
/// cuts incoming bytes into slices for the decoder. A response ends with the last byte of a slice, or within a slice
/// for which ``isExact`` is `false`. Bytes after a response therefore never go unnoticed.
///
/// The decoder decides where a response ends. If this type expects another end, ``isExact`` is `false`.
struct ResponseBoundary {
    /// The handling of bytes that have arrived.
    enum Slice: Equatable {
        /// Pass this number of bytes to the decoder.
        case bytes(Int)
        /// No request is waiting for a response, so the bytes belong to none.
        case surplus
        /// The response does not start with `HTTP/`.
        case foreign
    }

    private enum Stage {
        /// No request is waiting for a response.
        case idle
        /// Within a head: the final one, or an interim one before it.
        case head(HeadScanner)
        /// Within a body of known length, with this number of bytes left.
        case length(Int)
        /// Within a chunked body, which ends with a line feed, or one that ends with its connection.
        case open
    }

    private var stage = Stage.idle

    /// Whether a response that ends now has used every byte that has arrived.
    private(set) var isExact = true

    /// Whether the last bytes that were passed on belong to a head.
    var isInHead: Bool {
        if case .head = stage { true } else { false }
    }

    /// Records that a request has been written, so a response is due.
    mutating func expectResponse() {
        if case .idle = stage {
            stage = .head(HeadScanner())
        }
    }

    /// Decides how to handle the bytes that have arrived and were not passed on yet.
    ///
    /// - Parameter bytes: The bytes, at least one.
    /// - Returns: The handling of the first of them.
    mutating func nextSlice(of bytes: ByteBuffer) -> Slice {
        let count = bytes.readableBytes
        switch stage {
        case .idle:
            return .surplus
        case .head(var scanner):
            let result = bytes.withUnsafeReadableBytes { scanner.scan($0) }
            stage = .head(scanner)
            switch result {
            case .foreign: return .foreign
            case .unfinished: return slice(count, isExact: false)
            case .end(let end): return slice(end, isExact: end == count)
            }
        case .length(let rest) where rest > 0:
            return slice(min(rest, count), isExact: rest == count)
        case .length:
            return slice(count, isExact: false)
        case .open:
            // A response can only end with a line feed, so only the last byte needs a separate slice.
            guard bytes.getInteger(at: bytes.writerIndex - 1, as: UInt8.self) == .lineFeed else {
                return slice(count, isExact: false)
            }
            return count == 1 ? slice(1, isExact: true) : slice(count - 1, isExact: false)
        }
    }

    private mutating func slice(_ count: Int, isExact: Bool) -> Slice {
        self.isExact = isExact
        return .bytes(count)
    }

    /// Records that the decoder has processed the last slice.
    ///
    /// A response that ends later, with its connection, is exact.
    mutating func endSlice() {
        isExact = true
    }

    /// Records that the decoder has read a head.
    mutating func receive(_ head: HTTPResponseHead) {
        if head.status.code < 200, head.status != .switchingProtocols {
            stage = .head(HeadScanner())
        } else if !head.headers.contains(name: "Transfer-Encoding"),
            let length = head.headers.first(name: "Content-Length").flatMap({ Int($0) })
        {
            stage = .length(length)
        } else {
            stage = .open
        }
    }

    /// Records that the decoder has read bytes of the body.
    mutating func receive(bodyBytes count: Int) {
        if case .length(let rest) = stage {
            stage = .length(rest - count)
        }
    }

    /// Records that the decoder has read the end of the response.
    mutating func endResponse() {
        stage = .idle
    }
}

/// Looks for the end of a head, which is an empty line, and checks how the head starts.
private struct HeadScanner {
    enum Result {
        case unfinished
        case end(Int)
        case foreign
    }

    private static let start: StaticString = "HTTP/"

    private var matched = 0
    private var isAtLineStart = false

    /// Scans the next bytes of the head.
    mutating func scan(_ bytes: UnsafeRawBufferPointer) -> Result {
        var index = 0
        // The decoder skips line ends before a response.
        while matched < Self.start.utf8CodeUnitCount, index < bytes.count {
            let byte = bytes[index]
            if byte == Self.start.utf8Start[matched] {
                matched += 1
            } else if matched > 0 || (byte != .carriageReturn && byte != .lineFeed) {
                return .foreign
            }
            index += 1
        }
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            if byte == .lineFeed {
                if isAtLineStart { return .end(index) }
                isAtLineStart = true
            } else if byte != .carriageReturn {
                isAtLineStart = false
            }
        }
        return .unfinished
    }
}

extension UInt8 {
    fileprivate static let lineFeed = UInt8(ascii: "\n")
    fileprivate static let carriageReturn = UInt8(ascii: "\r")
}
#endif
