import NetworkingCore

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What matchers read of a request: each thing once, however many of them ask for it.
struct RequestReading {
    let request: HTTPRequestData
    /// What the pattern of a path named in it, decoded.
    var pathParameters: [String: String] = [:]

    init(_ request: HTTPRequestData) {
        self.request = request
    }

    /// The request with what it leaves open as it is sent.
    lazy var requestAsSent: HTTPRequestData = request.asSent

    /// The path as it is sent, without the query.
    lazy var path: String = request.path ?? "/"

    /// The parts of the path between its slashes, decoded.
    lazy var segments: [String] = PathPattern.segments(of: path)

    lazy var method: String = request.method.rawValue

    lazy var host: String = (request.host ?? "").lowercased()

    /// The authority as it is sent.
    lazy var fullAuthority: String = (request.authority ?? "").lowercased()

    /// The authority without the port that the scheme implies.
    lazy var authority: String =
        AuthorityKey(request.authority ?? "", isPlain: request.scheme == "http").text

    lazy var query: [URLQueryItem] = request.queryItems

    /// The bytes of the body; empty where there are none or they are not in memory.
    lazy var body: Data = request.body?.data ?? Data()

    /// The body as JSON; nil where it is none.
    lazy var json: JSONDocument? = JSONDocument(body)

    /// The body as text; nil where it is none.
    lazy var text: String? = BodyType(contentType).text(of: body)

    /// The body as the fields of a form.
    lazy var form: [URLQueryItem] = RequestQuery(
        encoded: body.isEmpty ? nil : text?.replacing("+", with: "%20")[...]
    )
    .items

    var contentType: String? {
        mutating get { request.headerFields[.contentType] ?? request.body?.contentType }
    }

    /// What of the request may be shown.
    var redaction: Redaction {
        Redaction.standard.hidingSecrets(of: request)
    }

    /// A text for a message: one line of it, not too long, without what the request marks as secret.
    func shown(_ text: String, limit: Int = 120) -> String {
        PrintableText.cut(PrintableText.singleLine(redaction.hidingValues(in: text)), to: limit)
    }

    /// The body for a message, as a log would show it.
    mutating func shown(body: Data, limit: Int = 160) -> String {
        let type = contentType ?? "text/plain"
        return redaction.text(for: body, contentType: type, style: Redaction.BodyStyle(limit: limit))
    }
}

extension HTTPRequestData {
    /// This request with what it leaves open as it is sent.
    var asSent: HTTPRequestData {
        var request = self
        if scheme == nil { request.scheme = "https" }
        let closedTarget = closedTarget
        if target != closedTarget { request.target = closedTarget }
        request.describeBody()
        return request
    }
}
