import FoundationForNetworking
public import NetworkingCore

/// A user and a password, for `Authorization: Basic` (RFC 7617), in UTF-8.
///
/// ```swift
/// let network = URLSession.shared
///     .authenticated(with: BasicCredentials(user: "emily", password: password))
///     .server(authority: "api.example.com")
/// ```
///
/// A user name with a colon cannot be sent, nor can control characters in either value. Such a request fails with
/// ``NetworkingError/Kind/invalidRequest``.
public struct BasicCredentials: AuthenticatingCredentials, Hashable, Codable {
    /// The user name.
    public let user: String
    /// The password.
    public let password: String

    /// Creates credentials.
    ///
    /// - Parameters:
    ///   - user: The user name.
    ///   - password: The password.
    public init(user: String, password: String) {
        self.user = user
        self.password = password
    }

    /// ``AuthenticationMethod/basic``.
    public static var method: AuthenticationMethod {
        .basic
    }

    /// `Basic`.
    public static var scheme: String? {
        "Basic"
    }

    /// Sets the Authorization field.
    public func apply(to request: inout HTTPRequestData) throws {
        let isControl = { (byte: UInt8) in byte < 32 || byte == 127 }
        guard !user.utf8.contains(UInt8(ascii: ":")) else {
            throw NetworkingError(
                .invalidRequest,
                request: request,
                reason: "The user name of its basic credentials contains a colon, which is not allowed (RFC 7617). Use "
                    + "another name."
            )
        }
        guard !user.utf8.contains(where: isControl), !password.utf8.contains(where: isControl) else {
            throw NetworkingError(
                .invalidRequest,
                request: request,
                reason: "Its basic credentials contain a line break or another control character. Remove it; "
                    + "a password that was read from a file often ends with a line break."
            )
        }
        request.setCredential("Basic \(Data("\(user):\(password)".utf8).base64EncodedString())", for: .authorization)
    }
}
