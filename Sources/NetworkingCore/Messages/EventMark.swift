/// The short form of an event that metrics and archives keep: a kind, and a detail where the kind has one.
///
/// Metrics interpret the kinds that the library declares, here and beside the events of its features. An event of any
/// package takes part in them through its ``EventRecord``: a cache of your own that reports
/// ``EventMark/Kind/cacheHit`` is counted like `cached`.
///
/// The modules of the features add their own details, such as `EventMark.cacheHit(.fresh)`, and properties that
/// return them.
public struct EventMark: Sendable {
    /// The kind of a mark, by its name.
    ///
    /// Declare a kind of your own for a mark that your code looks for. Metrics list it and do not count it.
    public struct Kind: Sendable, Hashable, CustomStringConvertible {
        // Computed properties and not stored ones: a string of at most 15 bytes needs neither memory nor a lock.

        /// The response came from a cache; the detail is the kind of hit.
        public static var cacheHit: Kind { Kind("cacheHit") }
        /// The cache had no matching response.
        public static var cacheMiss: Kind { Kind("cacheMiss") }
        /// The request bypassed the cache; the detail is the reason.
        public static var cacheBypass: Kind { Kind("cacheBypass") }
        /// The call shared the exchange of an identical request.
        public static var shared: Kind { Kind("shared") }
        /// The call scheduled another attempt.
        public static var retry: Kind { Kind("retry") }
        /// The call made no further attempt; the detail is the reason.
        public static var retryRefused: Kind { Kind("retryRefused") }
        /// The call followed a redirect.
        public static var redirect: Kind { Kind("redirect") }
        /// The call had its credentials renewed.
        public static var refresh: Kind { Kind("refresh") }
        /// An attempt exceeded its timeout.
        public static var timeout: Kind { Kind("timeout") }
        /// The call exceeded its deadline.
        public static var deadline: Kind { Kind("deadline") }
        /// Another event; the detail is its description.
        public static var event: Kind { Kind("event") }

        /// The name of the kind.
        public let name: String

        /// Creates a kind.
        ///
        /// - Parameter name: The name, which is different from those of other kinds. It is best at most 15 bytes long,
        ///   so that it is stored in place. Longer text is reduced to one line of 200 Unicode scalars.
        public init(_ name: String) {
            self.name = name.utf8.count <= 15 ? name : EventMark.shortLine(name)
        }

        /// The name.
        public var description: String {
            name
        }
    }

    /// The maximum length of a name or a detail, in Unicode scalars.
    private static let maximumLength = 200

    /// The call shared the exchange of an identical request.
    public static let shared = EventMark(.shared)
    /// The cache had no matching response.
    public static let cacheMiss = EventMark(.cacheMiss)
    /// The call scheduled another attempt.
    public static let retry = EventMark(.retry)
    /// The call followed a redirect.
    public static let redirect = EventMark(.redirect)
    /// The call had its credentials renewed.
    public static let refresh = EventMark(.refresh)
    /// An attempt exceeded its timeout.
    public static let timeout = EventMark(.timeout)
    /// The call exceeded its deadline.
    public static let deadline = EventMark(.deadline)
    /// In an ``EventRecord``, a mark of kind ``Kind/event`` with the description of the event.
    public static let described = EventMark(.event)

    /// Returns the mark of another event.
    ///
    /// - Parameter description: The description of the event, without secrets.
    /// - Returns: A mark of kind ``Kind/event``.
    public static func event(_ description: String) -> EventMark {
        EventMark(.event, detail: description)
    }

    // A single reference, because every entry of a call's log is as large as the largest kind of entry.
    private let content: Content

    /// Creates a mark.
    ///
    /// - Parameters:
    ///   - kind: The kind.
    ///   - detail: One word from a bounded set, without secrets. Statistics count each word separately. Longer text is
    ///     reduced to one line of 200 Unicode scalars.
    public init(_ kind: Kind, detail: String? = nil) {
        content = Content(kind: kind, detail: detail.map(Self.shortLine))
    }

    fileprivate static func shortLine(_ text: String) -> String {
        let line = PrintableText.singleLine(text)
        // By Unicode scalar, because a character can have any number of them.
        return line.utf8.count <= maximumLength ? line : String(line.unicodeScalars.prefix(maximumLength))
    }

    /// The kind of the mark.
    public var kind: Kind { content.kind }
    /// The detail; `nil` if the mark has none.
    public var detail: String? { content.detail }

    private final class Content: Sendable {
        let kind: Kind
        let detail: String?

        init(kind: Kind, detail: String?) {
            self.kind = kind
            self.detail = detail
        }
    }
}

extension EventMark: Hashable, CustomStringConvertible {
    /// Compares the kinds and the details.
    public static func == (lhs: EventMark, rhs: EventMark) -> Bool {
        lhs.content === rhs.content || (lhs.kind == rhs.kind && lhs.detail == rhs.detail)
    }

    /// Hashes the kind and the detail.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        hasher.combine(detail)
    }

    /// The kind and the detail, `cacheHit (fresh)`; for a mark of kind ``Kind/event`` the detail alone.
    public var description: String {
        guard let detail else { return kind.name }
        return kind == .event ? detail : "\(kind) (\(detail))"
    }
}
