import HTTPTypes
import NetworkingCore
import NetworkingResilience

// Outside of `server(endpoints:)`, a response comes from the server and not from one of its endpoints. Otherwise a
// relative link, a redirect or an invalidated URL would lead to that one endpoint, even after it has failed, and past
// the entries of caches and the cookies of the server.

extension HTTPResponseData {
    /// Returns the response of an endpoint as that of its server.
    func from(_ endpoint: String, to request: HTTPRequestData) -> HTTPResponseData {
        var response = self
        response.endpoint = endpoint
        if response.sentRequest.authority == endpoint {
            response.sentRequest.authority = request.authority
        }
        response.renameServer(from: endpoint, to: request)
        return response
    }

    private static let fieldsWithURLs: [HTTPField.Name] = [.location, .contentLocation, .link]

    /// Replaces the endpoint in the fields that contain URLs of its server.
    private mutating func renameServer(from endpoint: String, to request: HTTPRequestData) {
        // Few responses have any of the fields.
        guard headerFields.contains(where: { Self.fieldsWithURLs.contains($0.name) }),
            let authority = request.authority, authority != endpoint
        else { return }
        let isPlain = request.scheme == "http"
        let origin = (scheme: isPlain ? "http" : "https", key: AuthorityKey(endpoint, isPlain: isPlain))
        for name in [HTTPField.Name.location, .contentLocation] {
            // Contradictory fields stay as they are, so that no redirect follows them.
            let values = headerFields[values: name]
            guard let value = values.first, values.count == 1 else { continue }
            if let renamed = value.replacingOrigin(origin.scheme, origin.key, by: authority) {
                headerFields[name] = renamed
            }
        }
        if let links = headerFields[.link] {
            // Each target is in angle brackets (RFC 8288 section 3).
            let parts = links.split(separator: "<", omittingEmptySubsequences: false)
            let renamed = parts.map { String($0).replacingOrigin(origin.scheme, origin.key, by: authority) }
            if renamed.contains(where: { $0 != nil }) {
                headerFields[.link] = zip(parts, renamed).map { $1 ?? String($0) }.joined(separator: "<")
            }
        }
    }
}

extension NetworkingError {
    /// Returns the error of an attempt that was sent to an endpoint.
    func from(_ endpoint: String, to request: HTTPRequestData) -> NetworkingError {
        var error = self
        error.endpoint = endpoint
        error.response = response?.from(endpoint, to: request)
        return error
    }
}

extension HTTPField.Name {
    // The name is valid, so the value is not `nil`.
    fileprivate static let link = HTTPField.Name("Link")!
}

extension String {
    /// Returns a reference with another authority if it has this origin; `nil` otherwise.
    fileprivate func replacingOrigin(_ scheme: String, _ key: AuthorityKey, by authority: String) -> String? {
        guard let slashes = utf8.firstRange(of: "//".utf8) else { return nil }
        let before = self[..<slashes.lowerBound]
        guard before.isEmpty || before.lowercased() == "\(scheme):" else { return nil }
        let rest = self[slashes.upperBound...]
        let end = rest.utf8.firstIndex { "/?#>".utf8.contains($0) } ?? rest.endIndex
        guard AuthorityKey(String(rest[..<end]), isPlain: scheme == "http") == key else { return nil }
        return "\(before)//\(authority)\(rest[end...])"
    }
}
