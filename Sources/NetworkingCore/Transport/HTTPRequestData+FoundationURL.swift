package import FoundationForNetworking

extension HTTPRequestData {
    /// Returns the URL of a checked request, after a comparison of what Foundation reads in it with the request.
    ///
    /// A transport over Foundation's `URL` sends to the server of that URL, but the checks of the stack and its
    /// credentials are for the ``authority``. If the two differed, the credentials would reach another server.
    ///
    /// - Returns: The URL.
    /// - Throws: ``NetworkingError/Kind/invalidRequest`` if Foundation cannot read the URL, or reads another host,
    ///   port, path or query in it.
    package func foundationURL() throws -> URL {
        guard let text = absoluteString, let url = URL(string: text) else {
            throw NetworkingError(
                .invalidRequest,
                request: self,
                reason: "Foundation cannot create a URL from this request. Check its host and path."
            )
        }
        guard isAddressed(by: url) else {
            throw NetworkingError(
                .invalidRequest,
                request: self,
                reason: "Foundation reads another server or path in the URL of this request. Check its host and path, "
                    + "and write a host in ASCII."
            )
        }
        return url
    }

    /// Returns whether Foundation reads the server and the target of the request in a URL, and nothing else.
    private func isAddressed(by url: URL) -> Bool {
        let authority = Authority(authority ?? "")
        guard url.scheme == scheme ?? "https", url.user == nil, url.fragment == nil, url.port == authority.port,
            let host = url.host(percentEncoded: false), authority.isHost(host)
        else { return false }
        let target = requestTarget
        // The asterisk is not part of the URL.
        guard target != "*" else { return url.path(percentEncoded: true).isEmpty && url.query == nil }
        let (path, query) = RequestTarget.split(target)
        return url.path(percentEncoded: true) == path && url.query(percentEncoded: true) == query.map { String($0) }
    }
}
