import HTTPTypes
public import NetworkingCore

/// A challenge in which a server names an authentication scheme that it accepts (RFC 9110 section 11.3).
///
/// ```swift
/// if response.status == .unauthorized, let challenge = response.challenges.first {
///     print(challenge.scheme, challenge["realm"] ?? "")
/// }
/// ```
public struct AuthenticationChallenge: Sendable, Hashable {
    /// The scheme, as the server wrote it; compare it case-insensitively.
    public let scheme: String
    /// The token that follows the scheme in place of parameters; `nil` if there is none.
    public let token: String?
    /// The parameters, by lowercase name; if a name occurs twice, the first value is kept.
    public let parameters: [String: String]

    /// Returns the value of a parameter.
    ///
    /// - Parameter name: The name of the parameter; case does not matter.
    public subscript(name: String) -> String? {
        parameters[name.lowercased()]
    }

    /// Parses the challenges of a header field.
    ///
    /// Malformed text is skipped up to the next challenge.
    ///
    /// - Parameter value: The value of a WWW-Authenticate or Proxy-Authenticate field.
    /// - Returns: The challenges, in order.
    public static func challenges(in value: String) -> [AuthenticationChallenge] {
        var reader = ChallengeReader(value)
        return reader.readAll()
    }

    package func isOf(scheme other: String) -> Bool {
        scheme.lowercased() == other.lowercased()
    }

    var strength: Int {
        Self.strength(of: scheme)
    }

    /// The relative strength of a scheme; unknown schemes are the weakest.
    static func strength(of scheme: String) -> Int {
        let schemes = ["basic", "digest", "scram-sha-1", "scram-sha-256", "bearer", "dpop", "negotiate", "mutual"]
        return schemes.firstIndex(of: scheme.lowercased()).map { $0 + 1 } ?? 0
    }
}

extension HTTPResponseData {
    /// The challenges in the WWW-Authenticate fields of the response, in order.
    ///
    /// A server sends them with status 401.
    public var challenges: [AuthenticationChallenge] {
        headerFields[values: .wwwAuthenticate].flatMap { AuthenticationChallenge.challenges(in: $0) }
    }
}

/// Parses a list in which commas separate both challenges and their parameters (RFC 9110 section 11.6.1).
///
/// A word before an equals sign names a parameter, and any other word starts a challenge.
private struct ChallengeReader {
    private let bytes: [UInt8]
    private var position = 0

    init(_ text: String) {
        bytes = Array(text.utf8)
    }

    mutating func readAll() -> [AuthenticationChallenge] {
        var challenges: [AuthenticationChallenge] = []
        while position < bytes.count {
            skip { $0 == .comma || $0.isBlank }
            let start = position
            if let challenge = readChallenge() {
                challenges.append(challenge)
            } else {
                // Malformed text ends before the next comma.
                position = max(position, start)
                skip { $0 != .comma }
            }
        }
        return challenges
    }

    private mutating func readChallenge() -> AuthenticationChallenge? {
        guard let scheme = readToken() else { return nil }
        guard position == bytes.count || bytes[position].isBlank || bytes[position] == .comma else { return nil }
        skip { $0.isBlank }
        // A parameter without a scheme.
        if position < bytes.count, bytes[position] == .equals { return nil }
        if let token = readToken68() {
            return AuthenticationChallenge(scheme: scheme, token: token, parameters: [:])
        }
        var parameters: [String: String] = [:]
        while true {
            let beginning = position
            skip { $0 == .comma || $0.isBlank }
            guard let (name, value) = readParameter() else {
                position = beginning
                break
            }
            if parameters[name] == nil {
                parameters[name] = value
            }
        }
        return AuthenticationChallenge(scheme: scheme, token: nil, parameters: parameters)
    }

    /// Reads a token68 that ends at a comma or at the end of the text (RFC 9110 section 11.2).
    ///
    /// Without one, it returns `nil` and keeps the position.
    private mutating func readToken68() -> String? {
        let start = position
        var end = start
        while end < bytes.count, bytes[end].isToken68 { end += 1 }
        guard end > start else { return nil }
        while end < bytes.count, bytes[end] == .equals { end += 1 }
        var next = end
        while next < bytes.count, bytes[next].isBlank { next += 1 }
        guard next == bytes.count || bytes[next] == .comma else { return nil }
        position = next
        return String(decoding: bytes[start..<end], as: UTF8.self)
    }

    private mutating func readParameter() -> (name: String, value: String)? {
        guard let name = readToken() else { return nil }
        skip { $0.isBlank }
        guard position < bytes.count, bytes[position] == .equals else { return nil }
        position += 1
        skip { $0.isBlank }
        guard let value = position < bytes.count && bytes[position] == .quote ? readQuoted() : readToken() else {
            return nil
        }
        return (name.lowercased(), value)
    }

    private mutating func readToken() -> String? {
        let start = position
        skip { $0.isToken }
        return position > start ? String(decoding: bytes[start..<position], as: UTF8.self) : nil
    }

    private mutating func readQuoted() -> String? {
        var value: [UInt8] = []
        var next = position + 1
        while next < bytes.count {
            switch bytes[next] {
            case .quote:
                position = next + 1
                return String(decoding: value, as: UTF8.self)
            case .backslash where next + 1 < bytes.count:
                value.append(bytes[next + 1])
                next += 2
            default:
                value.append(bytes[next])
                next += 1
            }
        }
        return nil
    }

    private mutating func skip(while condition: (UInt8) -> Bool) {
        while position < bytes.count, condition(bytes[position]) { position += 1 }
    }
}

extension UInt8 {
    fileprivate static let comma = UInt8(ascii: ",")
    fileprivate static let equals = UInt8(ascii: "=")
    fileprivate static let quote = UInt8(ascii: "\"")
    fileprivate static let backslash = UInt8(ascii: "\\")

    fileprivate var isBlank: Bool {
        self == UInt8(ascii: " ") || self == UInt8(ascii: "\t")
    }

    private var isAlphanumeric: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }

    /// Whether the byte may be part of a token (RFC 9110 section 5.6.2).
    fileprivate var isToken: Bool {
        isAlphanumeric || "!#$%&'*+-.^_`|~".utf8.contains(self)
    }

    /// Whether the byte may be part of a token68, except for the equals signs at its end (RFC 9110 section 11.2).
    fileprivate var isToken68: Bool {
        isAlphanumeric || "-._~+/".utf8.contains(self)
    }
}
