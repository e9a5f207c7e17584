// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// The declarations of connect-swift 1 that the adapter and its tests use, with the same signatures.

public import Foundation

#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif

public typealias Headers = [String: [String]]
public typealias Trailers = [String: [String]]

public protocol HTTPClientInterface: Sendable {
    @discardableResult
    func unary(
        request: HTTPRequest<Data?>,
        onMetrics: @escaping @Sendable (HTTPMetrics) -> Void,
        onResponse: @escaping @Sendable (HTTPResponse) -> Void
    ) -> Cancelable

    func stream(
        request: HTTPRequest<Data?>,
        responseCallbacks: ResponseCallbacks
    ) -> RequestCallbacks<Data>
}

public enum HTTPMethod: String, Sendable {
    case get = "GET"
    case post = "POST"
}

public enum IdempotencyLevel: Sendable {
    case unknown
    case noSideEffects
    case idempotent
}

public struct HTTPRequest<Input: Sendable>: Sendable {
    public let url: URL
    public let headers: Headers
    public let message: Input
    public let method: HTTPMethod
    public let trailers: Trailers?
    public let idempotencyLevel: IdempotencyLevel

    public init(
        url: URL,
        headers: Headers,
        message: Input,
        method: HTTPMethod,
        trailers: Trailers?,
        idempotencyLevel: IdempotencyLevel
    ) {
        self.url = url
        self.headers = headers
        self.message = message
        self.method = method
        self.trailers = trailers
        self.idempotencyLevel = idempotencyLevel
    }
}

public struct HTTPResponse: Sendable {
    public let code: Code
    public let headers: Headers
    public let message: Data?
    public let trailers: Trailers
    public let error: (any Swift.Error)?
    public let tracingInfo: TracingInfo?

    public struct TracingInfo: Equatable, Sendable {
        public let httpStatus: Int

        public init(httpStatus: Int) {
            self.httpStatus = httpStatus
        }
    }

    public init(
        code: Code,
        headers: Headers,
        message: Data?,
        trailers: Trailers,
        error: (any Swift.Error)?,
        tracingInfo: TracingInfo?
    ) {
        self.code = code
        self.headers = headers
        self.message = message
        self.trailers = trailers
        self.error = error
        self.tracingInfo = tracingInfo
    }
}

public struct HTTPMetrics: Sendable {
    public let taskMetrics: URLSessionTaskMetrics?

    public init(taskMetrics: URLSessionTaskMetrics?) {
        self.taskMetrics = taskMetrics
    }
}

public struct Cancelable: Sendable {
    public let cancel: @Sendable () -> Void

    public init(cancel: @escaping @Sendable () -> Void) {
        self.cancel = cancel
    }
}

public final class RequestCallbacks<T: Sendable>: Sendable {
    public let cancel: @Sendable () -> Void
    public let sendData: @Sendable (T) -> Void
    public let sendClose: @Sendable () -> Void

    public init(
        cancel: @escaping @Sendable () -> Void,
        sendData: @escaping @Sendable (T) -> Void,
        sendClose: @escaping @Sendable () -> Void
    ) {
        self.cancel = cancel
        self.sendData = sendData
        self.sendClose = sendClose
    }
}

public final class ResponseCallbacks: Sendable {
    public let receiveResponseHeaders: @Sendable (Headers) -> Void
    public let receiveResponseData: @Sendable (Data) -> Void
    public let receiveResponseMetrics: @Sendable (HTTPMetrics) -> Void
    public let receiveClose: @Sendable (Code, Trailers, (any Swift.Error)?) -> Void

    public init(
        receiveResponseHeaders: @escaping @Sendable (Headers) -> Void,
        receiveResponseData: @escaping @Sendable (Data) -> Void,
        receiveResponseMetrics: @escaping @Sendable (HTTPMetrics) -> Void,
        receiveClose: @escaping @Sendable (Code, Trailers, (any Swift.Error)?) -> Void
    ) {
        self.receiveResponseHeaders = receiveResponseHeaders
        self.receiveResponseData = receiveResponseData
        self.receiveResponseMetrics = receiveResponseMetrics
        self.receiveClose = receiveClose
    }
}

public struct ConnectError: Swift.Error, Sendable {
    public let code: Code
    public let message: String?
    public let exception: (any Swift.Error)?

    public init(code: Code, message: String?, exception: (any Swift.Error)? = nil) {
        self.code = code
        self.message = message
        self.exception = exception
    }
}

public enum Code: Int, CaseIterable, Equatable, Sendable {
    case ok = 0
    case canceled = 1
    case unknown = 2
    case invalidArgument = 3
    case deadlineExceeded = 4
    case notFound = 5
    case alreadyExists = 6
    case permissionDenied = 7
    case resourceExhausted = 8
    case failedPrecondition = 9
    case aborted = 10
    case outOfRange = 11
    case unimplemented = 12
    case internalError = 13
    case unavailable = 14
    case dataLoss = 15
    case unauthenticated = 16

    public static func fromHTTPStatus(_ status: Int) -> Self {
        switch status {
        case 200: .ok
        case 400: .internalError
        case 401: .unauthenticated
        case 403: .permissionDenied
        case 404: .unimplemented
        case 429, 502, 503, 504: .unavailable
        default: .unknown
        }
    }
}
