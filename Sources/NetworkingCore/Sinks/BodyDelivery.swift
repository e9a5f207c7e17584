public import FoundationForNetworking
public import HTTPTypes

/// The body of one response on its way from a transport to the request's sink or into memory.
///
/// A transport gets it from ``HTTPRequestData/deliver(_:body:)`` and passes it every chunk in order.
public struct BodyDelivery: ~Copyable {
    /// The maximum number of bytes that are collected in memory; `nil` if the request's sink receives the body.
    public let limit: Int64?

    /// The number of bytes that were received so far.
    public private(set) var byteCount: Int64 = 0

    private let request: HTTPRequestData
    private let head: HTTPResponse
    private let sink: (any ResponseSink)?
    private var collected = Data()

    fileprivate init(_ head: HTTPResponse, of request: HTTPRequestData, to sink: any ResponseSink) {
        (self.head, self.request, self.sink, limit) = (head, request, sink, nil)
    }

    fileprivate init(_ head: HTTPResponse, of request: HTTPRequestData, collectingUpTo limit: Int64) {
        (self.head, self.request, sink, self.limit) = (head, request, nil, limit)
    }

    /// Receives the next bytes of the body, and returns when it can receive more.
    ///
    /// - Parameter chunk: The bytes. An empty chunk is ignored.
    /// - Throws: The error of the sink, or a ``NetworkingError`` of kind ``NetworkingError/Kind/tooLarge`` if the
    ///   collected body would exceed the ``limit``. The transport passes the error on.
    public mutating func receive(_ chunk: Data) async throws {
        guard !chunk.isEmpty else { return }
        let length = byteCount + Int64(chunk.count)
        if let sink {
            try await sink.receive(chunk)
        } else {
            try checkLength(length)
            if collected.isEmpty {
                collected = chunk
            } else {
                collected.append(chunk)
            }
        }
        byteCount = length
    }

    /// Checks that a body of a length may be collected, before its bytes are received.
    ///
    /// Does nothing if the request's sink receives the body.
    ///
    /// - Parameter byteCount: The length that the head announces, or the number of bytes that the transport has
    ///   buffered.
    /// - Throws: A ``NetworkingError`` of kind ``NetworkingError/Kind/tooLarge`` if the length exceeds the ``limit``.
    public func checkLength(_ byteCount: Int64) throws {
        guard let limit, byteCount > limit else { return }
        throw NetworkingError.tooLarge(request, head: head, limit: limit)
    }

    /// The body that was collected.
    fileprivate var collectedBody: ResponseBody {
        // The indices of a response's data start at zero, and those of a slice do not.
        .collected(collected.startIndex == 0 ? collected : Data(collected))
    }
}

extension Error {
    /// A copy without the sink of the failed request, because a sink that stores its error would retain itself.
    fileprivate var withoutSink: any Error {
        guard var error = self as? NetworkingError else { return self }
        error.request.sink = nil
        error.response?.request.sink = nil
        error.response?.sentRequest.sink = nil
        return error
    }
}

extension BodyDelivery {
    /// Offers the head of a response to a sink and delivers the body as the sink decides.
    ///
    /// - Parameters:
    ///   - head: The head of the response.
    ///   - request: The request.
    ///   - sink: The sink.
    ///   - body: Passes the body on. It is not called if the sink refuses the body.
    /// - Returns: The body of the response.
    /// - Throws: The error of the sink or of `body`, or a ``NetworkingError`` of kind
    ///   ``NetworkingError/Kind/tooLarge``.
    static func deliver(
        _ head: HTTPResponse,
        of request: HTTPRequestData,
        to sink: any ResponseSink,
        _ body: nonisolated(nonsending) (inout BodyDelivery) async throws -> Void
    ) async throws -> ResponseBody {
        switch try await sink.offer(head) {
        case .refuse:
            return .delivered(byteCount: 0)
        case .collect(let limit):
            var delivery = BodyDelivery(head, of: request, collectingUpTo: limit)
            try await body(&delivery)
            return delivery.collectedBody
        case .take:
            var delivery = BodyDelivery(head, of: request, to: sink)
            do {
                try await body(&delivery)
                try await sink.finish()
                return .delivered(byteCount: delivery.byteCount)
            } catch {
                sink.fail(error.withoutSink)
                throw error
            }
        }
    }
}

extension HTTPRequestData {
    /// Delivers the body of a response to the request's sink or into memory, and returns the response.
    ///
    /// A transport that receives a body in chunks calls it once for each final head:
    ///
    /// ```swift
    /// struct ChunkedTransport: NetworkingTransport {
    ///     let chunks: [Data]
    ///
    ///     func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
    ///         try await request.deliver(HTTPResponse(status: .ok)) { delivery in
    ///             for chunk in chunks {
    ///                 try await delivery.receive(chunk)
    ///             }
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// The sink, if the request has one, is offered the head. A redirect that may be followed is not offered. If the
    /// sink takes the body, it receives the chunks and is notified once: `finish` when the closure returns, or `fail`
    /// when the closure or the sink throws. If it does not, or if there is no sink, the body is collected, up to
    /// ``BodyDelivery/limit``. If the sink refuses the body, the closure is not called, and the transport stops reading
    /// the body.
    ///
    /// - Parameters:
    ///   - head: The final head of the response, not one of an interim response.
    ///   - body: Passes the chunks of the body on, and throws if the body ends early.
    /// - Returns: The response. It is marked if the sink was offered the head, so that the stack does not offer it
    ///   again: return this response or a copy of it.
    /// - Throws: The error of the sink or of the closure, or a ``NetworkingError`` of kind
    ///   ``NetworkingError/Kind/tooLarge``.
    public func deliver(
        _ head: HTTPResponse,
        body: nonisolated(nonsending) (inout BodyDelivery) async throws -> Void
    ) async throws -> HTTPResponseData {
        guard let sink, redirects.limit == nil || !head.isRedirect else {
            var delivery = BodyDelivery(head, of: self, collectingUpTo: maximumResponseBytes)
            try await body(&delivery)
            return HTTPResponseData(request: self, http: head, body: delivery.collectedBody)
        }
        let delivered = try await BodyDelivery.deliver(head, of: self, to: sink, body)
        var response = HTTPResponseData(request: self, http: head, body: delivered)
        response.wasOfferedToSink = true
        return response
    }
}

extension HTTPResponseData {
    /// Delivers a collected body to a sink, unless the sink was offered the head of the response before.
    ///
    /// The outermost part of a stack calls it for every response. A modifier that wraps the request's sink in its own
    /// also calls it, because a component upstream, such as a cache, may return a body in memory:
    ///
    /// ```swift
    /// var response = try await upstream.send(counted)
    /// try await response.deliver(to: countingSink, for: counted)
    /// ```
    ///
    /// - Parameters:
    ///   - sink: The sink.
    ///   - request: The request.
    /// - Throws: The error of the sink, or a ``NetworkingError`` of kind ``NetworkingError/Kind/tooLarge``.
    public mutating func deliver(to sink: any ResponseSink, for request: HTTPRequestData) async throws {
        guard !wasOfferedToSink else { return }
        wasOfferedToSink = true
        guard case .collected(let data) = body else { return }
        body = try await BodyDelivery.deliver(http, of: request, to: sink) { try await $0.receive(data) }
    }
}
