import HTTPTypes

/// What is remembered while a chain rewrites a request, and only then.
struct Resolution: Sendable {
    /// Whether the caller left the authority open, so that the request belongs to the stack's server.
    ///
    /// One that names its authority goes where it points, and only gets header fields.
    let isRelative: Bool

    /// The authorities that the stack names.
    var authorities: [String] = []

    /// The fields with credentials that the stack set; they stay with those authorities.
    var credentials: [HTTPField.Name] = []

    init(of request: HTTPRequestData) {
        isRelative = request.authority == nil
    }
}

extension HTTPRequestData {
    /// Whether the request belongs to the stack's server: its caller left the authority open.
    var isRelative: Bool {
        resolution?.value.isRelative ?? (authority == nil)
    }

    /// Rewrites it as a component and all upstream of it would, unless that has been done.
    mutating func resolve(by component: some NetworkingComponent) {
        guard !state.contains(.isResolved) else { return }
        resolution = CopyOnWrite(Resolution(of: self))
        component.resolve(&self)
        withholdCredentials()
        resolution = nil
        if scheme == nil {
            scheme = "https"
        }
        if path == nil {
            target = closedTarget
        }
        if let contentType = body?.contentType, !headerFields.contains(.contentType) {
            headerFields[.contentType] = contentType
        }
        state.insert(.isResolved)
    }

    /// Takes off the credentials that the stack set when the request goes to an authority that the stack does not name.
    ///
    /// The transport tells of it: whoever listens in the stack does so from its own place on, and a look is no event.
    private mutating func withholdCredentials() {
        guard let resolution = resolution?.value, !resolution.credentials.isEmpty, let authority else { return }
        let isNamed = resolution.authorities.contains { $0.lowercased() == authority.lowercased() }
        guard !isNamed else { return }
        for name in resolution.credentials {
            headerFields[name] = nil
        }
        settings.withheldCredentials = resolution.credentials
    }
}
