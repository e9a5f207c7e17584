import HTTPTypes

/// The options of the library's own modifiers, as fields: reading one costs a field and not a search.
@usableFromInline
package struct RequestSettings: Sendable {
    package static let defaults = RequestSettings()

    package var timeout: Duration?
    package var connectTimeout: Duration?
    package var headTimeout: Duration?
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
    var number: Int?
    var route: String?
    var progressHandler: (@Sendable (TransferProgress) -> Void)?
    var sink: (any ResponseSink)?
    package var observers: [any NetworkEventObserver] = []
    /// Those that the modifiers of a stack added; they leave the request with the stack.
    package var stackObservers: [any NetworkEventObserver] = []
    /// The credentials that the stack did not send, since they belong to another server.
    var withheldCredentials: [String] = []
    /// The fields that listeners named for the exchange with which it went out.
    var attemptFields: HTTPFields = [:]
    /// The trace that something in the stack gives to its exchanges; it leaves the request with the stack.
    var trace: (any RequestTrace)?
    /// The query items, in lower case, whose values are secrets whatever they are called.
    package var secretQueryItems: Set<String> = []
    /// The texts that are secret wherever they stand.
    package var secretValues = SecretValues()
    /// The schemes of the credentials that wait for a challenge, in lower case, the outermost first.
    package var offeredSchemes: [String] = []
    /// The principals that signed the request.
    var signers: [Principal] = []
    /// The fields that signing set.
    var signedFields: [HTTPField.Name] = []
    @usableFromInline package var custom = TypedValues()
}

extension HTTPRequestData {
    /// The longest that one attempt may take; nil leaves it to the stack's `timeout`.
    ///
    /// With nothing left, zero or less, the attempt fails as one that took too long.
    public var timeout: Duration? {
        get { box?.value.timeout }
        set { settings.timeout = newValue }
    }

    /// The longest that an attempt may take to connect; nil leaves it to the stack's `timeout`.
    ///
    /// It needs a `timeout` modifier in the stack, as the ones below do; that one says what its transport can tell.
    public var connectTimeout: Duration? {
        get { box?.value.connectTimeout }
        set { settings.connectTimeout = newValue }
    }

    /// The longest that the head of a response may take; nil leaves it to the stack's `timeout`.
    public var headTimeout: Duration? {
        get { box?.value.headTimeout }
        set { settings.headTimeout = newValue }
    }

    /// The longest that nothing may move while a body is under way; nil leaves it to the stack's `timeout`.
    public var idleTimeout: Duration? {
        get { box?.value.idleTimeout }
        set { settings.idleTimeout = newValue }
    }

    /// The minimum time without progress after which a timeout of the transport's own may end an exchange.
    ///
    /// 60 seconds, or the longest limit of the stack's `timeout` modifiers if that is longer. A transport whose timeout
    /// is shorter raises it to this, else it ends what the stack allows. See ``isSilenceLimited`` for a transport that
    /// has no timeout of its own.
    public package(set) var allowedSilence: Duration {
        get { box?.value.allowedSilence ?? .seconds(60) }
        set { settings.allowedSilence = newValue }
    }

    /// The longest that the whole call may take, with every attempt and wait; nil leaves it to the stack's `deadline`.
    ///
    /// It counts from where a `deadline` modifier meets the request, and needs one in the stack. With nothing left,
    /// zero or less, the call fails as one that took too long.
    public var deadline: Duration? {
        get { box?.value.deadline }
        set { settings.deadline = newValue }
    }

    /// The status codes that are an answer and not an error, for what decodes or saves a body.
    ///
    /// 200 to 299 by default.
    public var acceptedStatuses: StatusSet {
        get { box?.value.acceptedStatuses ?? .successful }
        set { settings.acceptedStatuses = newValue }
    }

    /// The most bytes that a body collected in memory may have.
    ///
    /// 64 MiB by default.
    ///
    /// A longer one fails with ``NetworkingError/Kind/tooLarge``. Bodies that go to a sink are not limited by it.
    /// Less than zero is zero.
    public var maximumResponseBytes: Int64 {
        get { box?.value.maximumResponseBytes ?? RequestSettings.defaults.maximumResponseBytes }
        set {
            settings.maximumResponseBytes = max(0, newValue)
        }
    }

    /// The most bytes of a body that may wait for their reader where a server cannot be held back.
    ///
    /// 4 GiB by default. A reader that falls further behind gets ``NetworkingError/Kind/tooLarge``. What is more than 1
    /// MiB waits in a private file. Less than zero is zero.
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

    /// The template of its path, such as `/users/{id}`, which names it in measurements and traces; nil for none.
    ///
    /// A path with ids in it would make each request a kind of its own there. It is not sent.
    public var route: String? {
        get { box?.value.route }
        set { settings.route = newValue }
    }

    /// How far a compressed body may unfold: by default, up to 200 times its length on the wire.
    public var decompressionLimit: DecompressionLimit {
        get { box?.value.decompressionLimit ?? .standard }
        set { settings.decompressionLimit = newValue }
    }

    /// What is done about redirects: up to 20 are followed, unless the stack's `redirected` says otherwise.
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

    /// How the request is to be authenticated; nil leaves it to the stack, and `.anonymous` is not at all.
    public var authenticationMethod: AuthenticationMethod? {
        get { box?.value.authenticationMethod }
        set { settings.authenticationMethod = newValue }
    }

    /// Whether credentials may go over plain http to another machine.
    ///
    /// They may not by default.
    ///
    /// Loopback is always allowed.
    public var allowsPlaintextCredentials: Bool {
        get { box?.value.allowsPlaintextCredentials ?? false }
        set {
            settings.allowsPlaintextCredentials = newValue
            state.remove(.isChecked)
        }
    }

    /// The number that `numbered` gave this request in its stack; nil outside one.
    public var number: Int? {
        get { box?.value.number }
        set { settings.number = newValue }
    }

    /// Hears how far the transfer has come, from the transport, on a thread of the transport's choice.
    ///
    /// Keep it short: the transfer waits for it. It is not part of the request's identity.
    public var progressHandler: (@Sendable (TransferProgress) -> Void)? {
        get { box?.value.progressHandler }
        set { settings.progressHandler = newValue }
    }

    /// Where the body of the response goes; nil collects it in memory.
    ///
    /// It is not part of the request's identity.
    public var sink: (any ResponseSink)? {
        get { box?.value.sink }
        set { settings.sink = newValue }
    }
}
