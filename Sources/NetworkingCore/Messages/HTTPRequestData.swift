public import FoundationForNetworking
public import HTTPTypes
import Synchronization

/// A request: the message that HTTP sends, and the options that the modifiers of a stack read.
///
/// ```swift
/// var request = HTTPRequestData(method: .post, path: "message", body: .json(message))
/// request.headerFields[.accept] = "application/json"
/// request.query.greeting = "Hello World"   // ?greeting=Hello%20World
/// ```
///
/// A request is sent as it was created: percent-encoding, trailing slashes, empty and repeated query items and their
/// order are kept. Scheme, authority and path may be left open, so that the `server` modifiers of a stack can fill them
/// in. When the request is sent, an open scheme becomes `https` and an open path becomes `/`. A request without an
/// authority fails.
///
/// The library checks a request before it reaches a transport. A request that HTTP does not allow fails with
/// ``NetworkingError/Kind/invalidRequest``. No setter traps, whatever value it receives.
public struct HTTPRequestData: Sendable, Identifiable {
    /// An identifier that is unique in this process, for logs and to distinguish requests.
    ///
    /// It is not part of equality.
    public struct ID: Sendable, Hashable, CustomStringConvertible {
        let number: UInt64

        // Process-wide, because the identifiers must be unique in the process; it has no other state.
        private static let last = Atomic<UInt64>(0)

        init() {
            number = RequestNumbering.next ?? Self.last.add(1, ordering: .relaxed).newValue
        }

        /// The identifier in at least six digits of base 36.
        public var description: String {
            let digits = String(number, radix: 36)
            return String(repeating: "0", count: max(0, 6 - digits.count)) + digits
        }
    }

    // One reference, because a stack copies a request about thirty times for each call.
    @usableFromInline var content: CopyOnWrite<Content>
    @usableFromInline package var state: State = []
    /// The number that identifies an exchange to listeners; 0 if the request has no listeners.
    package internal(set) var exchangeNumber: UInt32 = 0
    /// The limiters with a permit for the request.
    var heldLimits: HeldLimits?
    /// The time limit that a component upstream enforces; `nil` if `timeout` and `deadline` do so themselves.
    public package(set) var exchangeLimit: ExchangeLimit?

    /// Creates a request from its parts.
    ///
    /// - Parameters:
    ///   - method: The method, GET by default.
    ///   - scheme: `https` or `http`; `nil` leaves it open.
    ///   - authority: The host, and the port if it is not the scheme's default; `nil` leaves it open.
    ///   - path: The path, with or without its leading slash, followed by the query if it contains a question mark;
    ///     `nil` leaves the path open. Values that are interpolated in a literal are escaped.
    ///   - headerFields: The header fields.
    ///   - body: The body.
    public init(
        method: HTTPRequest.Method = .get,
        scheme: String? = nil,
        authority: String? = nil,
        path: RequestPath? = nil,
        headerFields: HeaderFields = HeaderFields(),
        body: RequestBody? = nil
    ) {
        let line = Line(
            method: method,
            scheme: scheme?.asFieldValue,
            authority: authority?.asFieldValue,
            target: path.map { Self.target(path: $0.text).asFieldValue }
        )
        content = CopyOnWrite(Content(id: ID(), line: line, headerFields: headerFields, body: body))
        if path?.hasInvalidSegment == true {
            state.insert(.hasInvalidSegment)
        }
    }

    /// Creates a request from its parts, with a path in a string.
    ///
    /// - Parameters:
    ///   - method: The method, GET by default.
    ///   - scheme: `https` or `http`; `nil` leaves it open.
    ///   - authority: The host, and the port if it is not the scheme's default; `nil` leaves it open.
    ///   - path: The path, with or without its leading slash, followed by the query if it contains a question mark;
    ///     `nil` leaves the path open. Slashes, question marks and escapes in it keep their meaning. Characters that a
    ///     path may not contain are percent-encoded.
    ///   - headerFields: The header fields.
    ///   - body: The body.
    @_disfavoredOverload
    public init(
        method: HTTPRequest.Method = .get,
        scheme: String? = nil,
        authority: String? = nil,
        path: String?,
        headerFields: HeaderFields = HeaderFields(),
        body: RequestBody? = nil
    ) {
        // Disfavored, so that a literal becomes a path with escaped values.
        self.init(
            method: method,
            scheme: scheme,
            authority: authority,
            path: path.map { RequestPath($0) },
            headerFields: headerFields,
            body: body
        )
    }

