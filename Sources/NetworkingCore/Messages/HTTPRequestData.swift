public import HTTPTypes
import Synchronization

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A request: what HTTP sends, and the options that the modifiers of a stack read.
///
/// ```swift
/// var request = HTTPRequestData(method: .post, path: "message", body: .json(message))
/// request.headerFields[.accept] = "application/json"
/// request.query.greeting = "Hello World"   // ?greeting=Hello%20World
/// ```
///
/// What was given is sent: percent-encoding, trailing slashes, empty and repeated query items and their order are
/// kept. Scheme, authority and path may be left open, for the `server` modifiers of a stack to fill; what is still
/// open when it is sent becomes `https` and `/`, and a request without an authority is an error.
///
/// A request is checked before a transport sees it; what HTTP does not allow fails with
/// ``NetworkingError/Kind/invalidRequest``. No setter traps on a value from outside.
public struct HTTPRequestData: Sendable, Identifiable {
    /// A label that is unique in this process, for logs and for keeping requests apart.
    ///
    /// It is not part of equality.
    public struct ID: Sendable, Hashable, CustomStringConvertible {
        let number: UInt64

        // Process-wide, because it is what makes labels unique; it carries no other state.
        private static let last = Atomic<UInt64>(0)

        init() {
            number = RequestNumbering.next ?? Self.last.add(1, ordering: .relaxed).newValue
        }

        /// The label in at least six digits of base 36.
        public var description: String {
            let digits = String(number, radix: 36)
            return String(repeating: "0", count: max(0, 6 - digits.count)) + digits
        }
    }

    /// The label of this value and of every copy of it.
    public private(set) var id: ID

    private var line: CopyOnWrite<Line> {
        didSet { state.remove(.isChecked) }
    }

    /// What stands before the header fields.
    // Strings, since reading one of swift-http-types' pseudo header fields copies its name too, 200 instructions.
    private struct Line: Sendable, Hashable {
        var method: HTTPRequest.Method
        var scheme: String?
        var authority: String?
        /// An open path is stored as an empty one, so that a query has its place before there is a path.
        var target: String?
    }

    /// The header fields.
    ///
    /// `Host`, `Content-Length` and the fields about the connection belong to the transport.
    public var headerFields: HeaderFields {
        didSet { state.remove(.isChecked) }
    }

    /// The body, if there is one.
    public var body: RequestBody? {
        didSet { state.remove(.isChecked) }
    }

    @usableFromInline package var state: State = []
    /// What tells one exchange from others, for who listens; 0 where nobody does.
    package internal(set) var exchangeNumber: UInt32 = 0
    /// The recorder of the call that it is part of; nil while the call is not measured.
    ///
    /// No option, since setting it must not copy those.
    package var recorder: (any CallRecording)?
    /// The server of each credential; nil while no part of the stack has any, and the stack names no server but the
    /// request's own.
    var credentialServers: CopyOnWrite<CredentialServers>?

    /// The limiters whose permits it holds.
    var heldLimits: HeldLimits?
    /// The options; nil while none was set.
    ///
    /// Read them through this, which copies one and not all.
    @usableFromInline package private(set) var box: CopyOnWrite<RequestSettings>?

    /// Creates a request from its parts.
    ///
    /// - Parameters:
    ///   - method: The method, GET by default.
    ///   - scheme: `https` or `http`; nil leaves it open.
    ///   - authority: The host, and the port if it is not the scheme's own; nil leaves it open.
    ///   - path: The path, with or without its leading slash, and the query if there is a question mark; nil leaves
    ///     the path open.
    ///   - headerFields: The header fields.
    ///   - body: The body.
    public init(
        method: HTTPRequest.Method = .get,
        scheme: String? = nil,
        authority: String? = nil,
        path: String? = nil,
        headerFields: HeaderFields = HeaderFields(),
        body: RequestBody? = nil
    ) {
        id = ID()
        line = CopyOnWrite(
            Line(
                method: method,
                scheme: scheme?.asFieldValue,
                authority: authority?.asFieldValue,
                target: path.map { Self.target(path: $0).asFieldValue }
            )
        )
        self.headerFields = headerFields
        self.body = body
    }

