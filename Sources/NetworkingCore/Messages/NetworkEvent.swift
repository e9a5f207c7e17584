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
///     var record: EventRecord {
///         switch self {
///         case .compressed(let before, let after): EventRecord("compressed", "\(before) to \(after) bytes")
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
/// Descriptions, log lines, metrics, archives and spans are made from the ``EventRecord`` of an event.
public protocol NetworkEvent: Sendable, CustomStringConvertible, CustomReflectable {
    /// The name, the texts, the mark and the attributes of the event.
    ///
    /// `instrument`, `inspected` and `telemetry` read it for each event of a call, so keep it cheap. Texts and
    /// attributes are created only for those that show them.
    var record: EventRecord { get }
}

extension NetworkEvent {
    /// The name and the details of the event: `cacheHit(fresh)`.
    public var description: String {
        record.description
    }

    /// The description.
    ///
    /// A dump shows nothing else, because the values of an event may hold secrets.
    public var customMirror: Mirror {
        Mirror(self, children: ["event": description])
    }
}