    /// Creates a request that has only the identifier, the number and the line of another request.
    private init(naming other: HTTPRequestData) {
        let content = other.content.value
        self.content = CopyOnWrite(Content(id: content.id, line: content.line, number: content.number))
        state = other.state.intersection([.isResolved, .isForServer, .hasServer, .hasInvalidSegment])
    }

    /// Creates a request to a URL.
    ///
    /// A relative URL leaves scheme and authority open. The fragment is not sent.
    ///
    /// - Parameters:
    ///   - method: The method, GET by default.
    ///   - url: The URL.
    ///   - headerFields: The header fields.
    ///   - body: The body.
    public init(
        method: HTTPRequest.Method = .get,
        url: URL,
        headerFields: HeaderFields = HeaderFields(),
        body: RequestBody? = nil
    ) {
        self.init(method: method, headerFields: headerFields, body: body)
        self.url = url
    }

    /// A copy with a new identifier, as another caller would send it.
    package var withNewID: HTTPRequestData {
        var request = self
        request.content.value.id = ID()
        return request
    }

    /// The identifier of this value and of every copy of it.
    public var id: ID {
        content.value.id
    }

    /// The method.
    public var method: HTTPRequest.Method {
        get { content.value.line.method }
        set { line.method = newValue }
    }

    /// The scheme; `nil` if it is open.
    public var scheme: String? {
        get { content.value.line.scheme }
        set { line.scheme = newValue?.asFieldValue }
    }

    /// The host, and the port if there is one: `api.example.com:8443`; `nil` if it is open.
    public var authority: String? {
        get { content.value.line.authority }
        set {
            line.authority = newValue?.asFieldValue
            state.remove(.isForServer)
        }
    }

    /// The path and query as they will be sent, with an empty path if it is open; `nil` if there is no query either.
    package var target: String? {
        get { content.value.line.target }
        set { line.target = newValue?.asFieldValue }
    }

    private var line: Line {
        get { content.value.line }
        _modify {
            state.remove(.isChecked)
            yield &content.value.line
        }
    }

    /// The header fields.
    ///
    /// The transport sets `Host`, `Content-Length` and the fields that concern the connection.
    @inlinable public var headerFields: HeaderFields {
        _read { yield content.value.headerFields }
        _modify {
            state.remove(.isChecked)
            yield &content.value.headerFields
        }
    }

    /// The body, if there is one.
    public var body: RequestBody? {
        get { content.value.body }
        _modify {
            state.remove(.isChecked)
            yield &content.value.body
        }
    }

    // Not an option, because `numbered` sets it for every request, and the first option of a request takes an allocation.
    /// The number that `numbered` gave this request; `nil` if no `numbered` has.
    public var number: Int? {
        get { content.value.number }
        set { content.value.number = newValue }
    }

    /// The recorder of the call; `nil` if the call is not measured.
    ///
    /// It is not an option, because setting it must not copy the options.
    package var recorder: (any CallRecording)? {
        get { content.value.recorder }
        set {
            guard newValue != nil || content.value.recorder != nil else { return }
            content.value.recorder = newValue
        }
    }

    /// The server of each credential.
    ///
    /// `nil` if no part of the stack has credentials and the stack names no server other than the request's own.
    var credentialServers: CopyOnWrite<CredentialServers>? {
        get { content.value.credentialServers }
        _modify { yield &content.value.credentialServers }
    }

    /// The options; `nil` if none has been set.
    ///
    /// Read single options through this property, so that only the one option is copied.
    @inlinable package var box: CopyOnWrite<RequestSettings>? {
        _read { yield content.value.options }
    }

    /// The options, created when they are first written.
    package var settings: RequestSettings {
        _read {
            if content.value.options != nil {
                yield content.value.options!.value
            } else {
                yield RequestSettings.defaults
            }
        }
        _modify {
            if content.value.options == nil {
                content.value.options = CopyOnWrite(RequestSettings())
            }
            yield &content.value.options!.value
        }
    }

    /// Sets the options of a request that has none.
    ///
    /// They are copied when the request changes them.
    mutating func share(_ settings: CopyOnWrite<RequestSettings>) {
        content.value.options = settings
    }