    /// A request with the label and the line of another one, and nothing else.
    private init(naming other: HTTPRequestData) {
        id = other.id
        line = other.line
        headerFields = HeaderFields()
        state = other.state.intersection([.isResolved, .isForServer, .hasServer])
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

    /// A copy with a new id, as another caller would send it.
    package var withNewID: HTTPRequestData {
        var request = self
        request.id = ID()
        return request
    }

    /// The method.
    public var method: HTTPRequest.Method {
        get { line.value.method }
        set { line.value.method = newValue }
    }

    /// The scheme; nil while it is open.
    public var scheme: String? {
        get { line.value.scheme }
        set { line.value.scheme = newValue?.asFieldValue }
    }

    /// The host, and the port if there is one: `api.example.com:8443`; nil while it is open.
    public var authority: String? {
        get { line.value.authority }
        set {
            line.value.authority = newValue?.asFieldValue
            state.remove(.isForServer)
        }
    }

    /// Path and query as they will be sent, the path empty while it is open; nil when both are.
    package var target: String? {
        get { line.value.target }
        set { line.value.target = newValue?.asFieldValue }
    }

    /// The options, in a box that a request without any does not have.
    package var settings: RequestSettings {
        _read {
            if box != nil {
                yield box!.value
            } else {
                yield RequestSettings.defaults
            }
        }
        _modify {
            if box == nil {
                box = CopyOnWrite(RequestSettings())
            }
            yield &box!.value
        }
    }

    /// The query, by the names of its items.
    public var query: RequestQuery {
        get { RequestQuery(encoded: Self.split(target ?? "").query) }
        set { target = Self.join(path: Self.split(target ?? "").path, query: newValue.encoded) }
    }
}

extension HTTPRequestData {
    /// How far a request has come.
    @usableFromInline
    package struct State: OptionSet, Sendable {
        @usableFromInline package let rawValue: UInt16

        @usableFromInline
        package init(rawValue: UInt16) {
            self.rawValue = rawValue
        }

        /// The outermost part of a stack has taken charge of it; the parts below only pass it on.
        @usableFromInline static let isUnderway = State(rawValue: 1)
        /// A chain has rewritten it.
        ///
        /// That happens once, also when it is sent again.
        static let isResolved = State(rawValue: 2)
        /// It was found to be valid and has not been changed since.
        static let isChecked = State(rawValue: 4)
        /// A chain is rewriting it.
        static let isResolving = State(rawValue: 8)
        /// Its caller left the authority open, so that it belongs to the stack's server.
        static let isRelative = State(rawValue: 16)
        /// Its authority is one that the stack names.
        static let isForServer = State(rawValue: 32)
        /// A modifier follows its redirects, so the transport need not.
        package static let hasRedirectsFollowed = State(rawValue: 64)
        /// A modifier ends an exchange that is silent for too long, so the transport need not.
        package static let hasSilenceLimited = State(rawValue: 128)
        /// The stack names a server.
        static let hasServer = State(rawValue: 256)
        /// A modifier has taken its Authorization field for itself.
        package static let isAuthorized = State(rawValue: 512)
        /// Somebody measures what each part of a stack does with it.
        @usableFromInline package static let isMeasured = State(rawValue: 1_024)
    }

    /// Whether a modifier of the stack cancels an exchange that is silent for too long.
    ///
    /// If it is `true`, a transport needs no timeout of its own. Otherwise a transport ends an exchange in which no
    /// byte moves in either direction for ``allowedSilence``, with a ``NetworkingError`` of kind
    /// ``NetworkingError/Kind/timeout``. The time in which the request's sink is busy does not count. `timeout(_:)` and
    /// `timeout(head:idle:)` set it for the transport below them.
    public var isSilenceLimited: Bool {
        state.contains(.hasSilenceLimited)
    }

