public import FoundationForNetworking
public import HTTPTypes
import Synchronization

/// A request: the message that HTTP sends, and the options that the modifiers of a stack read.
///
/// ```swift
/// var request = HTTPRequestData(method: .post, path: "message", body: .json(message))
/// request.headerFields[.accept] = "application/json"
/// request.query.greeting = "Hello World"   // ?greeting=Hello%20World
/// ```
///
/// A request is sent as it was created: percent-encoding, trailing slashes, empty and repeated query items and their
/// order are kept. Only the segments `.` and `..` of the path are removed before it is sent. Scheme, authority and path
/// may be left open, so that the `server` modifiers of a stack can fill them in. When the request is sent, an open
/// scheme becomes `https` and an open path becomes `/`. A request without an authority fails.
///
/// The library checks a request before it reaches a transport. A request that HTTP does not allow fails with
/// ``NetworkingError/Kind/invalidRequest``. No setter traps, whatever value it receives.
public struct HTTPRequestData: Sendable, Identifiable {
    /// An identifier that is unique in this process, for logs and to distinguish requests.
    ///
    /// It is the same each time that a stored request is sent, and another process may have the same one. A header
    /// field that identifies a request to a server needs a `UUID` for each send instead. It is not part of equality.
    public struct ID: Sendable, Hashable, CustomStringConvertible {
        let number: UInt64

        // Process-wide, because the identifiers must be unique in the process; it has no other state.
        private static let last = Atomic<UInt64>(0)

        init() {
            number = RequestNumbering.next ?? Self.last.add(1, ordering: .relaxed).newValue
        }

        /// The identifier in at least six digits of base 36.
        public var description: String {
            let digits = String(number, radix: 36)
            return String(repeating: "0", count: max(0, 6 - digits.count)) + digits
        }
    }

    // One reference, because a stack copies a request about thirty times for each call.
    @usableFromInline var content: CopyOnWrite<Content>
    @usableFromInline var state: State = []
    @usableFromInline var destination = Destination()
    @usableFromInline var place = Place.outside
    /// What a stack has added; `nil` outside of a stack.
    @usableFromInline var passage: CopyOnWrite<Passage>?

    /// Creates a request from its parts.
    ///
    /// - Parameters:
    ///   - method: The method, GET by default.
    ///   - scheme: `https` or `http`; `nil` leaves it open.
    ///   - authority: The host, and the port if it is not the scheme's default; `nil` leaves it open.
    ///   - path: The path, with or without its leading slash, followed by the query if it contains a question mark;
    ///     `nil` leaves the path open. Values that are interpolated in a literal are escaped.
    ///   - headerFields: The header fields.
    ///   - body: The body.
    public init(
        method: HTTPRequest.Method = .get,
        scheme: String? = nil,
        authority: String? = nil,
        path: RequestPath? = nil,
        headerFields: HeaderFields = HeaderFields(),
        body: RequestBody? = nil
    ) {
        let line = Line(
            method: method,
            scheme: scheme?.asFieldValue,
            authority: authority?.asFieldValue,
            target: path.map { Self.target(path: $0.text).asFieldValue }
        )
        content = CopyOnWrite(Content(id: ID(), line: line, headerFields: headerFields, body: body))
        if let path {
            if path.hasInvalidSegment { state.insert(.hasInvalidSegment) }
            if RequestPath.hasScheme(path.text) { state.insert(.hasSchemeInPath) }
        }
    }

    /// Creates a request from its parts, with a path in a string.
    ///
    /// - Parameters:
    ///   - method: The method, GET by default.
    ///   - scheme: `https` or `http`; `nil` leaves it open.
    ///   - authority: The host, and the port if it is not the scheme's default; `nil` leaves it open.
    ///   - path: The path, with or without its leading slash, followed by the query if it contains a question mark;
    ///     `nil` leaves the path open. Slashes, question marks and escapes in it keep their meaning. Characters that a
    ///     path may not contain are percent-encoded.
    ///   - headerFields: The header fields.
    ///   - body: The body.
    @_disfavoredOverload
    public init(
        method: HTTPRequest.Method = .get,
        scheme: String? = nil,
        authority: String? = nil,
        path: String?,
        headerFields: HeaderFields = HeaderFields(),
        body: RequestBody? = nil
    ) {
        // Disfavored, so that a literal becomes a path with escaped values.
        self.init(
            method: method,
            scheme: scheme,
            authority: authority,
            path: path.map { RequestPath($0) },
            headerFields: headerFields,
            body: body
        )
    }

