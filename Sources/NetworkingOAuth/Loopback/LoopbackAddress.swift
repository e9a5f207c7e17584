#if LoopbackRedirect
import FoundationForNetworking
import NetworkingCore

/// The local address that a redirect URI names.
struct LoopbackAddress {
    private let host: String
    /// The path, as sent.
    let path: String
    /// The port; `nil` for any port.
    private(set) var port: UInt16?

    init(of redirectURI: URL) throws {
        let host = redirectURI.host()?.lowercased()
        guard redirectURI.scheme?.lowercased() == "http", let host, ["127.0.0.1", "localhost"].contains(host) else {
            throw OAuthError(
                .misconfigured,
                "The redirect URI is not http with the host 127.0.0.1 or localhost, so the callback would not arrive. "
                    + "Register and use one such as http://127.0.0.1/callback, or use another user agent."
            )
        }
        var port: UInt16?
        if let number = redirectURI.port {
            port = UInt16(exactly: number)
            guard port ?? 0 > 0 else {
                throw OAuthError(
                    .misconfigured,
                    "The port of the redirect URI is not valid. Omit it to use any free port."
                )
            }
        }
        let path = redirectURI.path(percentEncoded: true)
        self.host = host
        self.path = path.isEmpty ? "/" : path
        self.port = port
    }

    /// Whether the host is a name, which a browser may look up as either address of this machine.
    var isName: Bool {
        host == "localhost"
    }

    func with(port: UInt16) -> LoopbackAddress {
        var address = self
        address.port = port
        return address
    }

    /// Whether a `Host` field names this address; browsers omit the default port of the scheme.
    func isNamed(by field: String) -> Bool {
        let name = field.lowercased()
        return name == "\(host):\(port ?? 80)" || (port == 80 && name == host)
    }

    /// Returns the URL of a request target, encoding characters that browsers send unencoded; `nil` if the target is
    /// invalid.
    func url(of target: String) -> URL? {
        var text = "http://\(host)"
        if let port { text += ":\(port)" }
        text += PercentEncoding.escapedTarget.encode(target)
        return URL(string: text, encodingInvalidCharacters: false)
    }
}
#endif
