import HTTPTypes

extension HTTPRequestData {
    /// Rewrites the request as a component and its upstream would, unless it has been rewritten already.
    mutating func resolve(by component: some NetworkingComponent) {
        guard !isResolved else { return }
        destination.stage = .resolving(isRelative: authority == nil)
        component.resolve(&self)
        withholdCredentials()
        if scheme == nil {
            scheme = "https"
        }
        closeTarget()
        describeBody()
        destination.stage = .resolved
    }

    /// Checks again whether the request goes to a server of the stack, because another stack may have rewritten it.
    mutating func recognizeServer(of component: some NetworkingComponent) {
        destination.server = .unnamed
        credentialServers = nil
        // A copy takes 260 instructions, because little of it is rewritten. A new request would take 4,200.
        var probe = self
        probe.destination.stage = .resolving(isRelative: false)
        component.resolve(&probe)
        if !probe.content.value.users.isEmpty {
            content.value.users = probe.content.value.users
        }
        guard probe.hasServer else { return }
        destination.server = probe.isForServer && isAuthority(of: probe.authority) ? .named : .other
        credentialServers = probe.credentialServers
    }

    /// Sets the media type of the body, unless the header fields have one.
    package mutating func describeBody() {
        guard let body, let contentType = body.contentType else { return }
        guard let stated = headerFields[.contentType] else {
            headerFields[.contentType] = contentType
            return
        }
        // The parts cannot be separated without their boundary, which the caller does not need to know.
        if let boundary = body.boundary, stated.lowercased().hasPrefix("multipart/") {
            headerFields[.contentType] = stated.withBoundary(boundary, from: contentType)
        }
    }
}

extension String {
    /// Returns the media type with the boundary as a parameter, in place of any other boundary.
    fileprivate func withBoundary(_ boundary: String, from contentType: String) -> String {
        func value(of parameter: Substring) -> String? {
            let parts = parameter.split(separator: "=", maxSplits: 1).map { $0.filter { $0 != " " && $0 != "\"" } }
            return parts.count == 2 && parts[0].lowercased() == "boundary" ? parts[1] : nil
        }
        let parameters = split(separator: ";", omittingEmptySubsequences: false)
        let kept = parameters.filter { value(of: $0) == nil || value(of: $0) == boundary }
        let type = kept.joined(separator: ";")
        return kept.contains { value(of: $0) == boundary } ? type : type + contentType.drop { $0 != ";" }
    }
}
