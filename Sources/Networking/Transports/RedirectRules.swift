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
    /// location that is no http URL or holds credentials, a way from https to http, and a body that would have to be
    /// sent again but can not.
    ///
    /// - Throws: ``NetworkingError/Kind/tooManyRedirects`` past the limit, and for a request that was made before.
    func redirected(by head: HTTPResponse, after history: [HTTPResponseData.Redirect]) throws -> HTTPRequestData? {
        guard let limit = redirects.limit, head.isRedirect, let location = head.headerFields[.location],
            let url = destination(of: location)
        else { return nil }

        var next = self
        next.changeMethod(for: head.status.code)
        next.url = url
        guard next.scheme == "https" || next.scheme == scheme, next.body?.isReplayable ?? true,
            next.authorityInvalidity(Authority(next.authority ?? "")) == nil
        else { return nil }

        guard history.count < limit else {
            throw tooManyRedirects(head, "The server redirects more than \(limit) times, the most that are followed.")
        }
        // Where a cookie was set on the way, the same request may be answered differently the second time.
        let hasNewCookie = head.headerFields.contains(.setCookie) || history.contains(where: \.setsCookie)
        let isRepeated =
            next.method == method && next.url == self.url
            || history.contains { $0.request.method == next.method && $0.request.url == next.url }
        guard !isRepeated || hasNewCookie else {
            throw tooManyRedirects(head, "The server redirects in circles, to where the request has been.")
        }
        if next.origin != origin {
            next.removeCredentials()
        }
        return next
    }

    /// The URL that a location points to, without its fragment.
    ///
    /// What a URL may not hold is encoded before Foundation sees it, which would encode the location's escapes again.
    private func destination(of location: String) -> URL? {
        let reference = location[..<(location.utf8.firstIndex(of: UInt8(ascii: "#")) ?? location.endIndex)]
        let isDelimiter = { (byte: UInt8) in byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") }
        var targetStart = reference.startIndex
        if let slashes = reference.utf8.firstRange(of: "//".utf8),
            !reference.utf8[..<slashes.lowerBound].contains(where: isDelimiter)
        {
            let rest = reference.utf8[slashes.upperBound...]
            targetStart = rest.firstIndex(where: isDelimiter) ?? rest.endIndex
        }
        let target = PercentEncoding.encodeTarget(String(reference[targetStart...]))
        return URL(string: reference[..<targetStart] + target, relativeTo: url)?.absoluteURL
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

extension HTTPResponseData.Redirect {
    fileprivate var setsCookie: Bool {
        response.headerFields.contains(.setCookie)
    }
}
