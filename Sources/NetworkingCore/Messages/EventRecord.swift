/// What an event says about itself, from which its description, log line, mark and span event are made.
///
/// ```swift
/// enum DiskEvent: NetworkEvent {
///     case found(pages: Int), missing
///
///     var record: EventRecord {
///         switch self {
///         case .found(let pages):
///             EventRecord(
///                 "diskFound",
///                 "\(pages) pages",
///                 mark: EventMark(.cacheHit, detail: "disk"),
///                 attributes: ["shop.disk.pages": .number(Double(pages))]
///             ) { _ in "found \(pages) pages on the disk" }
///         case .missing: EventRecord("diskMissing", mark: .cacheMiss) { _ in nil }
///         }
///     }
/// }
/// ```
///
/// No part of it contains a secret.
public struct EventRecord: Sendable, CustomStringConvertible {
    /// The name of the event, which is different from those of other events.
    public let name: String
    private let details: @Sendable () -> String?
    private let ownMark: EventMark?
    private let makeAttributes: @Sendable () -> [String: EventValue]?
    private let makeMessage: (@Sendable (Redaction) -> String?)?

    /// Creates a record.
    ///
    /// - Parameters:
    ///   - name: The name, which is different from those of other events.
    ///   - details: The details for the description: `cacheHit(fresh)`.
    ///   - mark: The mark that metrics and archives keep of the event; `nil` if they keep none. By default, a mark of
    ///     kind ``EventMark/Kind/event`` with the description.
    ///   - attributes: The attributes of the event in the span of its call. An event without a mark of a kind that the
    ///     library declares is in the span only if it has attributes, which may be empty.
    ///   - logMessage: Returns the message of the event's line in a log, for the redaction of the log, or `nil` if the
    ///     log gets no line. The default is the description. The log appends the request, replaces control characters,
    ///     and redacts the values that the request marks as secret.
    public init(
        _ name: String,
        _ details: @autoclosure @escaping @Sendable () -> String? = nil,
        mark: EventMark? = .described,
        attributes: @autoclosure @escaping @Sendable () -> [String: EventValue]? = nil,
        logMessage: (@Sendable (Redaction) -> String?)? = nil
    ) {
        self.name = name
        self.details = details
        ownMark = mark
        makeAttributes = attributes
        makeMessage = logMessage
    }

    /// Creates the record of an event that only listeners see, because other events imply it.
    package static func unmarked(
        _ name: String,
        _ details: @autoclosure @escaping @Sendable () -> String? = nil
    ) -> EventRecord {
        EventRecord(name, details(), mark: nil) { _ in nil }
    }

    /// The mark that metrics and archives keep of the event; `nil` if they keep none.
    public var mark: EventMark? {
        ownMark == .described ? .event(description) : ownMark
    }

    /// The kind of the mark; `nil` if there is none but the description.
    package var kind: EventMark.Kind? {
        ownMark.flatMap { $0.kind == .event ? nil : $0.kind }
    }

    /// The attributes of the event in the span of its call; `nil` if it has none.
    public var attributes: [String: EventValue]? {
        makeAttributes()
    }

    /// Returns the message of the event's line in a log; `nil` if the log gets no line.
    ///
    /// - Parameter redaction: The redaction of the log.
    /// - Returns: The message.
    public func logMessage(redactedBy redaction: Redaction) -> String? {
        makeMessage.map { $0(redaction) } ?? description
    }

    /// The name, and the details in parentheses.
    public var description: String {
        details().map { "\(name)(\($0))" } ?? name
    }
}

/// The value of an attribute of an event.
@nonexhaustive
public enum EventValue: Sendable, Hashable {
    /// A word from a bounded set, which may label a metric; never text of a server or a caller.
    case word(String)
    /// A number, such as a count or a duration in seconds.
    case number(Double)
}
