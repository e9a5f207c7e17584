// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// The declarations of HTTPAPIs (apple/swift-http-api-proposal) that the adapter and its tests use, in the form of July
// 2026, with the signatures of the proposal.

@_exported public import AsyncStreaming
@_exported public import HTTPTypes

public enum HTTPClientCapability {
    public protocol RequestOptions {}
}

public protocol HTTPClient<RequestOptions>: Sendable, ~Copyable, ~Escapable {
    associatedtype RequestOptions: HTTPClientCapability.RequestOptions
    associatedtype Writer: CallerAsyncWriter, ~Copyable, SendableMetatype
    where Writer.WriteElement == UInt8, Writer.FinalElement == HTTPFields?
    associatedtype Reader: AsyncReader, ~Copyable, SendableMetatype
    where Reader.ReadElement == UInt8, Reader.FinalElement == HTTPFields?

    var defaultRequestOptions: RequestOptions { get }

    mutating func perform<Return: ~Copyable>(
        request: HTTPRequest,
        body: consuming HTTPClientRequestBody<Writer>?,
        options: RequestOptions,
        responseHandler: (HTTPResponse, consuming Reader) async throws -> Return
    ) async throws -> Return
}

// Swift 6.4 also suppresses the conformances of the associated types here, which Swift 6.3 cannot express.
extension HTTPClient where Self: ~Copyable & ~Escapable {
    public mutating func perform<Return: ~Copyable>(
        request: HTTPRequest,
        body: consuming HTTPClientRequestBody<Writer>? = nil,
        options: RequestOptions? = nil,
        responseHandler: (HTTPResponse, consuming Reader) async throws -> Return
    ) async throws -> Return {
        let options = options ?? defaultRequestOptions
        return try await perform(request: request, body: body, options: options, responseHandler: responseHandler)
    }
}

public struct HTTPClientRequestBody<Writer: CallerAsyncWriter & ~Copyable>: Sendable
where Writer.WriteElement == UInt8, Writer.FinalElement == HTTPFields?, Writer: SendableMetatype {
    public var isSeekable: Bool {
        switch writeBody {
        case .restartable: false
        case .seekable: true
        }
    }

    public let knownLength: Int64?

    private enum WriteBody {
        case restartable(@Sendable (consuming sending Writer) async throws -> Void)
        case seekable(@Sendable (Int64, consuming sending Writer) async throws -> Void)
    }
    private let writeBody: WriteBody

    private init(knownLength: Int64?, writeBody: WriteBody) {
        self.knownLength = knownLength
        self.writeBody = writeBody
    }

    public func produce(into writer: consuming sending Writer) async throws {
        switch writeBody {
        case .restartable(let writeBody): try await writeBody(writer)
        case .seekable(let writeBody): try await writeBody(0, writer)
        }
    }

    public func produce(offset: Int64, into writer: consuming sending Writer) async throws {
        switch writeBody {
        case .restartable: fatalError("Request body is not seekable")
        case .seekable(let writeBody): try await writeBody(offset, writer)
        }
    }

    public static func restartable(
        knownLength: Int64? = nil,
        _ body: @escaping @Sendable (consuming sending Writer) async throws -> Void
    ) -> Self {
        Self(knownLength: knownLength, writeBody: .restartable(body))
    }

    public static func seekable(
        knownLength: Int64? = nil,
        _ body: @escaping @Sendable (Int64, consuming sending Writer) async throws -> Void
    ) -> Self {
        Self(knownLength: knownLength, writeBody: .seekable(body))
    }
}
