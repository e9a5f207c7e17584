public import FoundationForNetworking
public import HTTPTypes
import NetworkingCalls
public import NetworkingCore
import NetworkingTransfers

/// A `ClientTransport` of a client that swift-openapi-generator has generated, over any stack.
///
/// The file `Documentation/Adapters/OpenAPIRuntime.swift`, which an app copies, names it `StackTransport` and declares
/// the conformance to `ClientTransport`: `Client(serverURL: url, transport: StackTransport(over: network))`.
///
/// - The identifier of the operation is the `HTTPRequestData.route` of the request, which names it in metrics, traces
///   and logs.
/// - The body of a request is sent as it is read. A body that can be read once is sent once: `retry`, redirects and
///   `hedged` do not repeat it.
/// - The body of a success (200 to 299) is read as the client asks for it. Any other body is collected, up to 1 MiB, so
///   that `retry` can repeat the request. A longer one fails with `NetworkingError.Kind.tooLarge`.
/// - Each status is a response. The client decodes it as the OpenAPI document says.
/// - Cancelling the task of the client ends the exchange in both directions. Releasing a body that was not read to its
///   end also ends it.
public struct OpenAPITransport<Body: OpenAPIBody>: Sendable {
    private let network: any NetworkingComponent

    /// Creates a transport over a stack.
    ///
    /// - Parameter network: The stack. Its `server` completes a relative server URL of the client. An absolute one
    ///   takes precedence over it.
    public init(over network: some NetworkingComponent) {
        self.network = network
    }

    /// Sends the request of an operation through the stack.
    ///
    /// - Parameters:
    ///   - request: The method, the path below the base URL, and the header fields.
    ///   - body: The body, if there is one.
    ///   - baseURL: The server and the prefix of the path.
    ///   - operationID: The identifier of the operation in the OpenAPI document.
    /// - Returns: The response as soon as its head has arrived, and its body; `nil` for a response to HEAD and for one
    ///   with status 204 or 304.
    /// - Throws: The errors of the stack, for no status. Their kind is `NetworkingError.Kind.unencodableBody` if the
    ///   body cannot be read or does not have its stated length, and `NetworkingError.Kind.bodyNotReplayable` if the
    ///   stack reads it twice although it can be read once.
    public func send(
        _ request: HTTPRequest,
        body: Body?,
        baseURL: URL,
        operationID: String
    ) async throws -> (HTTPResponse, Body?) {
        var message = HTTPRequestData(request, baseURL: baseURL)
        message.route = operationID
        try await message.setBody(body)
        return try await network.openAPIResponse(to: message)
    }
}

extension NetworkingComponent {
    /// Sends a request and returns the response and its body, in the types of a generated client.
    func openAPIResponse<Body: OpenAPIBody>(to request: HTTPRequestData) async throws -> (HTTPResponse, Body?) {
        let (response, stream) = try await self.response(of: request, streaming: .successful)
        guard !response.isBodyless else {
            // Releasing the stream before its end would cancel the exchange.
            var chunks = stream?.makeAsyncIterator()
            while try await chunks?.next() != nil {}
            return (response.http, nil)
        }
        return (response.http, Body(chunks: OpenAPIChunks(of: response, stream)))
    }
}

extension HTTPResponseData {
    /// Whether HTTP defines that the response has no body (RFC 9110 section 6.4.1).
    fileprivate var isBodyless: Bool {
        request.method == .head || status == .noContent || status == .notModified
    }
}

extension HTTPRequestData {
    /// The maximum length of a body that is read into memory before it is sent.
    private static var maximumInMemory: Int64 { 64 << 10 }

    /// Sets the body of an operation.
    ///
    /// A short body that can be replayed is read into memory, so that modifiers can sign, compare and log it. Any other
    /// body is read while it is sent.
    mutating func setBody(_ body: (some OpenAPIBody)?) async throws {
        guard let body else { return }
        let (length, isReplayable) = (body.byteCount, body.isReplayable)
        guard length ?? 0 >= 0 else {
            throw NetworkingError(
                .unencodableBody,
                request: self,
                reason:
                    "The body of the operation states a negative length (\(length ?? 0)). State the correct length, or "
                    + "none."
            )
        }
        let contentType = headerFields[.contentType] ?? "application/octet-stream"
        guard isReplayable else {
            self.body = .stream(body, length: length, contentType: contentType)
            return
        }
        let stream = RequestBody.stream(length: length, contentType: contentType) { body }
        guard let length, length <= Self.maximumInMemory else {
            self.body = stream
            return
        }
        do {
            self.body = .data(try await stream.collect(upTo: Int(length)), contentType: contentType)
        } catch let failure as RequestBody.Failure {
            throw failure.error(of: self)
        }
    }
}
