import HTTPTypes

/// The options of the library's own modifiers, as fields, because reading a field is faster than a search.
@usableFromInline
package struct RequestSettings: Sendable {
    package static let defaults = RequestSettings()

    package var timeout: Duration?
    package var idleTimeout: Duration?
    /// The longest limit of the stack's `timeout` modifiers.
    var allowedSilence: Duration?
    package var deadline: Duration?
    package var acceptedStatuses = StatusSet.successful
    package var maximumResponseBytes: Int64 = 64 << 20
    var maximumBufferedBytes: Int64 = 4 << 30
    /// Whether a transport may send the request again by itself.
    package var isResentByTransport = true
    package var priority = RequestPriority.normal
    package var isThrottled = true
    package var isIdempotent: Bool?
    var attempt = 1
    package var decompressionLimit = DecompressionLimit.standard
    package var redirects: RedirectPolicy?
    var serverMutations = ServerMutations.enabled
    package var authenticationMethod: AuthenticationMethod?
    package var allowsPlaintextCredentials = false
    var route: String?
    var progressHandler: (@Sendable (TransferProgress) -> Void)?
    var sink: (any ResponseSink)?
    var decoder: (any BodyDecoder)?
    package var observers = NetworkEventObservers()
    /// The listeners that the modifiers of a stack added; they are removed when the request leaves the stack.
    package var stackObservers = NetworkEventObservers()
    /// The names of the credentials that the stack did not send, because they belong to another server.
    var withheldCredentials: [String] = []
    /// The header fields that listeners set for the exchange with which the request was sent.
    var attemptFields: HTTPFields = [:]
    /// The trace of the request's exchanges; it is removed when the request leaves the stack.
    var trace: (any RequestTrace)?
    /// The names, in lower case, of query items with secret values, in addition to those of the rules.
    package var secretQueryItems: Set<String> = []
    /// The texts that are secret wherever they occur.
    package var secretValues = SecretValues()
    /// The schemes, in lower case, of the credentials that wait for a challenge, outermost first.
    package var offeredSchemes: [String] = []
    /// The principals that signed the request.
    var signers: [Principal] = []
    /// The header fields that signing set.
    var signedFields: [HTTPField.Name] = []
    /// The origins that redirected the request to another origin, oldest first.
    package internal(set) var formerOrigins: [[String]] = []
    /// The identity of the cookies of the request, which stays the same when their values change.
    package var cookieSession: String?
    @usableFromInline package var custom = TypedValues()
}

extension HTTPRequestData {
    /// The maximum duration of one attempt; `nil` leaves it to the stack's `timeout`.
    ///
    /// It needs a `timeout` modifier in the stack. If it is zero or less, the attempt fails as if it had exceeded the
    /// limit.
    public var timeout: Duration? {
        get { box?.value.timeout }
        set { settings.timeout = newValue }
    }

    /// The maximum time without progress while a body is transferred; `nil` leaves it to the stack's `timeout`.
    ///
    /// It needs a `timeout` modifier in the stack. The documentation of that modifier says whether a transport supports
    /// it.
    public var idleTimeout: Duration? {
        get { box?.value.idleTimeout }
        set { settings.idleTimeout = newValue }
    }

    /// The minimum time without progress before a transport's own timeout may end an exchange.
    ///
    /// 60 seconds, or the longest limit of the stack's `timeout` modifiers if that is longer. A transport with a
    /// shorter timeout raises it to this value. Otherwise it would end exchanges that the stack allows. See
    /// ``isSilenceLimited`` for a transport without a timeout.
    public package(set) var allowedSilence: Duration {
        get { box?.value.allowedSilence ?? .seconds(60) }
        set { settings.allowedSilence = newValue }
    }

    /// The maximum duration of the whole call, with every attempt and wait; `nil` leaves it to the stack's `deadline`.
    ///
    /// It starts when the request reaches a `deadline` modifier, and needs one in the stack. If it is zero or less, the
    /// call fails as if it had exceeded the limit.
    public var deadline: Duration? {
        get { box?.value.deadline }
        set { settings.deadline = newValue }
    }

