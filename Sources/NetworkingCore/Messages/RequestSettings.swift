import HTTPTypes

/// The options of a request, and the values that modifiers set for most requests.
///
/// The latter are fields, because setting a field needs no further allocation. All options that an app sets are in
/// ``custom``, by their declarations.
@usableFromInline
struct RequestSettings: Sendable {
    static let defaults = RequestSettings()

    /// The longest limit of the stack's `timeout` modifiers.
    var allowedSilence: Duration?
    // Not an option, because `redirected` sets it for every request.
    var redirects: RedirectPolicy?
    var progressHandler: (@Sendable (TransferProgress) -> Void)?
    var sink: (any ResponseSink)?
    var decoder: (any BodyDecoder)?
    var observers = NetworkEventObservers()
    /// The names, in lower case, of query items with secret values, in addition to those of the rules.
    var secretQueryItems: Set<String> = []
    /// The texts that are secret wherever they occur.
    var secretValues = SecretValues()
    @usableFromInline var custom = TypedValues()
    /// The options with which the request was stored, by their names, until they are set again.
    @usableFromInline var unread: [String: StoredOption] = [:]

    /// The values by which requests are compared before they share an exchange or a stored response.
    var identities: ValueIdentities {
        var identities = custom.identities
        if let allowedSilence, allowedSilence != HTTPRequestData.defaultSilence {
            identities.add(Identity(allowedSilence), of: .type(Duration.self), affectsResponses: false)
        }
        if let redirects {
            identities.add(redirects.identity, of: .type(RedirectPolicy.self), affectsResponses: false)
        }
        for (name, stored) in unread where stored.affects != .nothing {
            let affectsResponses = stored.affects == .responses
            identities.add(Identity(stored.value), of: .unread(name), affectsResponses: affectsResponses)
        }
        return identities
    }
}

extension RequestOptionKey {
    fileprivate static let acceptedStatuses = RequestOption(
        "acceptedStatuses",
        default: StatusSet.successful,
        affects: .sending,
        isReported: false
    )
    fileprivate static let maximumResponseBytes = RequestOption(
        "maximumResponseBytes",
        default: Int64(64 << 20),
        affects: .sending,
        isReported: false,
        normalized: { max(0, $0) }
    )
    // Only a request with a sink has a reader, and it is never shared.
    fileprivate static let maximumBufferedBytes = RequestOption(
        "maximumBufferedBytes",
        default: Int64(4 << 30),
        affects: .nothing,
        isReported: false,
        normalized: { max(0, $0) }
    )
    fileprivate static let decompressionLimit = RequestOption(
        "decompressionLimit",
        default: DecompressionLimit.standard,
        affects: .sending,
        isReported: false
    )
    fileprivate static let serverMutations = RequestOption(
        "serverMutations",
        default: ServerMutations.enabled,
        affects: .sending,
        isReported: false
    )
    fileprivate static let allowsPlaintextCredentials = RequestOption(
        "allowsPlaintextCredentials",
        default: false,
        affects: .sending,
        isReported: false
    )
}

extension HTTPRequestData {
    /// The minimum time without progress before a transport's own timeout may end an exchange.
    ///
    /// 60 seconds, or the longest limit of the stack's `timeout` modifiers if that is longer. A transport with a
    /// shorter timeout raises it to this value. Otherwise it would end exchanges that the stack allows. See
    /// ``isSilenceLimited`` for a transport without a timeout.
    public package(set) var allowedSilence: Duration {
        get { box?.value.allowedSilence ?? Self.defaultSilence }
        set { settings.allowedSilence = newValue }
    }

    fileprivate static let defaultSilence = Duration.seconds(60)

    /// The status codes that are not treated as errors when a body is decoded or saved.
    ///
    /// 200 to 299 by default.
    public var acceptedStatuses: StatusSet {
        get { self[.acceptedStatuses] }
        set { self[.acceptedStatuses] = newValue }
    }

    /// The maximum number of bytes of a body that is collected in memory.
    ///
    /// 64 MiB by default.
    ///
    /// A longer body fails with ``NetworkingError/Kind/tooLarge``. The limit does not apply to bodies that go to a
    /// sink. A negative value is treated as zero.
    public var maximumResponseBytes: Int64 {
        get { self[.maximumResponseBytes] }
        set { self[.maximumResponseBytes] = newValue }
    }

    /// The maximum number of bytes of a body that may wait for their reader if the server cannot be slowed down.
    ///
    /// 4 GiB by default. A reader that falls further behind gets ``NetworkingError/Kind/tooLarge``. Bytes beyond 1 MiB
    /// wait in a private file. A negative value is treated as zero.
    public var maximumBufferedBytes: Int64 {
        get { self[.maximumBufferedBytes] }
        set { self[.maximumBufferedBytes] = newValue }
    }

    /// The limit on the decompressed length of a body: by default, 200 times its length on the wire.
    public var decompressionLimit: DecompressionLimit {
        get { self[.decompressionLimit] }
        set { self[.decompressionLimit] = newValue }
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
        get { self[.serverMutations] }
        set { self[.serverMutations] = newValue }
    }

    /// Whether credentials may be sent over plain http to another machine.
    ///
    /// `false` by default.
    ///
    /// They may always be sent to the loopback address.
    public var allowsPlaintextCredentials: Bool {
        get { self[.allowsPlaintextCredentials] }
        set {
            self[.allowsPlaintextCredentials] = newValue
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

    /// Whether the request has a ``sink``, without a copy of it.
    package var hasSink: Bool {
        box?.value.sink != nil
    }
}
