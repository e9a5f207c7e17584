public import FoundationForNetworking
public import HTTPTypes

/// A response: status, header fields and body, and details of the exchange.
///
/// ```swift
/// let response = try await network.data(request)
/// print(response.status.code, response.headerFields[.contentType] ?? "", response.data.count)
/// ```
public struct HTTPResponseData: Sendable {
    // One reference, because every part of a stack passes the response on.
    @usableFromInline var content: CopyOnWrite<Content>

    /// Creates a response, for transports and stubs.
    ///
    /// - Parameters:
    ///   - request: The request that the response belongs to.
    ///   - status: The status.
    ///   - headerFields: The header fields.
    ///   - data: The body.
    public init(
        request: HTTPRequestData,
        status: HTTPResponse.Status = .ok,
        headerFields: HTTPFields = [:],
        data: Data = Data()
    ) {
        self.init(
            request: request,
            http: HTTPResponse(status: status, headerFields: headerFields),
            body: .collected(data)
        )
    }

    /// Creates a response from its parts, for transports.
    ///
    /// - Parameters:
    ///   - request: The request that the response belongs to.
    ///   - http: The status and header fields.
    ///   - body: The body.
    public init(request: HTTPRequestData, http: HTTPResponse, body: ResponseBody) {
        content = CopyOnWrite(Content(http: http, body: body, request: request.outsideStack))
    }

    /// The status and header fields.
    public var http: HTTPResponse {
        _read { yield content.value.http }
        _modify { yield &content.value.http }
    }

    /// The body, or the number of bytes that the request's sink received.
    public var body: ResponseBody {
        _read { yield content.value.body }
        _modify { yield &content.value.body }
    }

    /// The status.
    public var status: HTTPResponse.Status {
        get { content.value.status }
        set { content.value.http.status = newValue }
    }

    /// The header fields.
    public var headerFields: HTTPFields {
        _read { yield content.value.http.headerFields }
        _modify { yield &content.value.http.headerFields }
    }

    /// The bytes that were collected in memory; empty if a sink received them.
    public var data: Data {
        get { body.data ?? Data() }
        set { body = .collected(newValue) }
    }

    /// The request as the caller created it.
    public package(set) var request: HTTPRequestData {
        get { content.value.request }
        set { content.value.request = newValue }
    }

    /// The request that was sent, as the stack rewrote it; after redirects, the last request.
    public var sentRequest: HTTPRequestData {
        get { content.value.sentRequest }
        set { content.value.sentRequest = newValue.outsideStack }
    }

    /// The decoder of the stack or of the request; `nil` if neither names one.
    var decoder: (any BodyDecoder)? {
        content.value.decoder ?? content.value.sentRequest.decoder
    }

    /// Sets the request as the caller created it, and the decoder that the stack has for it.
    mutating func complete(with request: HTTPRequestData, decoder: (any BodyDecoder)?) {
        // The caller may send its request again for another user.
        content.value.request = request.withoutUsers
        if decoder != nil {
            content.value.decoder = decoder
        }
    }

    /// The URL that the response came from, after redirects.
    ///
    /// It has no fragment, so a redirect does not inherit that of the first URL (RFC 9110 section 10.2.2). An app that
    /// shows the page keeps its fragment itself. The fragment of a redirect is in the `Location` of its response.
    public var url: URL? {
        sentRequest.url
    }

    /// The redirects that led here, oldest first.
    public var redirects: [Redirect] {
        get { content.value.redirects }
        set { content.value.redirects = newValue }
    }

    /// The principal that the response belongs to.
    ///
    /// Parts of a stack that store or share responses compare it with the principal that they looked up.
    public var principal: Principal? {
        get { content.value.principal }
        set { content.value.principal = newValue }
    }

    /// Whether the request's sink was offered the head of this response.
    ///
    /// ``HTTPRequestData/deliver(_:body:)`` and `deliver(to:for:)` set it. If it is `false`, the outermost part of the
    /// stack delivers a body in memory to the sink. A modifier that needs the body in the sink earlier calls
    /// `deliver(to:for:)`.
    public package(set) var wasOfferedToSink: Bool {
        get { content.value.wasOfferedToSink }
        set { content.value.wasOfferedToSink = newValue }
    }

