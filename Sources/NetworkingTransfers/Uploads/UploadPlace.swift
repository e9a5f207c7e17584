import FoundationForNetworking
import HTTPTypes
import NetworkingCore

/// The URL of an upload, which the server names in `Location`.
struct UploadPlace: Equatable, Sendable {
    /// The maximum length of the URL, in bytes.
    static let maximumBytes = 16_384

    let url: String
    /// Whether the URL has the origin of the server that received the request, so that credentials may be sent there.
    ///
    /// A state file does not store it, because the next request may go to another server.
    let hasOriginOfRequest: Bool

    /// Resolves the field of a response.
    ///
    /// - Parameters:
    ///   - location: The value of the field.
    ///   - responder: The request that the response belongs to, as it was sent.
    ///   - first: The request as it was sent before any redirect.
    /// - Throws: The reason why the location cannot be used.
    init(_ location: String, from responder: HTTPRequestData, after first: HTTPRequestData) throws(Unusable) {
        guard location.utf8.count <= Self.maximumBytes, !location.isEmpty,
            let url = URL(reference: location, relativeTo: responder.url)
        else { throw Unusable(fault: "is not a URL of at most \(Self.maximumBytes) bytes") }
        var target = HTTPRequestData(url: url)
        let authority = Authority(target.authority ?? "")
        guard target.scheme == "https" || target.scheme == "http", !authority.host.isEmpty, authority.userinfo == nil
        else { throw Unusable(fault: "is not an http or https URL without credentials") }
        guard target.scheme == "https" || first.scheme == "http" || first.redirects.allowsDowngrade else {
            throw Unusable(fault: "leads from https to http, where third parties can read the upload")
        }
        hasOriginOfRequest = target.origin == first.origin
        // The target of a redirect must not choose the next request to the first server.
        guard !hasOriginOfRequest || responder.origin == first.origin else {
            throw Unusable(fault: "leads back to a server that has redirected the request")
        }
        if hasOriginOfRequest {
            // Another spelling, such as an explicit default port, would be another server to the stack.
            (target.scheme, target.authority) = (first.scheme ?? "https", first.authority)
        }
        guard let text = target.absoluteString, text.utf8.count <= Self.maximumBytes else {
            throw Unusable(fault: "is too long")
        }
        self.url = text
    }

    /// The reason why a location cannot be used.
    struct Unusable: Error {
        let fault: String

        var reason: String {
            "The URL of the upload, which the server named in Location, \(fault)."
        }
    }
}

extension HTTPRequestData {
    /// Returns a request to the URL of an upload that this request has created.
    ///
    /// It keeps the options and the header fields that do not describe the body. If the URL has another origin, the
    /// request is sent without credentials, as after a redirect to another origin.
    func atUpload(_ place: UploadPlace, method: HTTPRequest.Method) -> HTTPRequestData {
        var next = withNewID
        next.method = method
        next.body = nil
        next.url = URL(string: place.url)
        if next.route != nil {
            next.route = nil
        }
        next.isIdempotent = method == .patch ? false : nil
        next.removeFieldsOfBody()
        next.headerFields[.cacheControl] = "no-store"
        if !place.hasOriginOfRequest {
            next.removeCredentials(under: redirects)
        }
        // A reader of a log could continue or cancel the upload with the URL.
        let (path, query) = RequestTarget.split(next.target ?? "")
        let known = Set(RequestTarget.split(target ?? "").path.split(separator: "/"))
        let segments = path.split(separator: "/").filter { !known.contains($0) }
        let values = (query ?? "").split(separator: "&").compactMap { $0.split(separator: "=", maxSplits: 1).last }
        for text in segments + values where text.mayBeSecret {
            next.markSecret(String(text))
        }
        return next
    }

    /// Removes the header fields that describe the body or apply only to the request that creates the upload.
    mutating func removeFieldsOfBody() {
        headerFields.removeAll { field in
            let name = field.name.canonicalName
            return ["content-", "if-", "upload-", "tus-", "want-"].contains { name.hasPrefix($0) }
                || ["idempotency-key", "repr-digest", "expect", "range"].contains(name)
        }
    }
}

extension Substring {
    /// Whether a part of a URL is too long for a word, or is an identifier with digits.
    fileprivate var mayBeSecret: Bool {
        utf8.count >= 16 || utf8.count >= 8 && utf8.contains { 0x30...0x39 ~= $0 }
    }
}
