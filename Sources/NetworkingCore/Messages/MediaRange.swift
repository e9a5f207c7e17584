public import HTTPTypes

/// A set of media types that a server accepts: `application/json`, `application/*` or `*/*`, with parameters.
public struct MediaRange: Sendable, Hashable {
    /// The type and the subtype in lower case, of which the subtype or both may be `*`.
    public let type: String
    /// The parameters, by their names in lower case.
    public let parameters: [String: String]

    /// Creates a range; `nil` unless the text has a type and a subtype, and a wildcard only in the place of the whole
    /// subtype or of both.
    ///
    /// - Parameters:
    ///   - type: The type and the subtype, without parameters.
    ///   - parameters: The parameters.
    public init?(_ type: String, parameters: [String: String] = [:]) {
        let parts = type.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(Self.isToken) }),
            !parts[0].contains("*") || type == "*/*", !parts[1].contains("*") || parts[1] == "*"
        else { return nil }
        self.type = type.lowercased()
        self.parameters = Dictionary(parameters.map { ($0.key.lowercased(), $0.value) }) { _, last in last }
    }

    /// Returns whether a media type is in the range.
    ///
    /// - Parameter mediaType: The media type, as in a Content-Type. It may have more parameters than the range. Values
    ///   are compared without regard to case.
    /// - Returns: `true` if it is.
    public func contains(_ mediaType: String) -> Bool {
        let essence = BodyType(mediaType).essence
        guard
            type == essence || type == "*/*"
                || type.hasSuffix("/*") && essence.hasPrefix(type.dropLast())
        else { return false }
        return parameters.allSatisfy { name, value in
            BodyType.parameter(name, in: mediaType[...])?.lowercased() == value.lowercased()
        }
    }

    private static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}

extension MediaRange: CustomStringConvertible {
    /// The range as in an `Accept` field.
    public var description: String {
        ([type] + parameters.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }).joined(separator: ";")
    }
}

extension HTTPResponseData {
    /// The media types that the resource accepts as the body of a QUERY (RFC 10008 section 3).
    ///
    /// ```swift
    /// let options = try await network.data(HTTPRequestData(.options, "users"))
    /// let takesJSON = options.acceptedQueryTypes?.contains { $0.contains("application/json") } == true
    /// ```
    ///
    /// `nil` without an `Accept-Query` field, and if it is not a list of a structured field (RFC 9651) or longer than
    /// 8 KiB. Members that are not media ranges are left out. The field is about all URLs with the same path, whatever
    /// their queries.
    public var acceptedQueryTypes: [MediaRange]? {
        let lines = headerFields[values: .acceptQuery]
        guard !lines.isEmpty else { return nil }
        let value = lines.joined(separator: ", ")
        guard value.utf8.count <= 8 << 10, let members = StructuredItem.list(value) else { return nil }
        return members.compactMap { MediaRange($0) }
    }
}

extension MediaRange {
    /// Reads a member of a structured list: a token or a string, whose parameters are tokens or strings.
    fileprivate init?(_ member: StructuredItem) {
        guard let type = member.value.text else { return nil }
        var parameters: [String: String] = [:]
        for (name, value) in member.parameters {
            guard let text = value.text else { return nil }
            parameters[name] = text
        }
        self.init(type, parameters: parameters)
    }
}

extension StructuredItem.Value {
    /// The text of a token or a string, between which these fields do not distinguish.
    fileprivate var text: String? {
        switch self {
        case .token(let text), .string(let text): text
        default: nil
        }
    }
}

extension HTTPField.Name {
    // The name is valid, so the value is not `nil`.
    /// `Accept-Query`: the media types that a resource accepts as the body of a QUERY.
    public static let acceptQuery = HTTPField.Name("Accept-Query")!
}
