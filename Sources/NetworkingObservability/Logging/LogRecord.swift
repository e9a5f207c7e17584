public import Logging
public import NetworkingCore

/// A line of `logged` for a ``LogDestination``: a text in segments, each with its own visibility.
public struct LogRecord: Sendable {
    /// The visibility of a segment.
    @nonexhaustive
    public enum Privacy: Sendable, Hashable {
        /// The segment is visible to every reader of the log.
        case `public`
        /// The segment is visible to readers with access to private data on this device.
        case `private`
        /// The segment is visible only if a reader asks for sensitive data.
        case sensitive
    }

    /// A part of the text.
    public struct Segment: Sendable, Hashable {
        /// The text of the segment.
        public let text: String
        /// The visibility of the segment.
        public let privacy: Privacy

        /// Creates a segment.
        ///
        /// - Parameters:
        ///   - text: The text of the segment.
        ///   - privacy: The visibility of the segment.
        public init(_ text: String, privacy: Privacy = .public) {
            self.text = text
            self.privacy = privacy
        }
    }

    /// The stage of a request that a line describes.
    @nonexhaustive
    public enum Phase: Sendable, Hashable {
        /// A request starts.
        case start
        /// A response arrived.
        case success
        /// The request failed or was cancelled.
        case failure
        /// An event occurred between the start and the end.
        case event
    }

    /// The placeholder for a private segment in ``text``.
    static let privateMask = "<private>"

    /// The level of the line.
    public let level: Logging.Logger.Level
    /// The stage of the request that the line describes.
    public let phase: Phase
    /// The request's id.
    public let requestID: HTTPRequestData.ID
    /// The request's number, if the stack has `numbered`.
    public let requestNumber: Int?
    /// The number of one passage of a request through one `logged`; all records of the passage have it.
    public let passage: UInt64
    /// The text.
    public let segments: [Segment]

    /// The public text, with `<private>` and `<redacted>` in place of the other segments.
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

    /// A mirror with only public text, for dumps.
    public var customMirror: Mirror {
        Mirror(self, children: ["level": level, "phase": phase, "text": text])
    }
}
