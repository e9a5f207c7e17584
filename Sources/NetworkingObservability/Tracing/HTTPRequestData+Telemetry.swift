import HTTPTypes
package import NetworkingCore

extension HTTPRequestData {
    /// The host as telemetry names it, in lower case and without what lets someone in; nil while the authority is open.
    package var serverAddress: String? {
        authority.map { String(Authority($0).host).lowercased() }
    }

    /// The port that it goes to, named or implied.
    package var serverPort: Int {
        authority.flatMap { Authority($0).port } ?? (scheme == "http" ? 80 : 443)
    }

    /// The URL as telemetry writes it: what a redaction hides, and userinfo, is `REDACTED`, names of query items stay.
    package func telemetryURL(hidingWith redaction: Redaction) -> String {
        let target = redaction.hidingSecrets(of: self).target(closedTarget)
        let parts = authority.map { Authority($0) }
        let origin = authority.map { authority in
            guard parts?.userinfo != nil, let at = authority.utf8.lastIndex(of: UInt8(ascii: "@")) else {
                return authority
            }
            return "REDACTED:REDACTED\(authority[at...])"
        }
        let shown = redaction.hidingSecrets(of: self).hidingValues(in: origin ?? "")
        // The convention's word, which is also one that a URL may have in it.
        let url = "\(scheme ?? "https")://\(shown)\(target == "*" ? "" : target)"
        return PrintableText.singleLine(url.replacing(Redaction.placeholder, with: "REDACTED"))
    }

    /// Whether a listener of a type hears what happens in this stack.
    package func hasStackObserver<Observer: NetworkEventObserver>(_ type: Observer.Type) -> Bool {
        box?.value.stackObservers.contains { $0 is Observer } ?? false
    }
}

extension Redaction {
    /// The value of a field that is not hidden itself, without what is hidden in a URL in it.
    package func shownValue(of field: HTTPField) -> String {
        PrintableText.singleLine(value(of: field))
    }

    /// A text without what was marked.
    package func shown(_ text: String) -> String {
        PrintableText.singleLine(hidingValues(in: text))
    }
}
