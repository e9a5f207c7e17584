#if Crypto
public import HTTPTypes
import NetworkingCore
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
/// Components are equal if they identify the same part.
public struct MessageComponent: Sendable {
    /// The name: a field name in lower case, or a name that begins with `@`.
    public let name: String
    /// The parameters, in the order in which they are written.
    let parameters: OrderedMap<String, RFC9651BareItem>
    /// The type to parse a structured field as; it is not part of the identifier.
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
    /// If proxies change the scheme or the host, use ``authority``, ``path`` and ``query``.
    public static let targetURI = MessageComponent("@target-uri")

    /// The host in lower case, and the port unless it is the default of the scheme: `"@authority"`.
    public static let authority = MessageComponent("@authority")

    /// The scheme: `"@scheme"`.
    public static let scheme = MessageComponent("@scheme")

    /// The path and the query as in the request line of HTTP/1.1: `"@request-target"`.
    public static let requestTarget = MessageComponent("@request-target")

    /// The path, encoded as sent: `"@path"`.
    public static let path = MessageComponent("@path")

    /// The query with its question mark; without a query, only the question mark: `"@query"`.
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
    /// - Parameter name: The decoded name.
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

    /// Returns the field in the canonical form of RFC 9651, however it was sent: `"cache-control";sf`.
    ///
    /// - Parameter type: The type to parse the field as; with `nil`, registered dictionaries are recognised, and other
    ///   fields are parsed as a list, or as a dictionary if that fails.
    /// - Returns: The component.
    public func structured(as type: FieldType? = nil) -> MessageComponent {
        var component = with("sf", .bool(true))
        component.fieldType = type
        return component
    }

    /// Returns a member of a dictionary field: `"signature";key="sig1"`.
    ///
    /// - Parameter key: The key of the member.
    /// - Returns: The component.
    public func member(_ key: String) -> MessageComponent {
        with("key", .string(key))
    }

    /// The lines of the field, encoded separately, for values that contain commas: `"set-cookie";bs`.
    public var binary: MessageComponent {
        with("bs", .bool(true))
    }

    /// This component of the request, for the signature of its response: `"@method";req`.
    public var ofRequest: MessageComponent {
        with("req", .bool(true))
    }

    private func with(_ name: String, _ value: RFC9651BareItem) -> MessageComponent {
        var parameters = parameters
        parameters[name] = value
        return MessageComponent(self.name, parameters, fieldType: fieldType)
    }

    /// Whether a signature of a response covers a part of its request.
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
    /// Compares names and parameters, the latter in any order (RFC 9421 section 2).
    public static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.name == rhs.name && lhs.unordered == rhs.unordered
    }

    /// Hashes the name and the parameters.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(unordered)
    }

    private var unordered: [String: RFC9651BareItem] {
        Dictionary(parameters.map { ($0.0, $0.1) }) { _, last in last }
    }

    /// The identifier, as in a signature's input: `"content-digest";req`.
    public var description: String {
        (try? item.serialized) ?? "\"\(name.unicodeScalars.filter { $0.isASCII && $0.value >= 32 })\""
    }
}
#endif