    /// The query, with access to its items by name.
    public var query: RequestQuery {
        get { RequestQuery(encoded: RequestTarget.split(target ?? "").query) }
        set { target = RequestTarget.join(path: RequestTarget.split(target ?? "").path, query: newValue.encoded) }
    }
}

extension HTTPRequestData {
    /// The message, and the values that a stack sets once for each request.
    @usableFromInline
    struct Content: Sendable {
        var id: ID
        var line: Line
        @usableFromInline var headerFields = HeaderFields()
        var body: RequestBody?
        var number: Int?
        var recorder: (any CallRecording)?
        var credentialServers: CopyOnWrite<CredentialServers>?
        @usableFromInline var options: CopyOnWrite<RequestSettings>?
    }

    /// The method, the scheme, the authority and the target.
    // Strings, because reading a pseudo header field of swift-http-types also copies its name, which takes 200
    // instructions.
    struct Line: Sendable, Hashable {
        var method: HTTPRequest.Method
        var scheme: String?
        var authority: String?
        /// An open path is stored as an empty one, so that a query can be set before the path.
        var target: String?
    }

    /// The progress of a request through a stack.
    @usableFromInline
    package struct State: OptionSet, Sendable {
        @usableFromInline package let rawValue: UInt16

        @usableFromInline
        package init(rawValue: UInt16) {
            self.rawValue = rawValue
        }

        /// The outermost part of a stack has taken charge of the request; the parts upstream only pass it on.
        @usableFromInline static let isUnderway = State(rawValue: 1)
        /// A chain has rewritten the request.
        ///
        /// This happens once, even if the request is sent again.
        static let isResolved = State(rawValue: 2)
        /// The request is valid and has not been changed since it was checked.
        @usableFromInline static let isChecked = State(rawValue: 4)
        /// A chain is rewriting the request.
        static let isResolving = State(rawValue: 8)
        /// The caller left the authority open, so the request belongs to the stack's server.
        static let isRelative = State(rawValue: 16)
        /// The authority is one that the stack names.
        static let isForServer = State(rawValue: 32)
        /// A modifier follows the redirects, so the transport does not need to.
        package static let hasRedirectsFollowed = State(rawValue: 64)
        /// A modifier ends an exchange that is silent for too long, so the transport does not need to.
        package static let hasSilenceLimited = State(rawValue: 128)
        /// The stack names a server.
        static let hasServer = State(rawValue: 256)
        /// A modifier handles the Authorization field itself.
        package static let isAuthorized = State(rawValue: 512)
        /// The time that each part of a stack takes is measured.
        @usableFromInline package static let isMeasured = State(rawValue: 1_024)
        /// An interpolated value made a segment of the path empty or a dot segment.
        ///
        /// It stays when the path is changed, because a prefix does not make the value valid.
        static let hasInvalidSegment = State(rawValue: 2_048)
        /// A modifier handles the cookies, so the transport does not use its own storage.
        static let hasCookiesHandled = State(rawValue: 4_096)
    }

    /// Whether a modifier of the stack sends and stores the cookies of the request, as `cookies(in:)` does.
    ///
    /// If it is `true`, a transport with its own cookie storage adds no cookie to the request and stores none of
    /// its response.
    public package(set) var areCookiesHandled: Bool {
        get { state.contains(.hasCookiesHandled) }
        set { if newValue { state.insert(.hasCookiesHandled) } else { state.remove(.hasCookiesHandled) } }
    }

    /// Whether a modifier of the stack cancels an exchange that is silent for too long.
    ///
    /// If it is `true`, a transport does not need its own timeout. Otherwise a transport ends an exchange in which no
    /// byte moves in either direction for ``allowedSilence``, with a ``NetworkingError`` of kind
    /// ``NetworkingError/Kind/timeout``. The time in which the request's sink is busy does not count. `timeout(_:)` and
    /// `timeout(head:idle:)` set it for the transport below them.
    public var isSilenceLimited: Bool {
        state.contains(.hasSilenceLimited)
    }

    /// Whether the authority is one that the stack names.
    var isForServer: Bool {
        state.contains(.isForServer)
    }

    /// Whether the stack names a server.
    var hasServer: Bool {
        state.contains(.hasServer)
    }

    /// Whether a modifier handles the Authorization field itself.
    package var isAuthorized: Bool {
        get { state.contains(.isAuthorized) }
        set { if newValue { state.insert(.isAuthorized) } else { state.remove(.isAuthorized) } }
    }

