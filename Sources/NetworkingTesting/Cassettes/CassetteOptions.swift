public import Networking

extension Cassette {
    /// How a cassette compares, hides, keeps and plays.
    ///
    /// ```swift
    /// var options = Cassette.Options()
    /// options.matching = .standard + [.headerFields(.accept), .jsonBody]
    /// options.redaction = .standard.addingBodyFields("email")
    /// options.expiration = Cassette.Expiration(after: .seconds(30 * 86_400), .warn)
    /// let cassette = try Cassette(at: url, mode: .once, options: options)
    /// ```
    public struct Options: Sendable {
        /// What a request and a recorded one must have in common, beside the principal: all of these.
        ///
        /// Method, scheme, host, port, path and query by default.
        public var matching: [Matcher] = .standard

        /// What is hidden before anything is kept or compared; by default what logs hide.
        public var redaction = Redaction.standard

        /// The requests that the cassette has nothing to do with: they are sent, neither recorded nor replayed.
        public var passing: (@Sendable (HTTPRequestData) -> Bool)?

        /// Changes requests before they are compared, those of the file and those that come: takes a timestamp out of a
        /// query, say.
        ///
        /// What is recorded stays as it is.
        public var normalize: (@Sendable (inout Interaction.Request) -> Void)?

        /// What the users of a stack are called on the cassette, so that each gets what was recorded for them whoever
        /// sends first.
        ///
        /// Without names, the default, they are counted as they first appear: enough where that order is the same in
        /// each run. The name is written to the file, so it should be a role of the test, such as `sender`, and not
        /// somebody's id.
        public var principalName: (@Sendable (Principal) -> String)?

        /// Whether an interaction is replayed again when all that match have been.
        ///
        /// Each is replayed once by default, in the recorded order.
        public var allowsRepeats = false

        /// Whether requests must come in the recorded order.
        public var playsInOrder = false

        /// When a recorded response arrives: at once by default.
        public var timing = Timing.immediate

        /// How old an interaction may be; nil, the default, for any age.
        public var expiration: Expiration?

        /// The longest body of a request or a response that is kept: 16 MiB by default.
        ///
        /// A response that is longer is not recorded, and ``Cassette/finish()`` says so.
        public var maximumBodyBytes = 16 << 20

        /// Whether interactions that nobody asked for are removed from the file when it is saved, instead of being an
        /// error.
        ///
        /// Only a cassette that may write does that, so not one of mode ``Mode/none``.
        public var dropsUnused = false

        /// Whether it is all right that nobody asks for an interaction of the file.
        public var allowsUnused = false

        /// Sees an interaction as it was on the network, secrets included, right after that: to change what is kept of
        /// it, or to discard it.
        ///
        /// The caller's response stays what the server sent.
        public var afterCapture: (@Sendable (inout Interaction) -> Void)?

        /// Sees a new interaction before it is written, once: before a look at ``Cassette/interactions``, or else at
        /// the end.
        ///
        /// What it sets is written as it is.
        public var beforeSave: (@Sendable (inout Interaction) -> Void)?

        /// Sees an interaction before its response goes to a caller: to put a fresh date or a token into it.
        public var beforeReplay: (@Sendable (inout Interaction) -> Void)?

        /// Creates the default options.
        public init() {}
    }

    /// When a recorded response arrives, on the environment's clock.
    @nonexhaustive
    public enum Timing: Sendable, Hashable {
        /// At once.
        case immediate
        /// After as long as it took when it was recorded.
        case recorded
        /// After the same while each time.
        case fixed(Duration)
    }

    /// How old an interaction may be, and what is done about one that is older.
    public struct Expiration: Sendable, Hashable {
        /// What is done about an interaction that is too old.
        @nonexhaustive
        public enum Action: String, Sendable, Hashable {
            /// It is replayed, and the environment's logger gets a warning.
            case warn
            /// The request fails.
            case fail
            /// The request is sent, and what comes takes the place of the interaction; with mode ``Mode/none`` it is as
            /// `warn`.
            case record
        }

        /// How old an interaction may be, by the environment's date.
        public let age: Duration
        /// What is done about one that is older.
        public let action: Action

        /// Creates a limit.
        ///
        /// - Parameters:
        ///   - age: How old an interaction may be.
        ///   - action: What is done about one that is older.
        /// - Precondition: `age` is not negative.
        public init(after age: Duration, _ action: Action) {
            precondition(age >= .zero, "age must not be negative (is \(age))")
            self.age = age
            self.action = action
        }
    }
}
