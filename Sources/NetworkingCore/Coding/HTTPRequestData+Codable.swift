import FoundationForNetworking
import HTTPTypes

extension HTTPRequestData: Codable {
    /// Writes the request without credentials, for a store that sends it later.
    ///
    /// Writes the message and each option whose declaration says so (``RequestOption/Storage/always``). All other
    /// options, sinks, handlers, listeners and the identifier are left out.
    ///
    /// These parts of the message are left out too, so that the stack adds them when the request is sent:
    /// - header fields that are credentials (`HTTPField.isCredential`) or contain a text that is marked as a secret,
    /// - query items with the name of a credential, query items of ``setCredential(_:forQueryItem:)``, and query items
    ///   that contain a marked text,
    /// - the user and the password in the authority.
    ///
    /// A body in memory is written with its bytes, and a file with its path. A body that leaves its encoding to the
    /// stack is written as the standard encoder encodes it.
    ///
    /// - Parameter encoder: The encoder.
    /// - Throws: ``NetworkingError/Kind/bodyNotReplayable`` for a body that is a stream or has parts that are files,
    ///   ``NetworkingError/Kind/unencodableBody`` for a body that could not be encoded, and
    ///   ``NetworkingError/Kind/invalidRequest`` for an invalid header field or path, an option that could not be
    ///   encoded, or a marked text in the URL, the body or an option.
    public func encode(to encoder: any Encoder) throws {
        try StoredRequest(self).encode(to: encoder)
    }

    /// Reads a request.
    ///
    /// It gets a new identifier. An option is decoded when it is read; a value that its type does not accept is
    /// replaced by the default.
    ///
    /// - Important: Decode requests only from a source that you trust, such as a file that only the app can write. A
    ///   request names its server, and its body may be any file that the app can read.
    ///
    /// - Parameter decoder: The decoder.
    /// - Throws: `DecodingError` if the method, the scheme, the authority, the target, a header field, the body or an
    ///   option is not valid.
    public init(from decoder: any Decoder) throws {
        self = try StoredRequest(from: decoder).request(codingPath: decoder.codingPath)
    }
}

/// The parts of a request that are written.
private struct StoredRequest: Codable {
    struct Field: Codable {
        var name: String
        var value: String
    }

    struct Body: Codable {
        var data: Data?
        var file: String?
        var type: String?
    }

    var method: String
    var scheme: String?
    var authority: String?
    var target: String?
    var fields: [Field] = []
    var body: Body?
    var options: [String: StoredOption]?
    // Earlier versions wrote these options here.
    private(set) var timeout: Duration?
    private(set) var deadline: Duration?
    private(set) var priority: RequestPriority?
    private(set) var route: String?
    private(set) var isIdempotent: Bool?
    private(set) var authenticationMethod: AuthenticationMethod?
    private(set) var networkAccess: NetworkAccess?