    @usableFromInline var isUnderway: Bool {
        state.contains(.isUnderway)
    }

    /// Records that a part of the stack receives the request.
    ///
    /// - Returns: The number for ``leave(_:)``.
    @usableFromInline
    func enter(_ part: any Any.Type) -> Int32 {
        recorder?.enter(part) ?? -1
    }

    @usableFromInline
    func leave(_ number: Int32) {
        recorder?.leave(number)
    }

    /// Whether the request is on its way through a stack and is not measured.
    @usableFromInline var isMerelyUnderway: Bool {
        state.intersection([.isUnderway, .isMeasured]) == .isUnderway
    }

    /// A compact copy for recorders that keep many requests: method, URL, route, number and identifier.
    package var compact: HTTPRequestData {
        var request = HTTPRequestData(naming: self)
        guard let box else { return request }
        let (route, secrets) = (box.value.route, box.value.secretQueryItems)
        if !box.value.secretValues.isEmpty { request.settings.secretValues = box.value.secretValues }
        if route != nil { request.route = route }
        if !secrets.isEmpty { request.settings.secretQueryItems = secrets }
        return request
    }

    /// Replaces the message and the known secrets with those of another request, and keeps the identifier and the
    /// options.
    package mutating func takeMessage(of other: HTTPRequestData) {
        line = other.line
        state.formUnion(other.state.intersection(.hasInvalidSegment))
        headerFields = other.headerFields
        body = other.body
        exchangeNumber = other.exchangeNumber
        guard let box = other.box else { return }
        if !box.value.secretQueryItems.isEmpty {
            settings.secretQueryItems.formUnion(box.value.secretQueryItems)
        }
        if !box.value.secretValues.isEmpty {
            settings.secretValues.formUnion(box.value.secretValues)
        }
    }

    /// A copy without listeners and without the caller's time limits, for background work on behalf of the request.
    package var detached: HTTPRequestData {
        var request = self
        request.recorder = nil
        request.heldLimits = nil
        request.exchangeLimit = nil
        // A timeout further out has ended with the caller's exchange, so the transport must watch for silence itself.
        request.state.subtract([.isMeasured, .hasSilenceLimited])
        if hasListeners {
            request.settings.observers = []
            request.settings.stackObservers = []
        }
        // The stack still traces the request.
        box?.value.trace?.startNewTrace(&request)
        return request
    }

    /// A copy without the state of the stack that can be sent again, for responses, errors and recordings.
    package var outsideStack: HTTPRequestData {
        var request = self
        request.state.subtract([
            .isUnderway, .hasRedirectsFollowed, .hasSilenceLimited, .isAuthorized, .isMeasured, .hasCookiesHandled,
        ])
        request.recorder = nil
        request.heldLimits = nil
        request.exchangeLimit = nil
        // Field by field, because reading the settings as a whole would copy them.
        if box?.value.stackObservers.isEmpty == false {
            request.settings.stackObservers = []
        }
        if box?.value.offeredSchemes.isEmpty == false {
            request.settings.offeredSchemes = []
        }
        if box?.value.trace != nil {
            request.settings.trace = nil
        }
        if box?.value.formerOrigins.isEmpty == false {
            request.settings.formerOrigins = []
        }
        if box?.value.cookieSession != nil {
            request.settings.cookieSession = nil
        }
        return request
    }

    /// A copy like ``outsideStack`` without the sink and the progress handler, which a recording would keep alive.
    package var forRecording: HTTPRequestData {
        var request = outsideStack
        if request.sink != nil { request.sink = nil }
        if request.progressHandler != nil { request.progressHandler = nil }
        return request
    }
}

extension String {
    /// The text as swift-http-types makes it valid: line breaks and NUL become spaces, and surrounding spaces are
    /// removed.
    fileprivate var asFieldValue: String {
        HTTPField.isValidValue(self) ? self : HTTPField(name: .location, value: self).value
    }
}

extension HTTPRequestData: Hashable {
    /// Compares method, URL, header fields, body, and the options that take part in comparisons.
    ///
    /// Identifiers, sinks, progress handlers and the other options do not count.
    public static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.line == rhs.line && lhs.headerFields == rhs.headerFields && lhs.body == rhs.body
            && lhs.settings.custom.identities == rhs.settings.custom.identities
    }

    /// Hashes the parts that equality compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(line)
        hasher.combine(headerFields)
        hasher.combine(body)
    }
}
