/// An event in the life of a request: something that a modifier or a transport reports to the listeners of the request.
///
/// Each part of the library declares the events that it reports: ``CallEvent``, ``ExchangeEvent``, ``RedirectEvent``,
/// ``WaitEvent`` and ``CredentialsEvent``, and those of the modifiers, such as `RetryEvent` and `CacheEvent`. A package
/// of yours declares its own:
///
/// ```swift
/// enum CompressionEvent: NetworkEvent {
///     case compressed(from: Int, to: Int)
///
///     var description: String {
///         switch self {
///         case .compressed(let before, let after): "compressed(\(before) to \(after) bytes)"
///         }
///     }
/// }
///
/// request.emit(CompressionEvent.compressed(from: 4_096, to: 512))
/// ```
///
/// A listener is a ``NetworkEventObserver`` or a closure. It picks the events that it needs with patterns:
///
/// ```swift
/// let network = URLSession.shared.retry().cached().observed { event, request in
///     switch event {
///     case CacheEvent.hit(let hit): print("\(request.id) came from the cache (\(hit))")
///     case RetryEvent.retrying(let attempt): print("\(request.id) is retried after \(attempt)")
///     default: break
///     }
/// }
/// ```
///
/// Logs, the inspector and `CallMetrics.marks` show an event by its `description`. The description shows no secrets and
/// stays short: a name, then details in parentheses. An event that implements ``mark`` is counted by metrics, and
/// ``logMessage(redactedBy:)`` replaces its line in logs.
public protocol NetworkEvent: Sendable, CustomStringConvertible, CustomReflectable {
    /// The mark that metrics and archives keep of the event; `nil` if they keep none.
    ///
    /// The default is a mark of kind ``EventMark/Kind/event`` with the description. `instrument`, `inspected` and
    /// `telemetry` read it for each event of a call, so keep it cheap.
    var mark: EventMark? { get }

    /// Returns the message of the event's line in a log; `nil` if the log gets no line, because other lines imply it.
    ///
    /// The default is the description. The log appends the request, replaces control characters, and redacts the values
    /// that the request marks as secret.
    ///
    /// - Parameter redaction: The redaction of the log, for URLs in the message: ``Redaction/line(for:)``.
    /// - Returns: The message, such as `retrying (attempt 1)`.
    func logMessage(redactedBy redaction: Redaction) -> String?
}

extension NetworkEvent {
    /// The description as a mark of kind ``EventMark/Kind/event``.
    public var mark: EventMark? {
        .event(description)
    }

    /// Returns the description.
    public func logMessage(redactedBy redaction: Redaction) -> String? {
        description
    }

    /// The description.
    ///
    /// A dump shows nothing else, because the values of an event may hold secrets.
    public var customMirror: Mirror {
        Mirror(self, children: ["event": description])
    }
}
