import FoundationForNetworking
import HTTPTypes

extension HTTPRequestData {
    /// Throws an error for a request that HTTP does not allow or that would expose a secret.
    ///
    /// Several Cookie fields become one. A valid request is checked again only after it has been changed.
    mutating func check() throws {
        guard !state.contains(.isChecked) else { return }
        // A modifier may have set another path since the request was resolved.
        let isPlain = target.map(RequestTarget.isPlain) == true
        if !isPlain {
            closeTarget()
        }
        try checkBody()
        if let reason = invalidity(isPlain: isPlain) {
            throw NetworkingError(.invalidRequest, request: self, reason: reason)
        }
        if headerFields.httpFields.repeatsCookies {
            headerFields.joinCookies()
        }
        state.insert(.isChecked)
    }

    /// The reason why the request is invalid and a way to solve it; `nil` if it is valid.
    ///
    /// - Parameter isPlain: Whether the target is known to be valid.
    /// - Returns: The reason.
    private func invalidity(isPlain: Bool) -> String? {
        guard var text = authority else {
            return "The request has no authority. Add .server(authority:) to the stack, or give the request a URL."
        }
        // Nearly all authorities are plain names, which need no parsing.
        let isPlainName = text.withUTF8 {
            !$0.isEmpty && $0.count <= Authority.maximumHostBytes && $0.allSatisfy(Authority.isPlainNameByte)
        }
        if !isPlainName, let reason = Authority(text).invalidity {
            return reason
        }
        let scheme = scheme
        return schemeInvalidity(scheme) ?? targetInvalidity(isPlain: isPlain)
            ?? headerFieldInvalidity() ?? queryInvalidity()
    }

    private func queryInvalidity() -> String? {
        guard let names = box?.value.secretQueryItems, !names.isEmpty, exposesCredentials,
            let item = query.items.first(where: { names.contains($0.name.lowercased()) })
        else { return nil }
        return Self.plaintextRefusal(of: "The query item \(PrintableText.singleLine(item.name))")
    }

    private func schemeInvalidity(_ scheme: String?) -> String? {
        scheme.flatMap(Self.invalidity(ofScheme:))
    }

    /// Returns the reason why a request cannot have a scheme and a way to solve it; `nil` if it can.
    static func invalidity(ofScheme scheme: String) -> String? {
        guard scheme != "https", scheme != "http" else { return nil }
        return "The scheme is neither https nor http. Other schemes are not supported."
    }

    private func targetInvalidity(isPlain: Bool) -> String? {
        if state.contains(.hasInvalidSegment) {
            return
                "A value in the path is empty, \".\" or \"..\", or contains \"..\" between slashes, so that the path "
                + "would name another resource. Check the value before the request is created."
        }
        if state.contains(.hasSchemeInPath) {
            return
                "The path begins with a scheme, so it is a URL and not a path of the stack's server. Use .get(url) or "
                + "HTTPRequestData(url:) for a request to another server, or add a leading slash to the path."
        }
        return isPlain ? nil : target.flatMap(RequestTarget.invalidity)
    }

    private func headerFieldInvalidity() -> String? {
        if let name = headerFields.refusedNames.first {
            return
                "The value of the field \(name.rawName) contains a line "
                + "break, a NUL or another byte that HTTP forbids. "
                + "Remove it; a token that was read from a file often ends with a line break."
        }
        if let name = headerFields.refusedCustomName {
            return "\"\(PrintableText.singleLine(name))\" is not a field name. "
                + "Names consist of letters, digits and !#$%&'*+-.^_`|~ (RFC 9110 section 5.6.2)."
        }
        guard !headerFields.isEmpty else { return nil }
        let isExposed = exposesCredentials
        for field in headerFields.httpFields {
            if Self.isOfTransport(field.name) {
                return "The field \(field.name.rawName) belongs to the transport, which sets it itself. Remove it."
            }
            if isExposed, field.isCredential {
                return Self.plaintextRefusal(of: "The field \(field.name.rawName)")
            }
        }
        return nil
    }

    /// RFC 9110 sections 7.2, 7.6.1, 7.8 and 8.6; RFC 9112 section 6.1.
    private static func isOfTransport(_ name: HTTPField.Name) -> Bool {
        switch name.canonicalName {
        case "host", "content-length", "transfer-encoding", "connection", "upgrade", "keep-alive", "proxy-connection":
            true
        default:
            false
        }
    }
}
