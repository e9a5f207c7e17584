import FoundationForNetworking
import HTTPTypes
import NetworkingCore
import NetworkingInspector

/// The parts of a request that matchers compare, parsed once.
struct CassetteFacts: Sendable {
    let request: Cassette.Interaction.Request
    let scheme: String
    let host: String
    let port: String
    let path: String
    /// The values of each name, decoded and in order.
    let query: [String: [String]]

    init(_ request: Cassette.Interaction.Request) {
        self.request = request
        var rest = request.url[...]
        if let slashes = rest.utf8.firstRange(of: "://".utf8) {
            scheme = rest[..<slashes.lowerBound].lowercased()
            rest = rest[slashes.upperBound...]
        } else {
            scheme = ""
        }
        let end = rest.utf8.firstIndex { [UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#")].contains($0) }
        let authority = rest[..<(end ?? rest.endIndex)]
        rest = rest[authority.endIndex...]
        let named = HTTPRequestData(authority: String(authority))
        host = named.host?.lowercased() ?? ""
        port = "\(named.port ?? (scheme == "http" ? 80 : 443))"
        let path = rest.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        self.path = path.isEmpty ? "/" : String(Substring(path))
        query = HAR.query(of: request.url)
    }

    /// Whether both bodies are the same; false for redacted bodies, which cannot be compared.
    func hasSameBody(as other: CassetteFacts) -> Bool {
        !request.hasRedactedBody && request.body == other.request.body
            && request.missingBody == other.request.missingBody
    }

    /// The body as shown in messages.
    var bodyText: String {
        if let missing = request.missingBody { return missing }
        let text = String(validating: request.body, as: UTF8.self)
        return text.map { Cassette.quoted($0) } ?? "\(request.body.count) bytes, not text"
    }
}

extension Cassette.Interaction.Request {
    /// Whether the body could not be stored because its secrets could not be redacted.
    var hasRedactedBody: Bool {
        missingBody == HAR.redactedBody
    }
}

extension Cassette {
    /// A number with its noun, in the plural if necessary.
    static func counted(_ count: Int, _ noun: String) -> String {
        "\(count) \(noun)\(count == 1 ? "" : "s")"
    }

    /// A text as shown in messages: on one line, and shortened if it is long.
    static func quoted(_ text: String) -> String {
        text.isEmpty ? "nothing" : "\"\(PrintableText.cut(PrintableText.singleLine(text), to: 200))\""
    }
}