    /// A metadata value that a component has set on the response, or its default.
    ///
    /// - Parameter metadata: The type that declares it.
    public subscript<Metadata: ResponseMetadata>(metadata metadata: Metadata.Type) -> Metadata.Value {
        @inlinable get {
            content.value.metadata.value(for: ObjectIdentifier(metadata), as: Metadata.Value.self)
                ?? metadata.defaultValue
        }
        @inlinable set { content.value.metadata.set(newValue, for: .type(metadata)) }
    }

    /// What the reference of a response refers to.
    @usableFromInline
    struct Content: Sendable {
        var http: HTTPResponse {
            didSet { status = http.status }
        }
        /// The status of `http`, which is read from text each time.
        private(set) var status: HTTPResponse.Status
        var body: ResponseBody
        var request: HTTPRequestData
        var sentRequest: HTTPRequestData
        var redirects: [Redirect] = []
        var principal: Principal?
        var wasOfferedToSink = false
        var decoder: (any BodyDecoder)?
        @usableFromInline var metadata = TypedValues()

        init(http: HTTPResponse, body: ResponseBody, request: HTTPRequestData) {
            self.http = http
            status = http.status
            self.body = body
            self.request = request
            sentRequest = request
        }
    }
}

extension HTTPResponseData {
    /// One step of a chain of redirects.
    public struct Redirect: Sendable, Hashable {
        /// The request that was redirected.
        public let request: HTTPRequestData
        /// The head of the redirect response.
        public let response: HTTPResponse

        /// Creates a step.
        ///
        /// - Parameters:
        ///   - request: The request that was redirected.
        ///   - response: The head of the redirect response.
        public init(request: HTTPRequestData, response: HTTPResponse) {
            self.request = request.outsideStack
            self.response = response
        }
    }
}

extension HTTPResponseData.Redirect: CustomStringConvertible, CustomReflectable {
    /// The status and the redirected request.
    public var description: String {
        "\(request.redactingMarkedSecrets(in: response.status.text)) \(request)"
    }

    /// The contents of a dump, without secrets.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "request": request,
                "status": request.redactingMarkedSecrets(in: "\(response.status)"),
                "headerFields": request.printable(response.headerFields),
            ]
        )
    }
}

extension HTTPResponseData: Hashable {
    /// Compares status, header fields and body.
    ///
    /// The requests of the responses do not count.
    public static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.http == rhs.http && lhs.body == rhs.body
    }

    /// Hashes the parts that equality compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(http)
        hasher.combine(body)
    }
}

extension HTTPResponseData: CustomStringConvertible, CustomReflectable {
    /// The status, the length of the body, and the request without secrets:
    /// `200 OK, 1024 bytes, GET https://api.example.com/users/42`.
    public var description: String {
        "\(sentRequest.redactingMarkedSecrets(in: status.text)), \(body.count) bytes, \(sentRequest)"
    }

    /// The contents of a dump, without secrets.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "status": sentRequest.redactingMarkedSecrets(in: "\(status)"),
                "headerFields": sentRequest.printable(headerFields),
                "body": "\(body)",
                "request": request.description,
            ]
        )
    }
}

/// The body of a response, after it has arrived.
public enum ResponseBody: Sendable, Hashable {
    /// The body was collected in memory.
    case collected(Data)
    /// The body went to the request's sink, which received this many bytes.
    case delivered(byteCount: Int64)

    /// The bytes; `nil` if a sink received them.
    public var data: Data? {
        switch self {
        case .collected(let data): data
        case .delivered: nil
        }
    }

    /// The number of bytes in the body.
    public var count: Int64 {
        switch self {
        case .collected(let data): Int64(data.count)
        case .delivered(let byteCount): byteCount
        }
    }
}

extension ResponseBody: CustomStringConvertible, CustomReflectable {
    /// The place and the number of the bytes, never the bytes themselves.
    public var description: String {
        switch self {
        case .collected(let data): "collected, \(data.count) bytes"
        case .delivered(let byteCount): "delivered, \(byteCount) bytes"
        }
    }

    /// The contents of a dump, without secrets.
    public var customMirror: Mirror {
        Mirror(self, children: ["count": count])
    }
}
