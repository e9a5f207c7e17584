public import NetworkingCore

extension Cassette {
    /// How a cassette matches, redacts, stores and replays requests.
    ///
    /// ```swift
    /// var options = Cassette.Options()
    /// options.matching = .standard + [.headerFields(.accept), .jsonBody]
    /// options.redaction = .standard.addingBodyFields("email")
    /// options.expiration = Cassette.Expiration(after: .seconds(30 * 86_400), .warn)
    /// let cassette = try Cassette(at: url, mode: .once, options: options)
    /// ```
    public struct Options: Sendable {
        /// The matchers that select the recorded interaction for a request; the principal must always match, too.
        ///
        /// All of the matchers must accept. Method, scheme, host, port, path and query by default.
        public var matching: [Matcher] = .standard

        /// The redaction that applies before anything is stored or compared; by default the same as in logs.
        public var redaction = Redaction.standard

        /// The requests that bypass the cassette: they are sent, but neither recorded nor replayed.
        public var passing: (@Sendable (HTTPRequestData) -> Bool)?

        /// Changes requests before they are compared, both recorded and new ones, for example to remove a timestamp
        /// from a query.
        ///
        /// The recording itself does not change.
        public var normalize: (@Sendable (inout Interaction.Request) -> Void)?

        /// The names of the stack's users on the cassette, so that each user gets their own recordings regardless of
        /// which user sends first.
        ///
        /// Without names, the default, users are numbered in the order in which they first appear. That is enough if
        /// the order is the same in each run. The name is written to the file, so use a role from the test, such as
        /// `sender`, and not a real user's id.
        public var principalName: (@Sendable (Principal) -> String)?

        /// Whether an interaction is replayed again when all matching interactions have been used; `false` by default.
        ///
        /// Matching interactions are first replayed once each, in the recorded order. Then the last one is repeated.
        public var allowsRepeats = false

        /// Whether requests must arrive in the recorded order; `false` by default.
        public var playsInOrder = false

        /// When a recorded response arrives; immediately by default.
        public var timing = Timing.immediate

        /// The maximum age of an interaction; nil, the default, means no limit.
        public var expiration: Expiration?

        /// The maximum size of a stored request or response body, in bytes; 16 MiB by default.
        ///
        /// A longer response is not recorded, and ``Cassette/finish()`` reports it.
        public var maximumBodyBytes = 16 << 20

        /// Whether saving removes unused interactions from the file, which are otherwise an error; `false` by default.
        ///
        /// It has no effect in mode ``Mode/none``, which never writes.
        public var dropsUnused = false

        /// Whether interactions of the file may stay unused; if not, the default, ``Cassette/finish()`` reports them.
        public var allowsUnused = false

        /// A hook that receives each interaction as captured, including secrets, and can change or discard the
        /// recording.
        ///
        /// It runs right after the exchange. The caller's response does not change.
        public var afterCapture: (@Sendable (inout Interaction) -> Void)?

        /// A hook that receives each new interaction once, before it is written.
        ///
        /// It runs when ``Cassette/interactions`` is first read after the recording, or else in ``Cassette/finish()``.
        /// Its changes are written without further redaction.
        public var beforeSave: (@Sendable (inout Interaction) -> Void)?

        /// A hook that can change an interaction before its response is replayed, for example to insert a fresh date or
        /// token.
        public var beforeReplay: (@Sendable (inout Interaction) -> Void)?

        /// Creates the default options.
        public init() {}
    }

    /// When a recorded response arrives, measured with the environment's clock.
    @nonexhaustive
    public enum Timing: Sendable, Hashable {
        /// Immediately.
        case immediate
        /// After the time that it took when it was recorded.
        case recorded
        /// After the same delay each time.
        case fixed(Duration)
    }

    /// The maximum age of an interaction, and what happens to an older one.
    public struct Expiration: Sendable, Hashable {
        /// What happens to an interaction that is too old.
        @nonexhaustive
        public enum Action: String, Sendable, Hashable {
            /// It is replayed, and a warning is logged to the environment's logger.
            case warn
            /// The request fails.
            case fail
            /// The request is sent, and its response replaces the interaction; in mode ``Mode/none`` this is the same
            /// as `warn`.
            case record
        }

        /// The maximum age of an interaction, by the environment's date.
        public let age: Duration
        /// What happens to an older interaction.
        public let action: Action

        /// Creates an expiration.
        ///
        /// - Parameters:
        ///   - age: The maximum age of an interaction.
        ///   - action: What happens to an older interaction.
        /// - Precondition: `age` is not negative.
        public init(after age: Duration, _ action: Action) {
            precondition(age >= .zero, "age must not be negative (is \(age))")
            self.age = age
            self.action = action
        }
    }
}
