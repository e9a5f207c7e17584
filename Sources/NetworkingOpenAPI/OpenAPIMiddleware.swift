public import FoundationForNetworking
public import HTTPTypes
import NetworkingCalls
public import NetworkingCore

/// A `ClientMiddleware` of a client that swift-openapi-generator has generated, made of any modifiers.
///
/// Use it for a client that keeps another transport. With ``OpenAPITransport``, the modifiers belong to the stack of
/// the transport. The file `Documentation/Adapters/OpenAPIRuntime.swift`, which an app copies, names it
/// `StackMiddleware` and declares the conformance to `ClientMiddleware`:
/// `Client(serverURL: url, transport: transport, middlewares: [StackMiddleware { $0.retry().logged() }])`.
///
/// - The modifiers are built once. Their state is shared by all operations.
/// - The stack ends in the rest of the client: the further middlewares and its transport. They receive the request as
///   the modifiers have rewritten it, and the body of the operation itself, unless a modifier has replaced it.
/// - A body that can be read once is passed on once. A modifier that sends it again gets an error of kind
///   `NetworkingError.Kind.bodyNotReplayable`.
/// - The errors of the transport reach the modifiers without the wrapper of the client, if the app has declared that
///   the wrapper is an `ErrorWrapper`.
/// - A redirect is a response. The transport of the client follows redirects or does not.
/// - Bodies are streamed, and statuses returned, as by ``OpenAPITransport``.
///
/// An operation returns when no `next` of it is running any more. So a modifier that shares one exchange between
/// operations, such as `deduplicated` and `cached`, is better placed in the stack of the transport: here, an operation
/// that is cancelled waits for the exchange that others share with it.
public struct OpenAPIMiddleware<Body: OpenAPIBody>: Sendable {
    /// The rest of the client: the further middlewares and the transport.
    public typealias Next = @concurrent @Sendable (HTTPRequest, Body?, URL) async throws -> (HTTPResponse, Body?)

    private let network: any NetworkingComponent

    /// Creates a middleware from the modifiers of a stack.
    ///
    /// - Parameter modify: Adds the modifiers to the rest of the client; called once.
    public init(_ modify: (any NetworkingComponent) -> any NetworkingComponent) {
        network = modify(RestOfClient())
    }

    /// Creates a middleware from a modifier.
    ///
    /// - Parameter modifier: The modifier.
    public init(_ modifier: some NetworkingModifier) {
        network = RestOfClient().modified(modifier)
    }

    /// Sends the request of an operation through the modifiers to the rest of the client.
    ///
    /// - Parameters:
    ///   - request: The method, the path below the base URL, and the header fields.
    ///   - body: The body, if there is one.
    ///   - baseURL: The server and the prefix of the path.
    ///   - operationID: The identifier of the operation in the OpenAPI document.
    ///   - next: The rest of the client.
    /// - Returns: The response as soon as its head has arrived, and its body.
    /// - Throws: The errors of the modifiers and of `next`.
    public func intercept(
        _ request: HTTPRequest,
        body: Body?,
        baseURL: URL,
        operationID: String,
        next: Next
    ) async throws -> (HTTPResponse, Body?) {
        var message = HTTPRequestData(request, baseURL: baseURL)
        message.route = operationID
        message.redirects = .never
        try await message.setBody(body)
        let operation = Operation(request: request, message: message, body: body, baseURL: baseURL)
        // The closure is valid only until this function returns, and a response keeps the options of its request.
        return try await withoutActuallyEscaping(next) { next in
            let calls = CallsOfNext(operation, next)
            message[.callsOfNext] = calls
            let result: Result<(HTTPResponse, Body?), any Error>
            do {
                result = .success(try await network.openAPIResponse(to: message))
            } catch {
                result = .failure(error)
            }
            await calls.end()
            return try result.get()
        }
    }

    /// An operation as the middleware has received it.
    struct Operation: Sendable {
        let request: HTTPRequest
        let message: HTTPRequestData
        let body: Body?
        let baseURL: URL

        /// Returns the request of a stack in the form that the rest of the client expects.
        ///
        /// The base URL stays as it is unless a modifier has changed the URL, because the transport may know it.
        func head(for sent: HTTPRequestData) -> (HTTPRequest, URL) {
            var head = request
            head.method = sent.method
            head.headerFields = sent.headerFields.httpFields
            guard sent.url != message.url else { return (head, baseURL) }
            var origin = HTTPRequestData()
            (origin.scheme, origin.authority) = (sent.scheme, sent.authority)
            guard let url = origin.url else { return (head, baseURL) }
            head.path = sent.requestTarget
            return (head, url)
        }
    }
}

/// The transport of the stack in a middleware.
private struct RestOfClient: NetworkingTransport {
    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        guard let calls = request[.callsOfNext] else {
            throw NetworkingError(
                .unimplemented,
                request: request,
                reason: "The request does not belong to an operation of a generated client, so the middleware has no "
                    + "transport for it. Send it over a stack of its own."
            )
        }
        return try await calls.exchange(request)
    }

    var stackPart: StackPart { StackPart(options: [.callsOfNext]) }
}

extension RequestOptionKey {
    /// The rest of the client, for one operation.
    fileprivate static let callsOfNext = RequestOption<(any ExchangeOfNext)?>(
        "callsOfNext",
        default: nil,
        affects: .nothing,
        isReported: false
    )
}
