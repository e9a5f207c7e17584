// Copy this file into a target that has a client of connect-swift. It needs the products Connect of connect-swift and
// Networking of swift-networking.

import Connect
import Foundation
import HTTPTypes
import Networking

/// Sends the calls of a Connect client through a stack:
/// `ProtocolClient(httpClient: StackHTTPClient(over: network), config: config)`.
///
/// It is for the protocols Connect and gRPC-Web. gRPC needs trailers, which a stack does not pass on.
struct StackHTTPClient: HTTPClientInterface {
    private let network: AnyNetworkingComponent
    private let queue = DispatchQueue(label: "StackHTTPClient")

    init(over network: some NetworkingComponent) {
        self.network = AnyNetworkingComponent(network)
    }

    @discardableResult
    func unary(
        request: Connect.HTTPRequest<Data?>,
        onMetrics: @escaping @Sendable (HTTPMetrics) -> Void,
        onResponse: @escaping @Sendable (Connect.HTTPResponse) -> Void
    ) -> Cancelable {
        let message = HTTPRequestData(connect: request, body: request.message.map { .data($0) })
        let call = network.callback(queue: queue) { network in
            try await network.data(message)
        } completion: { result in
            onResponse(Connect.HTTPResponse(result))
            onMetrics(HTTPMetrics(taskMetrics: nil))
        }
        return Cancelable { call.cancel() }
    }

    func stream(
        request: Connect.HTTPRequest<Data?>,
        responseCallbacks: ResponseCallbacks
    ) -> RequestCallbacks<Data> {
        // Connect does not wait for a write, so messages that the server has not accepted are in memory.
        let (chunks, writer) = AsyncStream.makeStream(of: Data.self)
        if let first = request.message {
            writer.yield(first)
        }
        let message = HTTPRequestData(connect: request, body: .stream(chunks))
        let call = network.callback(queue: queue) { network in
            try await network.stream(message) { response, chunks in
                responseCallbacks.receiveResponseHeaders(Headers(response.headerFields))
                for try await chunk in chunks {
                    responseCallbacks.receiveResponseData(chunk)
                }
                return Code.fromHTTPStatus(response.status.code)
            }
        } completion: { result in
            switch result {
            case .success(let code): responseCallbacks.receiveClose(code, [:], nil)
            case .failure(let error):
                let error = ConnectError(error)
                responseCallbacks.receiveClose(error.code, [:], error)
            }
            responseCallbacks.receiveResponseMetrics(HTTPMetrics(taskMetrics: nil))
        }
        return RequestCallbacks(
            cancel: { call.cancel() },
            sendData: { writer.yield($0) },
            sendClose: { writer.finish() }
        )
    }
}

extension HTTPRequestData {
    fileprivate init(connect request: Connect.HTTPRequest<some Sendable>, body: RequestBody?) {
        self.init(method: HTTPTypes.HTTPRequest.Method(rawValue: request.method.rawValue) ?? .post, url: request.url)
        for (name, values) in request.headers {
            guard let name = HTTPField.Name(name) else { continue }
            headerFields[name] = values.joined(separator: ", ")
        }
        self.body = body
        acceptedStatuses = .all
        // The procedure, such as /shop.v1.OrderService/GetOrder, has no identifiers in it.
        route = path
        switch request.idempotencyLevel {
        case .idempotent, .noSideEffects: isIdempotent = true
        default: break
        }
    }
}

extension Connect.HTTPResponse {
    fileprivate init(_ result: Result<HTTPResponseData, any Error>) {
        switch result {
        case .success(let response):
            self.init(
                code: .fromHTTPStatus(response.status.code),
                headers: Headers(response.headerFields),
                message: response.data,
                trailers: [:],
                error: nil,
                tracingInfo: TracingInfo(httpStatus: response.status.code)
            )
        case .failure(let error):
            let error = ConnectError(error)
            self.init(code: error.code, headers: [:], message: nil, trailers: [:], error: error, tracingInfo: nil)
        }
    }
}

extension Headers {
    fileprivate init(_ fields: HTTPFields) {
        self = [:]
        for field in fields {
            let values = field.value.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
            self[field.name.canonicalName, default: []] += values
        }
    }
}

extension ConnectError {
    fileprivate init(_ error: any Error) {
        let code: Code =
            switch error.networkingError?.kind {
            case _ where error.isCancelled: .canceled
            case .timeout, .deadline: .deadlineExceeded
            case .invalidRequest, .unencodableBody: .invalidArgument
            // As Connect reads the statuses 429 and 503.
            case .connection, .connectionLost, .nameResolution, .offline, .rejected: .unavailable
            case .tooLarge: .resourceExhausted
            case .unauthorized: .unauthenticated
            default: .unknown
            }
        self.init(code: code, message: error.localizedDescription, exception: error)
    }
}