    /// Creates a request to a URL.
    ///
    /// A relative URL leaves scheme and authority open. The fragment is not sent.
    ///
    /// - Parameters:
    ///   - method: The method, GET by default.
    ///   - url: The URL.
    ///   - headerFields: The header fields.
    ///   - body: The body.
    public init(
        method: HTTPRequest.Method = .get,
        url: URL,
        headerFields: HeaderFields = HeaderFields(),
        body: RequestBody? = nil
    ) {
        self.init(method: method, headerFields: headerFields, body: body)
        self.url = url
    }

    /// The identifier of this value and of every copy of it.
    public var id: ID {
        content.value.id
    }

    /// The method.
    public var method: HTTPRequest.Method {
        get { content.value.line.method }
        set { line.method = newValue }
    }

    /// The scheme; `nil` if it is open.
    public var scheme: String? {
        get { content.value.line.scheme }
        set { line.scheme = newValue?.asFieldValue }
    }

    /// The host, and the port if there is one: `api.example.com:8443`; `nil` if it is open.
    public var authority: String? {
        get { content.value.line.authority }
        set {
            line.authority = newValue?.asFieldValue
            if !isAtMember { destination.leaveServer() }
        }
    }

    /// The path and query as they will be sent, with an empty path if it is open; `nil` if there is no query either.
    package var target: String? {
        get { content.value.line.target }
        set { line.target = newValue?.asFieldValue }
    }

    /// The header fields.
    ///
    /// The transport sets `Host`, `Content-Length` and the fields that concern the connection.
    @inlinable public var headerFields: HeaderFields {
        _read { yield content.value.headerFields }
        _modify {
            state.remove(.isChecked)
            yield &content.value.headerFields
        }
    }

    /// The body, if there is one.
    public var body: RequestBody? {
        get { content.value.body }
        _modify {
            state.remove(.isChecked)
            yield &content.value.body
        }
    }

    // Not an option, because `numbered` sets it for every request, and the first option of a request takes an
    // allocation.
    /// The number that `numbered` gave this request; `nil` if no `numbered` has.
    public var number: Int? {
        get { content.value.number }
        set { content.value.number = newValue }
    }

    /// The server of each credential.
    ///
    /// `nil` if no part of the stack has credentials and the stack names no server other than the request's own.
    var credentialServers: CopyOnWrite<CredentialServers>? {
        get { content.value.credentialServers }
        _modify { yield &content.value.credentialServers }
    }

    /// The query, with access to its items by name.
    public var query: RequestQuery {
        get { RequestQuery(encoded: RequestTarget.split(target ?? "").query) }
        set { target = RequestTarget.join(path: RequestTarget.split(target ?? "").path, query: newValue.encoded) }
    }
}

extension String {
    /// The text as swift-http-types makes it valid: line breaks and NUL become spaces, and surrounding spaces are
    /// removed.
    fileprivate var asFieldValue: String {
        HTTPField.isValidValue(self) ? self : HTTPField(name: .location, value: self).value
    }
}

extension HTTPRequestData: Hashable {
    /// Compares method, URL, header fields, body, and the options that affect responses
    /// (``RequestOption/Effect/responses``).
    ///
    /// Identifiers, sinks, progress handlers and the other options do not count.
    public static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.line == rhs.line && lhs.headerFields == rhs.headerFields && lhs.body == rhs.body
            && lhs.identitiesOfOptions.affectingResponses == rhs.identitiesOfOptions.affectingResponses
    }

    /// Hashes the parts that equality compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(line)
        hasher.combine(headerFields)
        hasher.combine(body)
    }
}
