import HTTPTypes

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension HTTPResponse {
    /// Whether it sends the request elsewhere (RFC 9110 section 15.4).
    var isRedirect: Bool {
        switch status.code {
        case 301, 302, 303, 307, 308: headerFields.contains(.location)
        default: false
        }
    }
}

extension HTTPRequestData {
    /// The request to make next when a response sends this one elsewhere; nil when the response is the answer.
    ///
    /// These are the rules of the Fetch standard's redirects. What they do not let follow is returned as it is: a
    /// location that is no http URL, a way from https to http, and a body that would have to be sent again but can
    /// not.
    ///
    /// - Throws: ``NetworkingError/Kind/tooManyRedirects`` past the limit, and for a request that was made before.
    func redirected(by head: HTTPResponse, after history: [HTTPResponseData.Redirect]) throws -> HTTPRequestData? {
        guard let limit = redirects.limit, head.isRedirect, let location = head.headerFields[.location],
            let url = URL(string: location, relativeTo: url)?.absoluteURL
        else { return nil }

        var next = self
        next.changeMethod(for: head.status.code)
        next.url = url
        guard let host = next.host, !host.isEmpty, next.scheme == "https" || next.scheme == scheme,
            next.body?.isReplayable ?? true
        else { return nil }

        guard history.count < limit else {
            throw tooManyRedirects(head, "The server redirects more than \(limit) times, the most that are followed.")
        }
        let isRepeated = history.contains { $0.request.method == next.method && $0.request.url == next.url }
        guard !isRepeated, next.method != method || next.url != self.url else {
            throw tooManyRedirects(head, "The server redirects in circles, to where the request has been.")
        }
        if next.origin != origin {
            next.removeCredentials()
        }
        return next
    }

    /// POST becomes GET after 301 and 302, everything but GET and HEAD after 303; 307 and 308 change nothing.
    private mutating func changeMethod(for code: Int) {
        let becomesGet =
            switch code {
            case 301, 302: method == .post
            case 303: method != .get && method != .head
            default: false
            }
        guard becomesGet else { return }
        method = .get
        body = nil
        headerFields.removeAll { $0.name.canonicalName.hasPrefix("content-") }
    }

    /// What one server was told is not another's.
    ///
    /// What was removed is gone for the hops that follow, too.
    private mutating func removeCredentials() {
        headerFields.removeAll { Redaction.isCredential($0) }
    }

    /// Scheme, host and port, with the port that the scheme implies (RFC 6454 section 4).
    private var origin: [String] {
        let port = port ?? (scheme == "http" ? 80 : 443)
        return [scheme ?? "https", host?.lowercased() ?? "", "\(port)"]
    }

    private func tooManyRedirects(_ head: HTTPResponse, _ reason: String) -> NetworkingError {
        NetworkingError(
            .tooManyRedirects,
            request: self,
            response: HTTPResponseData(request: self, http: head, body: .collected(Data())),
            reason: reason
        )
    }
}
