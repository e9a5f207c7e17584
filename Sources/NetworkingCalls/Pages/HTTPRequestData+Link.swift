import FoundationForNetworking
import HTTPTypes
import NetworkingCore

extension HTTPRequestData {
    /// Returns the request for the target of a link in the response to this request.
    ///
    /// The request is absolute and keeps the method, the header fields, the body and the options of this one. If the
    /// link leads to another origin, or if the request was redirected to another origin that sent the link, the request
    /// is sent without credentials, as after a redirect to another origin. It keeps the options that are not
    /// credentials (``RequestOption/isCredential``).
    ///
    /// - Parameters:
    ///   - target: The reference in the link, which may be relative to the URL of the response.
    ///   - response: The response.
    /// - Returns: The request.
    /// - Throws: ``NetworkingError/Kind/invalidResponse`` if the target cannot be followed.
    func following(_ target: String, in response: HTTPResponseData) throws -> HTTPRequestData {
        // Credentials of the app were meant for the server that received the request first, before any redirect.
        let sent = response.redirects.first?.request ?? response.sentRequest
        guard let url = Self.destination(of: target, relativeTo: response.url) else {
            throw Self.unusable(response, "is not a URL")
        }
        var next = withNewID
        next.url = url
        guard next.scheme == "https" || next.scheme == "http", next.host?.isEmpty == false else {
            throw Self.unusable(response, "is not an http or https URL")
        }
        guard next.scheme == "https" || sent.scheme == "http" || redirects.allowsDowngrade else {
            throw Self.unusable(response, "leads from https to http, where third parties can read the response")
        }
        if next.route != nil, next.path != sent.path {
            next.route = nil
        }
        let isSameServer = next.origin == sent.origin
        if isSameServer {
            // Another spelling, such as an explicit default port, would be another server to the stack.
            next.scheme = sent.scheme
            next.authority = sent.authority
        }
        // The target of a redirect must not choose the next request to the first server.
        guard !isSameServer || response.sentRequest.origin != sent.origin else { return next }
        guard method.isSafe, body == nil else {
            throw Self.unusable(
                response,
                "leads to another server or comes from one, which must not decide where the body of the request is sent"
            )
        }
        next.removeCredentials(under: redirects)
        return next
    }

    /// Returns the URL of a reference, without its fragment.
    private static func destination(of reference: String, relativeTo base: URL?) -> URL? {
        // An empty reference, or one with only a fragment, refers to the URL of the response.
        reference.isEmpty || reference.hasPrefix("#") ? base : URL(reference: reference, relativeTo: base)
    }

    private static func unusable(_ response: HTTPResponseData, _ fault: String) -> NetworkingError {
        NetworkingError(
            .invalidResponse,
            request: response.sentRequest,
            response: response,
            reason: "The link to the next page \(fault)."
        )
    }
}
