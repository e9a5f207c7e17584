public import HTTPTypes

extension NetworkingComponent {
    /// Sets a header field of requests that do not have it.
    ///
    /// ```swift
    /// let network = URLSession.shared
    ///     .server(headerField: .accept, "application/json")
    ///     .server(headerField: .authorization, "Bearer \(token)")
    ///     .server(authority: "api.example.com")
    /// ```
    ///
    /// A field with a credential (``HTTPTypes/HTTPField/isCredential``) is sent only to the server that the nearest
    /// `server` modifier names. Requests to other servers, such as absolute URLs, are sent without it.
    ///
    /// - Parameters:
    ///   - name: The name of the field.
    ///   - value: The value. If HTTP forbids it, each send fails with an error that says so.
    ///   - overriding: Whether it replaces the value of requests that have the field.
    /// - Returns: A component that sends requests with that field.
    public func server(
        headerField name: HTTPField.Name,
        _ value: String,
        overriding: Bool = false
    ) -> some NetworkingComponent {
        modified(Server(headerField: name, value, overriding: overriding))
    }

    /// Sets a header field by its name as a string, on requests that do not have it.
    ///
    /// - Parameters:
    ///   - name: The name of the field. If HTTP forbids it, each send fails with an error that says so.
    ///   - value: The value.
    ///   - overriding: Whether it replaces the value of requests that have the field.
    /// - Returns: A component that sends requests with that field.
    public func server(
        customHeaderField name: String,
        _ value: String,
        overriding: Bool = false
    ) -> some NetworkingComponent {
        guard let fieldName = HTTPField.Name(name) else {
            return modified(
                Server("customHeaderField: \(PrintableText.singleLine(name))") { request in
                    request.headerFields.refuse(customName: name)
                }
            )
        }
        return modified(Server(headerField: fieldName, value, overriding: overriding, label: "customHeaderField"))
    }

    /// Sets several header fields of requests that do not have them.
    ///
    /// ```swift
    /// let network = URLSession.shared
    ///     .server(headerFields: [.accept: "application/json", "X-Client": "app"])
    ///     .server(authority: "api.example.com")
    /// ```
    ///
    /// Fields with credentials are sent only to the server that the nearest `server` modifier names.
    ///
    /// - Parameters:
    ///   - fields: The fields. If HTTP forbids a name or a value, each send fails with an error that says so.
    ///   - overriding: Whether they replace the fields of requests that have them.
    /// - Returns: A component that sends requests with those fields.
    public func server(headerFields fields: HeaderFields, overriding: Bool = false) -> some NetworkingComponent {
        modified(Server(headerFields: fields, overriding: overriding))
    }

    /// Sets the User-Agent of requests that do not have one.
    ///
    /// - Parameter userAgent: The product and its version, for example `Shop/2.1`.
    /// - Returns: A component that sends requests with that User-Agent.
    public func server(userAgent: String) -> some NetworkingComponent {
        server(headerField: .userAgent, userAgent)
    }
}

extension Server {
    fileprivate init(headerFields fields: HeaderFields, overriding: Bool) {
        let credentials = fields.httpFields.filter(\.isCredential).map(\.name)
        let names = fields.httpFields.map(\.name.rawName).joined(separator: ", ")
        self.init(
            "headerFields: \(names)\(overriding.setting)",
            credential: credentials.contains(.authorization) ? .authorization : credentials.first
        ) { request in
            let added = request.headerFields.merge(fields, overriding: overriding)
            for name in credentials where added.contains(name) {
                request.addServerCredential(name)
            }
        }
    }

    fileprivate init(
        headerField name: HTTPField.Name,
        _ value: String,
        overriding: Bool,
        label: String = "headerField"
    ) {
        let field = HTTPField(name: name, value: value)
        let isValid = HTTPField.isValidValue(value)
        let isCredential = field.isCredential
        self.init("\(label): \(name.rawName)\(overriding.setting)", credential: isCredential ? name : nil) { request in
            let isThere = request.headerFields.contains(name)
            guard overriding || !isThere else { return }
            if isThere || !isValid {
                request.headerFields[name] = value
            } else {
                // The result of the check when the stack was built is used, so that no send has to repeat it.
                request.headerFields.append(field)
            }
            if isCredential {
                request.addServerCredential(name)
            }
        }
    }
}
