#if Crypto
public import HTTPTypes
import Networking
import RawStructuredFieldValues

/// A part of a message that a signature covers (RFC 9421 section 2).
///
/// ```swift
/// let components: [MessageComponent] = [
///     .method, .authority, .path, .queryParameter("page"), .contentType, .contentDigest,
///     .field(.cacheControl).structured(),
///     .field(HTTPField.Name("Example-Dict")!).member("a"),
/// ]
/// ```
///
/// Components are equal when they name the same part.
public struct MessageComponent: Sendable {
    /// The name: that of a field in lower case, or one that begins with `@`.
    public let name: String
    /// What modifies it, in the order in which it is written.
    let parameters: OrderedMap<String, RFC9651BareItem>
    /// What a structured field is to be read as; it is no part of the identifier.
    private(set) var fieldType: FieldType?

    init(_ name: String, _ parameters: OrderedMap<String, RFC9651BareItem> = [:], fieldType: FieldType? = nil) {
        self.name = name
        self.parameters = parameters
        self.fieldType = fieldType
    }

    /// The type of a structured field (RFC 9651 section 3).
    public enum FieldType: Sendable, Hashable {
        /// One value with parameters.
        case item
        /// Values, and lists of values, in order.
        case list
        /// Values by keys.
        case dictionary
    }
}

extension MessageComponent {
    /// The method: `"@method"`.
    public static let method = MessageComponent("@method")

    /// The whole URL: `"@target-uri"`.
    ///
    /// Where proxies change the scheme or the host, use ``authority``, ``path`` and ``query``.
    public static let targetURI = MessageComponent("@target-uri")

    /// The host in lower case, and the port unless it is the scheme's own: `"@authority"`.
    public static let authority = MessageComponent("@authority")

    /// The scheme: `"@scheme"`.
    public static let scheme = MessageComponent("@scheme")

    /// Path and query as they stand on the request line of HTTP/1.1: `"@request-target"`.
    public static let requestTarget = MessageComponent("@request-target")

    /// The path, encoded as it is sent: `"@path"`.
    public static let path = MessageComponent("@path")

    /// The query with its question mark, which stands alone where there is no query: `"@query"`.
    public static let query = MessageComponent("@query")

    /// The status of a response: `"@status"`.
    public static let status = MessageComponent("@status")

    /// The media type of the body: `"content-type"`.
    public static let contentType = MessageComponent.field(.contentType)

    /// The digest of the body (RFC 9530): `"content-digest"`.
    ///
    /// ``MessageSigner`` computes it, and ``MessageVerifier`` compares it with the body.
    public static let contentDigest = MessageComponent.field(.contentDigest)

    /// An item of the query: `"@query-param";name="page"`.
    ///
    /// A name that occurs twice in the query cannot be signed; use ``query``.
    ///
    /// - Parameter name: The name, as read, not as encoded.
    /// - Returns: The component.
    public static func queryParameter(_ name: String) -> MessageComponent {
        MessageComponent("@query-param", ["name": .string(PercentEncoding.formItem.encode(name))])
    }

    /// A header field: `"accept"`, the values of several lines joined with commas.
    ///
    /// - Parameter name: The name of the field.
    /// - Returns: The component.
    public static func field(_ name: HTTPField.Name) -> MessageComponent {
        MessageComponent(name.canonicalName)
    }

    /// The structured field, written as RFC 9651 has it however it was sent: `"cache-control";sf`.
    ///
    /// - Parameter type: What it is to be read as; nil knows the registered dictionaries, and takes another field for a
    ///   list, or a dictionary if it is no list.
    /// - Returns: The component.
    public func structured(as type: FieldType? = nil) -> MessageComponent {
        var component = with("sf", .bool(true))
        component.fieldType = type
        return component
    }

    /// A member of the field, which is a dictionary: `"signature";key="sig1"`.
    ///
    /// - Parameter key: The key of the member.
    /// - Returns: The component.
    public func member(_ key: String) -> MessageComponent {
        with("key", .string(key))
    }

    /// The lines of the field, each on its own, for one whose values hold commas: `"set-cookie";bs`.
    public var binary: MessageComponent {
        with("bs", .bool(true))
    }

    /// The part of the request to which the message is the response: `"@method";req`.
    public var ofRequest: MessageComponent {
        with("req", .bool(true))
    }

    private func with(_ name: String, _ value: RFC9651BareItem) -> MessageComponent {
        var parameters = parameters
        parameters[name] = value
        return MessageComponent(self.name, parameters, fieldType: fieldType)
    }

    /// Whether it is a part of the request though the message is a response.
    var isOfRequest: Bool {
        parameters["req"] != nil
    }

    var isField: Bool {
        !name.hasPrefix("@")
    }

    var item: Item {
        Item(bareItem: .string(name), parameters: parameters)
    }
}

extension MessageComponent: Hashable, CustomStringConvertible {
    /// Components are equal when name and parameters are, in any order (RFC 9421 section 2).
    public static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.name == rhs.name && lhs.unordered == rhs.unordered
    }

    /// Hashes what equality compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(unordered)
    }

    private var unordered: [String: RFC9651BareItem] {
        Dictionary(parameters.map { ($0.0, $0.1) }) { _, last in last }
    }

    /// The identifier, as it stands in a signature's input: `"content-digest";req`.
    public var description: String {
        (try? item.serialized) ?? "\"\(name.unicodeScalars.filter { $0.isASCII && $0.value >= 32 })\""
    }
}
#endif