    init(_ request: HTTPRequestData) throws {
        func refusal(_ kind: NetworkingError.Kind, _ reason: String) -> NetworkingError {
            NetworkingError(kind, request: request, reason: "\(reason) The request was not stored.")
        }
        guard request.headerFields.refusedNames.isEmpty, request.headerFields.refusedCustomName == nil else {
            throw refusal(.invalidRequest, "A header field has a name or a value that HTTP forbids.")
        }
        guard request.state.isDisjoint(with: [.hasInvalidSegment, .hasSchemeInPath]) else {
            throw refusal(.invalidRequest, "A value in the path is empty, \".\" or \"..\", or the path is a URL.")
        }
        let secrets = request.settings.secretValues
        method = request.method.rawValue
        scheme = request.scheme
        authority = request.authority.map { text in
            // The user and the password are before the last `@`.
            text.utf8.lastIndex(of: UInt8(ascii: "@")).map { String(text[text.utf8.index(after: $0)...]) } ?? text
        }
        target = request.targetWithoutSecrets()
        if let reason = Self.addressInvalidity(scheme, authority, target) {
            throw refusal(.invalidRequest, reason)
        }
        let (target, authority) = (target ?? "", authority ?? "")
        guard secrets.redacted(in: target) == target, secrets.redacted(in: authority) == authority else {
            throw refusal(.invalidRequest, "Its URL contains a text that is marked as a secret.")
        }
        fields = request.headerFields
            .filter { !$0.isCredential && secrets.redacted(in: $0.value) == $0.value }
            .map { Field(name: $0.name.rawName, value: $0.value) }
        if let body = request.body {
            try request.checkBody()
            guard body.data != nil || body.fileURL != nil else {
                throw refusal(
                    .bodyNotReplayable,
                    "The body is neither in memory nor a file, so it cannot be stored. "
                        + "Use .data, .json, .form or .file."
                )
            }
            guard body.data.flatMap({ secrets.redacted(in: Array($0)) }) == nil else {
                throw refusal(.invalidRequest, "Its body contains a text that is marked as a secret.")
            }
            self.body = Body(data: body.data, file: body.fileURL?.path, type: body.contentType)
        }
        guard let options = try? request.settings.storedOptions else {
            throw refusal(.invalidRequest, "An option could not be encoded.")
        }
        guard options.values.allSatisfy({ secrets.redacted(in: $0.value) == $0.value }) else {
            throw refusal(.invalidRequest, "An option contains a text that is marked as a secret.")
        }
        self.options = options.isEmpty ? nil : options
    }

    /// Returns why a request cannot have these parts, by the rules that it is checked with before it is sent.
    private static func addressInvalidity(_ scheme: String?, _ authority: String?, _ target: String?) -> String? {
        scheme.flatMap(HTTPRequestData.invalidity(ofScheme:))
            ?? authority.flatMap { Authority($0).invalidity }
            ?? target.flatMap { RequestTarget.isRooted($0) ? nil : RequestTarget.invalidity(of: $0) }
    }

    func request(codingPath: [any CodingKey]) throws -> HTTPRequestData {
        func damage(_ reason: String) -> DecodingError {
            DecodingError.dataCorrupted(DecodingError.Context(codingPath: codingPath, debugDescription: reason))
        }
        guard let method = HTTPRequest.Method(method) else { throw damage("The method is not valid.") }
        if let reason = Self.addressInvalidity(scheme, authority, target) { throw damage(reason) }
        var request = HTTPRequestData(method: method, scheme: scheme, authority: authority)
        request.target = target
        for field in fields {
            guard let name = HTTPField.Name(field.name), HTTPField.isValidValue(field.value) else {
                throw damage("A header field is not valid.")
            }
            request.headerFields.append(HTTPField(name: name, value: field.value))
        }
        if let body {
            switch (body.data, body.file) {
            case (let data?, nil):
                request.body = .data(data, contentType: body.type ?? "application/octet-stream")
            case (nil, let path?):
                request.body = .file(URL(filePath: path), contentType: body.type)
            default:
                throw damage("The body has neither bytes nor a file, or both.")
            }
        }
        if let timeout { request.timeout = timeout }
        if let deadline { request.deadline = deadline }
        if let priority { request.priority = priority }
        if let route { request.route = route }
        if let isIdempotent { request.isIdempotent = isIdempotent }
        if let authenticationMethod { request.authenticationMethod = authenticationMethod }
        if let networkAccess { request.networkAccess = networkAccess }
        if let options, !options.isEmpty { request.settings.unread = options }
        return request
    }
}

extension HTTPRequestData {
    /// Returns the path and query without the items that are secret.
    fileprivate func targetWithoutSecrets() -> String? {
        let (names, values) = (settings.secretQueryItems, settings.secretValues)
        let items = query.items
        let kept = items.filter { item in
            !CredentialNames.queryItems.redacts(item.name) && !names.contains(item.name.lowercased())
                && values.redacted(in: item.value ?? "") == item.value ?? ""
        }
        guard kept != items else { return target }
        var request = self
        request.query.items = kept
        return request.target
    }
}
