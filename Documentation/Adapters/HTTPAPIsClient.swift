// Copy this file into a target that uses Apple's proposal for an HTTP API. It needs Swift 6.4 and the products HTTPAPIs of
// swift-http-api-proposal, BasicContainers of swift-collections and Networking of swift-networking.

#if compiler(>=6.4) || HTTPAPIsStub
import BasicContainers
import Foundation
import HTTPAPIs
import Networking
import Synchronization

/// A stack as an `HTTPClient` of the proposal.
@available(macOS 26.2, iOS 26.2, watchOS 26.2, tvOS 26.2, visionOS 26.2, *)
struct StackClient: HTTPClient {
    /// The options of a request that a stack understands.
    struct RequestOptions: HTTPClientCapability.RequestOptions, Sendable {
        /// The template of the path in metrics, traces and logs.
        var route: String?
    }

    private let network: any NetworkingComponent

    init(over network: some NetworkingComponent) {
        self.network = network
    }

    var defaultRequestOptions: RequestOptions {
        RequestOptions()
    }

    func perform<Return: ~Copyable>(
        request: HTTPRequest,
        body: consuming HTTPClientRequestBody<Writer>?,
        options: RequestOptions,
        responseHandler: (HTTPResponse, consuming Reader) async throws -> Return
    ) async throws -> Return {
        var message = HTTPRequestData(request)
        message.route = options.route
        if let body {
            guard body.knownLength ?? 0 >= 0 else { throw StackClientError.negativeLength }
            let contentType = request.headerFields[.contentType] ?? "application/octet-stream"
            message.body = RequestBody(body, contentType: contentType)
        }
        // The body of a success is streamed. Any other body is collected first, so that `retry` can repeat the request.
        let exchange: Exchange
        do {
            exchange = .streamed(try await network.stream(message))
        } catch let error as NetworkingError where error.kind == .status || error.kind == .unauthorized {
            guard let response = error.response else { throw error }
            exchange = .collected(response)
        }
        // Releasing the stream ends the exchange, at the latest when the handler returns.
        return try await responseHandler(exchange.response.http, Reader(exchange))
    }

    fileprivate enum Exchange {
        case streamed(ResponseStream)
        case collected(HTTPResponseData)

        var response: HTTPResponseData {
            switch self {
            case .streamed(let stream): stream.response
            case .collected(let response): response
            }
        }
    }
}

/// The reasons why a stack does not send a body of the proposal.
enum StackClientError: Error {
    case negativeLength
    /// The closure of the body has returned without `finish`.
    case unfinishedBody
    /// The closure of the body has trailers, which a stack does not send.
    case trailers
}

@available(macOS 26.2, iOS 26.2, watchOS 26.2, tvOS 26.2, visionOS 26.2, *)
extension RequestBody {
    /// Creates a body from one of the proposal.
    ///
    /// Every body of the proposal can be written again from its start, and so can this one. A seekable body is written
    /// from offset zero.
    init(_ body: HTTPClientRequestBody<StackClient.Writer>, contentType: String) {
        self = .written(length: body.knownLength, contentType: contentType) { writer in
            let end = StackClient.Writer.End()
            try await body.produce(into: StackClient.Writer(writer, end))
            guard end.isReached else { throw StackClientError.unfinishedBody }
        }
    }
}

@available(macOS 26.2, iOS 26.2, watchOS 26.2, tvOS 26.2, visionOS 26.2, *)
extension StackClient {
    /// Writes the body of a request; a write returns when the transport needs more bytes.
    struct Writer: CallerAsyncWriter, ~Copyable {
        typealias WriteElement = UInt8
        typealias WriteFailure = any Error
        typealias FinalElement = HTTPFields?

        private let body: BodyWriter
        private let end: End

        fileprivate init(_ body: BodyWriter, _ end: End) {
            self.body = body
            self.end = end
        }

        mutating func write<Buffer: RangeReplaceableContainer<UInt8> & ~Copyable>(
            buffer: inout Buffer
        ) async throws {
            try await body.write(Data(draining: &buffer))
        }

        consuming func finish<Buffer: RangeReplaceableContainer<UInt8> & ~Copyable>(
            buffer: inout Buffer,
            finalElement: consuming HTTPFields?
        ) async throws {
            guard finalElement?.isEmpty ?? true else { throw StackClientError.trailers }
            try await body.write(Data(draining: &buffer))
            end.reach()
        }

        fileprivate final class End: Sendable {
            private let wasReached = Atomic(false)

            var isReached: Bool {
                wasReached.load(ordering: .acquiring)
            }

            func reach() {
                wasReached.store(true, ordering: .releasing)
            }
        }
    }

    /// Reads the body of a response as it arrives, without trailers.
    struct Reader: AsyncReader, ~Copyable {
        typealias ReadElement = UInt8
        typealias ReadFailure = any Error
        typealias FinalElement = HTTPFields?
        typealias Buffer = UniqueArray<UInt8>

        private var chunks: ResponseStream.Iterator?
        /// The bytes that the last reader has left, and those of a body that is in memory.
        private var buffer: UniqueArray<UInt8>

        fileprivate init(_ exchange: Exchange) {
            switch exchange {
            case .streamed(let stream):
                chunks = stream.makeAsyncIterator()
                buffer = UniqueArray()
            case .collected(let response):
                buffer = UniqueArray(copying: response.data)
            }
        }

        mutating func read<Return: ~Copyable, Failure: Error>(
            body: (inout UniqueArray<UInt8>, consuming HTTPFields??) async throws(Failure) -> Return
        ) async throws(EitherError<any Error, Failure>) -> Return {
            let chunk: Data?
            do {
                chunk = try await chunks?.next()
            } catch {
                throw .first(error)
            }
            if let chunk {
                buffer.append(copying: chunk)
            }
            do {
                return try await body(&buffer, chunk == nil ? .some(nil) : nil)
            } catch {
                throw .second(error)
            }
        }
    }
}

@available(macOS 26.2, iOS 26.2, watchOS 26.2, tvOS 26.2, visionOS 26.2, *)
extension Data {
    fileprivate init(draining buffer: inout some (RangeReplaceableContainer<UInt8> & ~Copyable)) {
        self.init(capacity: buffer.count)
        var drain = buffer.consumeAll()
        while let byte = drain.next() {
            append(byte)
        }
    }
}
#endif