    /// The status codes that are not treated as errors when a body is decoded or saved.
    ///
    /// 200 to 299 by default.
    public var acceptedStatuses: StatusSet {
        get { box?.value.acceptedStatuses ?? .successful }
        set { settings.acceptedStatuses = newValue }
    }

    /// The maximum number of bytes of a body that is collected in memory.
    ///
    /// 64 MiB by default.
    ///
    /// A longer body fails with ``NetworkingError/Kind/tooLarge``. The limit does not apply to bodies that go to a
    /// sink. A negative value is treated as zero.
    public var maximumResponseBytes: Int64 {
        get { box?.value.maximumResponseBytes ?? RequestSettings.defaults.maximumResponseBytes }
        set {
            settings.maximumResponseBytes = max(0, newValue)
        }
    }

    /// The maximum number of bytes of a body that may wait for their reader if the server cannot be slowed down.
    ///
    /// 4 GiB by default. A reader that falls further behind gets ``NetworkingError/Kind/tooLarge``. Bytes beyond 1 MiB
    /// wait in a private file. A negative value is treated as zero.
    public var maximumBufferedBytes: Int64 {
        get { box?.value.maximumBufferedBytes ?? RequestSettings.defaults.maximumBufferedBytes }
        set { settings.maximumBufferedBytes = max(0, newValue) }
    }

    /// Whether `throttled` and `rateLimited` apply to this request.
    ///
    /// They do by default, unless ``NetworkEnvironment/isThrottled`` is `false`.
    public var isThrottled: Bool {
        get { box?.value.isThrottled ?? true }
        set { settings.isThrottled = newValue }
    }

    /// The template of the request's path, such as `/users/{id}`, which names it in metrics and traces.
    ///
    /// Without a template, a path with identifiers in it would count as a different route for each request. The
    /// template is not sent.
    public var route: String? {
        get { box?.value.route }
        set { settings.route = newValue }
    }

    /// The limit on the decompressed length of a body: by default, 200 times its length on the wire.
    public var decompressionLimit: DecompressionLimit {
        get { box?.value.decompressionLimit ?? .standard }
        set { settings.decompressionLimit = newValue }
    }

    /// The policy for redirects: up to 20 are followed, unless the stack's `redirected` sets another policy.
    public var redirects: RedirectPolicy {
        get { box?.value.redirects ?? .follow }
        set { settings.redirects = newValue }
    }

    /// Whether the stack's `server` modifiers apply to this request.
    ///
    /// They do by default.
    public var serverMutations: ServerMutations {
        get { box?.value.serverMutations ?? .enabled }
        set { settings.serverMutations = newValue }
    }

    /// The authentication method; `nil` leaves it to the stack, and `.anonymous` sends the request without
    /// authentication.
    public var authenticationMethod: AuthenticationMethod? {
        get { box?.value.authenticationMethod }
        set { settings.authenticationMethod = newValue }
    }

    /// Whether credentials may be sent over plain http to another machine.
    ///
    /// `false` by default.
    ///
    /// They may always be sent to the loopback address.
    public var allowsPlaintextCredentials: Bool {
        get { box?.value.allowsPlaintextCredentials ?? false }
        set {
            settings.allowsPlaintextCredentials = newValue
            state.remove(.isChecked)
        }
    }

    /// The closure to which a transport reports the progress of the transfer.
    ///
    /// The transport calls it on a thread of its choice. Keep it short, because the transfer waits for it. It is not
    /// part of the request's identity. Setting it removes the closures that the request has;
    /// ``addProgressHandler(_:)`` keeps them. Each `progress:` parameter and each `trackedBy:` adds one.
    public var progressHandler: (@Sendable (TransferProgress) -> Void)? {
        get { box?.value.progressHandler }
        set { settings.progressHandler = newValue }
    }

    /// The receiver of the response's body; `nil` collects the body in memory.
    ///
    /// It is not part of the request's identity.
    public var sink: (any ResponseSink)? {
        get { box?.value.sink }
        set { settings.sink = newValue }
    }
}