    /// Whether its authority is one that the stack names.
    var isForServer: Bool {
        state.contains(.isForServer)
    }

    /// Whether the stack names a server at all.
    var hasServer: Bool {
        state.contains(.hasServer)
    }

    /// Whether a modifier has taken its Authorization field for itself.
    package var isAuthorized: Bool {
        get { state.contains(.isAuthorized) }
        set { if newValue { state.insert(.isAuthorized) } else { state.remove(.isAuthorized) } }
    }

    @usableFromInline var isUnderway: Bool {
        state.contains(.isUnderway)
    }

    /// Tells the one who measures that a part of a stack has it now.
    ///
    /// Returns the number to leave with.
    @usableFromInline
    func enter(_ part: any Any.Type) -> Int32 {
        recorder?.enter(part) ?? -1
    }

    @usableFromInline
    func leave(_ number: Int32) {
        recorder?.leave(number)
    }

    /// Whether it is on its way and nobody measures that.
    @usableFromInline var isMerelyUnderway: Bool {
        state.intersection([.isUnderway, .isMeasured]) == .isUnderway
    }

    /// A compact copy for recorders that keep many requests: method, URL, route, number and id.
    package var compact: HTTPRequestData {
        var request = HTTPRequestData(naming: self)
        guard let box else { return request }
        let (route, number, secrets) = (box.value.route, box.value.number, box.value.secretQueryItems)
        if !box.value.secretValues.isEmpty { request.settings.secretValues = box.value.secretValues }
        if route != nil { request.route = route }
        if number != nil { request.number = number }
        if !secrets.isEmpty { request.settings.secretQueryItems = secrets }
        return request
    }

    /// Becomes the message of another request, with what that knows to be secrets, and keeps its own label and options.
    package mutating func takeMessage(of other: HTTPRequestData) {
        line = other.line
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

    /// A copy without listeners and the caller's time limits, for background work on behalf of the request.
    package var detached: HTTPRequestData {
        var request = self
        request.recorder = nil
        request.heldLimits = nil
        // A timeout outside has ended with the caller's exchange, so the transport must watch for silence itself.
        request.state.subtract([.isMeasured, .hasSilenceLimited])
        if hasListeners {
            request.settings.observers = []
            request.settings.stackObservers = []
        }
        // The stack that traced it still does.
        box?.value.trace?.traceAnew(&request)
        return request
    }

    /// A copy without the state of the stack, which can be sent again: for responses, errors and recordings.
    package var outsideStack: HTTPRequestData {
        var request = self
        request.state.subtract([.isUnderway, .hasRedirectsFollowed, .hasSilenceLimited, .isAuthorized, .isMeasured])
        request.recorder = nil
        request.heldLimits = nil
        // Field by field: the settings as a whole would be copied.
        if box?.value.stackObservers.isEmpty == false {
            request.settings.stackObservers = []
        }
        if box?.value.offeredSchemes.isEmpty == false {
            request.settings.offeredSchemes = []
        }
        if box?.value.trace != nil {
            request.settings.trace = nil
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
    /// The text as swift-http-types makes it valid: spaces for line breaks and NUL, and none around it.
    fileprivate var asFieldValue: String {
        HTTPField.isValidValue(self) ? self : HTTPField(name: .location, value: self).value
    }
}

extension HTTPRequestData: Hashable {
    /// Requests are equal when they ask for the same: method, URL, header fields, body, and the options that say they
    /// matter.
    ///
    /// Labels, sinks, progress handlers and the rest of the options do not count.
    public static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.line.value == rhs.line.value && lhs.headerFields == rhs.headerFields && lhs.body == rhs.body
            && lhs.settings.custom.identities == rhs.settings.custom.identities
    }

    /// Hashes what equality compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(line.value)
        hasher.combine(headerFields)
        hasher.combine(body)
    }
}
