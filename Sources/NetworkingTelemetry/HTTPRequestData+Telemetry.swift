#if Telemetry
import HTTPTypes
import NetworkingCore

extension HTTPRequestData {
    /// The host, in lower case and without credentials, and the port, explicit or implied by the scheme.
    ///
    /// The host is empty if the request has no authority yet.
    var server: (address: String, port: Int) {
        let authority = Authority(authority ?? "")
        return (authority.host.lowercased(), authority.port ?? (scheme == "http" ? 80 : 443))
    }

    /// Returns the URL for telemetry: redacted values and userinfo become `REDACTED`, and the names of query items
    /// remain.
    func telemetryURL(redactedBy redaction: Redaction) -> String {
        let target = redaction.redactingSecrets(of: self).target(closedTarget)
        let parts = authority.map { Authority($0) }
        let origin = authority.map { authority in
            guard parts?.userinfo != nil, let at = authority.utf8.lastIndex(of: UInt8(ascii: "@")) else {
                return authority
            }
            return "REDACTED:REDACTED\(authority[at...])"
        }
        let shown = redaction.redactingSecrets(of: self).redactingValues(in: origin ?? "")
        // The placeholder of OpenTelemetry's conventions, which a real URL may contain too.
        let url = "\(scheme ?? "https")://\(shown)\(target == "*" ? "" : target)"
        return PrintableText.singleLine(url.replacing(Redaction.placeholder, with: "REDACTED"))
    }
}

extension Redaction {
    /// Returns the value of a field that may be shown, with the secrets of URLs in it redacted.
    func shownValue(of field: HTTPField) -> String {
        PrintableText.singleLine(value(of: field))
    }
}
#endif
