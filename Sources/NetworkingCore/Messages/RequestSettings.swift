import HTTPTypes

/// The options of a request.
///
/// The core and the transports read the fields for each request, because reading a field is faster than a search. All
/// other options are in `custom`, by their types.
@usableFromInline
package struct RequestSettings: Sendable {
    package static let defaults = RequestSettings()

    /// The longest limit of the stack's `timeout` modifiers.
    var allowedSilence: Duration?
    package var acceptedStatuses = StatusSet.successful
    package var maximumResponseBytes: Int64 = 64 << 20
    var maximumBufferedBytes: Int64 = 4 << 30
    /// Whether a transport may send the request again by itself.
    package var isResentByTransport = true
    package var decompressionLimit = DecompressionLimit.standard
    package var redirects: RedirectPolicy?
    var serverMutations = ServerMutations.enabled
    package var allowsPlaintextCredentials = false
    var progressHandler: (@Sendable (TransferProgress) -> Void)?
    var sink: (any ResponseSink)?
    var decoder: (any BodyDecoder)?
    package var observers = NetworkEventObservers()
    /// The names, in lower case, of query items with secret values, in addition to those of the rules.
    package var secretQueryItems: Set<String> = []
    /// The texts that are secret wherever they occur.
    package var secretValues = SecretValues()
    @usableFromInline package var custom = TypedValues()
}

extension HTTPRequestData {
    /// The minimum time without progress before a transport's own timeout may end an exchange.
    ///
    /// 60 seconds, or the longest limit of the stack's `timeout` modifiers if that is longer. A transport with a
    /// shorter timeout raises it to this value. Otherwise it would end exchanges that the stack allows. See
    /// ``isSilenceLimited`` for a transport without a timeout.
    public package(set) var allowedSilence: Duration {
        get { box?.value.allowedSilence ?? .seconds(60) }
        set { settings.allowedSilence = newValue }
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
