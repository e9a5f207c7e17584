import FoundationForNetworking
import NetworkingCore

/// The parts of a request that matchers read, each computed only once.
struct RequestReading {
    let request: HTTPRequestData
    /// The decoded parameters of the matching path pattern.
    var pathParameters: [String: String] = [:]

    init(_ request: HTTPRequestData) {
        self.request = request
    }

    /// The request with all unspecified parts as they are sent.
    lazy var requestAsSent: HTTPRequestData = request.asSent

    /// The path as it is sent, without the query.
    lazy var path: String = request.path ?? "/"

    /// The decoded segments of the path.
    lazy var segments: [String] = PathPattern.segments(of: path)

    lazy var method: String = request.method.rawValue

    lazy var host: String = (request.host ?? "").lowercased()

    /// The authority as it is sent.
    lazy var fullAuthority: String = (request.authority ?? "").lowercased()

    /// The authority without the scheme's default port.
    lazy var authority: String =
        AuthorityKey(request.authority ?? "", isPlain: request.scheme == "http").text

    lazy var query: [URLQueryItem] = request.queryItems

    /// The bytes of the body; empty if there are none or they are not in memory.
    lazy var body: Data = request.body?.data ?? Data()

    /// The body as JSON; nil if it is not JSON.
    lazy var json: JSONDocument? = JSONDocument(body)

    /// The body as text; nil if it is not text.
    lazy var text: String? = BodyType(contentType).text(of: body)

    /// The body as the fields of a form.
    lazy var form: [URLQueryItem] = RequestQuery(
        encoded: body.isEmpty ? nil : text?.replacing("+", with: "%20")[...]
    )
    .items

    var contentType: String? {
        mutating get { request.headerFields[.contentType] ?? request.body?.contentType }
    }

    /// The redaction for messages about the request.
    var redaction: Redaction {
        Redaction.standard.redactingSecrets(of: request)
    }

    /// A text for a message: on one line, shortened, and without values that the request marks as secret.
    func shown(_ text: String, limit: Int = 120) -> String {
        PrintableText.cut(PrintableText.singleLine(redaction.redactingValues(in: text)), to: limit)
    }

    /// The body for a message, formatted as in a log.
    mutating func shown(body: Data, limit: Int = 160) -> String {
        let type = contentType ?? "text/plain"
        return redaction.text(for: body, contentType: type, style: Redaction.BodyStyle(limit: limit))
    }
}

extension HTTPRequestData {
    /// This request with all unspecified parts as they are sent.
    var asSent: HTTPRequestData {
        var request = self
        if scheme == nil { request.scheme = "https" }
        let closedTarget = closedTarget
        if target != closedTarget { request.target = closedTarget }
        request.describeBody()
        return request
    }
}
