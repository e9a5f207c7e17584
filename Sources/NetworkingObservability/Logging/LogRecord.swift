public import Logging
public import NetworkingCore

/// A line of `logged` for a ``LogDestination``: a text in segments, each of which says who may read it.
public struct LogRecord: Sendable {
    /// Who may read a segment.
    @nonexhaustive
    public enum Privacy: Sendable, Hashable {
        /// Everybody.
        case `public`
        /// Whoever may see private data on this device.
        case `private`
        /// Nobody but who asks for exactly that.
        case sensitive
    }

    /// A part of the text.
    public struct Segment: Sendable, Hashable {
        /// What it says.
        public let text: String
        /// Who may read it.
        public let privacy: Privacy

        /// Creates a segment.
        ///
        /// - Parameters:
        ///   - text: What it says.
        ///   - privacy: Who may read it.
        public init(_ text: String, privacy: Privacy = .public) {
            self.text = text
            self.privacy = privacy
        }
    }

    /// What a line tells of.
    @nonexhaustive
    public enum Phase: Sendable, Hashable {
        /// A request starts.
        case start
        /// A response arrived.
        case success
        /// The request failed or was cancelled.
        case failure
        /// Something happened in between.
        case event
    }

    /// What stands for a private segment in ``text``.
    static let privateMask = "<private>"

    /// How important it is.
    public let level: Logging.Logger.Level
    /// What it tells of.
    public let phase: Phase
    /// The request's label.
    public let requestID: HTTPRequestData.ID
    /// The request's number, if the stack has `numbered`.
    public let requestNumber: Int?
    /// One passage of a request through one `logged`: a start and its end have the same, and no others.
    public let passage: UInt64
    /// The text.
    public let segments: [Segment]

    /// The text as everybody may read it, `<private>` and `<redacted>` in place of the other segments.
    public var text: String {
        segments
            .map { segment in
                switch segment.privacy {
                case .public: segment.text
                case .private: Self.privateMask
                case .sensitive: Redaction.placeholder
                }
            }
            .joined()
    }
}

extension LogRecord: CustomStringConvertible, CustomReflectable {
    /// The same as ``text``.
    public var description: String {
        text
    }

    /// What a dump shows: nothing that is not for everybody.
    public var customMirror: Mirror {
        Mirror(self, children: ["level": level, "phase": phase, "text": text])
    }
}
