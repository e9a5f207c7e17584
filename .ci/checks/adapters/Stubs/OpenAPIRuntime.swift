// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// The declarations of swift-openapi-runtime 1.8 that the adapter, its tests and a generated client use, with the same
// signatures. `UniversalClient` wraps errors as the original does, and a body that can be read once traps if it is read
// again, as that of the first versions does.

public import Foundation
public import HTTPTypes
import Synchronization

public protocol ClientTransport: Sendable {
    func send(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String
    ) async throws -> (HTTPResponse, HTTPBody?)
}

public protocol ClientMiddleware: Sendable {
    func intercept(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String,
        next: @Sendable (HTTPRequest, HTTPBody?, URL) async throws -> (HTTPResponse, HTTPBody?)
    ) async throws -> (HTTPResponse, HTTPBody?)
}

public final class HTTPBody: @unchecked Sendable {
    public typealias ByteChunk = ArraySlice<UInt8>

    public enum IterationBehavior: Sendable {
        case single
        case multiple
    }

    public enum Length: Sendable, Equatable {
        case unknown
        case known(Int64)
    }

    public let iterationBehavior: IterationBehavior
    public let length: Length
    private let makeIterator: () -> Iterator
    private let wasRead = Mutex(false)

    public init<Bytes: AsyncSequence>(
        _ sequence: Bytes,
        length: HTTPBody.Length,
        iterationBehavior: IterationBehavior
    ) where Bytes.Element == ByteChunk, Bytes: Sendable {
        self.length = length
        self.iterationBehavior = iterationBehavior
        makeIterator = { Iterator(sequence.makeAsyncIterator()) }
    }

    public convenience init<Bytes: AsyncSequence>(
        _ sequence: Bytes,
        length: HTTPBody.Length,
        iterationBehavior: IterationBehavior
    ) where Bytes: Sendable, Bytes.Element: Sequence & Sendable, Bytes.Element.Element == UInt8 {
        self.init(sequence.map { ArraySlice($0) }, length: length, iterationBehavior: iterationBehavior)
    }

    public convenience init(_ bytes: some Collection<UInt8> & Sendable) {
        let chunk = ArraySlice(bytes)
        let sequence = Once(chunk: chunk)
        self.init(sequence, length: .known(Int64(chunk.count)), iterationBehavior: .multiple)
    }

    private struct Once: AsyncSequence, Sendable {
        let chunk: ByteChunk

        func makeAsyncIterator() -> AsyncThrowingStream<ByteChunk, any Error>.Iterator {
            AsyncThrowingStream { continuation in
                continuation.yield(chunk)
                continuation.finish()
            }
            .makeAsyncIterator()
        }
    }
}

extension HTTPBody: AsyncSequence {
    public typealias Element = ByteChunk
    public typealias AsyncIterator = Iterator

    public func makeAsyncIterator() -> AsyncIterator {
        if iterationBehavior == .single {
            let isFirst = wasRead.withLock { wasRead in
                defer { wasRead = true }
                return !wasRead
            }
            precondition(isFirst, "OpenAPIRuntime.HTTPBody attempted to create a second iterator")
        }
        return makeIterator()
    }

    public struct Iterator: AsyncIteratorProtocol {
        public typealias Element = HTTPBody.ByteChunk

        private let produceNext: () async throws -> Element?

        init<Base: AsyncIteratorProtocol>(_ iterator: Base) where Base.Element == Element {
            var iterator = iterator
            produceNext = { try await iterator.next() }
        }

        public mutating func next() async throws -> Element? {
            try await produceNext()
        }
    }
}

extension Data {
    public init(collecting body: HTTPBody, upTo maxBytes: Int) async throws {
        var data = Data()
        for try await chunk in body {
            data.append(contentsOf: chunk)
            precondition(data.count <= maxBytes)
        }
        self = data
    }
}

public struct ClientError: Error {
    public var operationID: String
    public var operationInput: any Sendable
    public var request: HTTPRequest?
    public var requestBody: HTTPBody?
    public var baseURL: URL?
    public var response: HTTPResponse?
    public var responseBody: HTTPBody?
    public var causeDescription: String
    public var underlyingError: any Error
}

@_spi(Generated) public struct UniversalClient: Sendable {
    public let serverURL: URL
    public var transport: any ClientTransport
    public var middlewares: [any ClientMiddleware]

    public init(serverURL: URL, transport: any ClientTransport, middlewares: [any ClientMiddleware] = []) {
        (self.serverURL, self.transport, self.middlewares) = (serverURL, transport, middlewares)
    }

    public func send<OperationInput, OperationOutput>(
        input: OperationInput,
        forOperation operationID: String,
        serializer: @Sendable (OperationInput) throws -> (HTTPRequest, HTTPBody?),
        deserializer: @Sendable (HTTPResponse, HTTPBody?) async throws -> OperationOutput
    ) async throws -> OperationOutput where OperationInput: Sendable, OperationOutput: Sendable {
        @Sendable func wrapping<Result>(
            _ cause: String,
            _ work: () async throws -> Result
        ) async throws -> Result {
            do {
                return try await work()
            } catch let error as ClientError {
                throw error
            } catch {
                throw ClientError(
                    operationID: operationID,
                    operationInput: input,
                    causeDescription: cause,
                    underlyingError: error
                )
            }
        }
        let transport = transport
        let (request, body) = try await wrapping("Unknown") { try serializer(input) }
        var next: @Sendable (HTTPRequest, HTTPBody?, URL) async throws -> (HTTPResponse, HTTPBody?) = {
            request,
            body,
            url in
            try await wrapping("Transport threw an error.") {
                try await transport.send(request, body: body, baseURL: url, operationID: operationID)
            }
        }
        for middleware in middlewares.reversed() {
            let inner = next
            next = { request, body, url in
                try await wrapping("Middleware of type '\(type(of: middleware))' threw an error.") {
                    try await middleware.intercept(
                        request,
                        body: body,
                        baseURL: url,
                        operationID: operationID,
                        next: inner
                    )
                }
            }
        }
        let (response, responseBody) = try await next(request, body, serverURL)
        return try await wrapping("Unknown") { try await deserializer(response, responseBody) }
    }
}
