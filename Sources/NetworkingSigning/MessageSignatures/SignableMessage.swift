#if Crypto
import FoundationForNetworking
import HTTPTypes
import NetworkingCore
import RawStructuredFieldValues

/// The reason why a message cannot be signed, or must not be trusted.
struct SignatureFault: Error {
    let reason: String
    var kind: NetworkingError.Kind?
    /// Whether the only fault is that the signature belongs to another key or tag.
    var isForeign = false

    init(_ reason: String, kind: NetworkingError.Kind? = nil, isForeign: Bool = false) {
        self.reason = reason
        self.kind = kind
        self.isForeign = isForeign
    }
}

/// A message that can be signed.
enum SignableMessage {
    case request(HTTPRequestData)
    case response(HTTPResponseData)

    /// Returns the lines of a field.
    func lines(of name: HTTPField.Name) -> [HTTPField] {
        switch self {
        case .request(let request):
            var fields = request.headerFields.httpFields
            // The transport sends one Cookie field.
            fields.joinCookies()
            return fields[fields: name]
        case .response(let response):
            return response.headerFields[fields: name]
        }
    }

    /// Returns the signature base (RFC 9421 section 2.5).
    func base(for signature: MessageSignature) throws -> Data {
        var text = ""
        for component in signature.components {
            // Each component may require parsing a long field.
            try Task.checkCancellation()
            text += "\(component): \(try value(of: component))\n"
        }
        text += "\"@signature-params\": \(try signature.input.serialized)"
        return Data(text.utf8)
    }

    /// Returns the canonical value of a component, a single line of ASCII.
    func value(of component: MessageComponent) throws -> String {
        try component.checkParameters()
        let value = try source(of: component).uncheckedValue(of: component)
        guard value.utf8.allSatisfy({ $0 >= 32 && $0 < 127 || $0 == 9 }) else {
            throw SignatureFault(
                component.isField
                    ? "The signature covers \(component), whose value is not in ASCII. Cover it with .binary."
                    : "The signature covers \(component), whose value is not in ASCII. Percent-encode it."
            )
        }
        return value
    }

    private func source(of component: MessageComponent) throws -> SignableMessage {
        guard component.isOfRequest else { return self }
        guard case .response(let response) = self else {
            throw SignatureFault(
                "The signature covers \(component), but only the signature of a response can cover its request."
            )
        }
        return .request(response.sentRequest)
    }

    private func uncheckedValue(of component: MessageComponent) throws -> String {
        switch self {
        case _ where component.isField:
            try fieldValue(of: component)
        case .request(let request):
            try request.derivedValue(of: component)
        case .response(let response) where component.name == "@status":
            "\(response.status.code)"
        case .response:
            throw SignatureFault(
                "The signature covers \(component), which a response does not have. Cover the component of its request "
                    + "with .ofRequest."
            )
        }
    }
}

// MARK: Component parameters

extension MessageComponent {
    /// Rejects parameters that are unknown or contradict each other.
    fileprivate func checkParameters() throws {
        for (name, value) in parameters {
            switch (name, value) {
            case ("req", .bool(true)):
                break
            case ("sf", .bool(true)), ("bs", .bool(true)), ("key", .string):
                guard isField else { throw SignatureFault("The parameter \(name) of \(self) is only for fields.") }
            case ("name", .string):
                guard self.name == "@query-param" else {
                    throw SignatureFault("The parameter name of \(self) is only for @query-param.")
                }
            case ("tr", _):
                throw SignatureFault("The signature covers \(self), a trailer. Trailers are not supported.")
            default:
                throw SignatureFault("The signature covers \(self), whose parameter \(name) is unknown or malformed.")
            }
        }
        if parameters["bs"] != nil, parameters["sf"] != nil || parameters["key"] != nil {
            throw SignatureFault(
                "The signature covers \(self), whose parameters exclude each other: bs uses the lines as they are, sf "
                    + "and key use the parsed value."
            )
        }
    }
}

// MARK: Derived components (RFC 9421 section 2.2)

extension HTTPRequestData {
    fileprivate func derivedValue(of component: MessageComponent) throws -> String {
        switch component.name {
        case "@method": return method.rawValue
        case "@target-uri": return try targetURI
        case "@authority": return try canonicalAuthority
        case "@scheme": return canonicalScheme
        case "@request-target": return requestTarget
        case "@path": return String(targetParts.path)
        case "@query": return "?\(targetParts.query ?? "")"
        case "@query-param": return try queryParameter(of: component)
        case "@status":
            throw SignatureFault("The signature covers \"@status\", which only a response has.")
        default:
            throw SignatureFault("The signature covers \(component), which RFC 9421 does not define.")
        }
    }

    private var canonicalScheme: String {
        scheme?.lowercased() ?? "https"
    }

    private var canonicalAuthority: String {
        get throws {
            guard let authority else {
                throw SignatureFault(
                    "The request has no authority to sign. Add .server(authority:) to the stack, "
                        + "or give the request a URL."
                )
            }
            return AuthorityKey(authority, isPlain: canonicalScheme == "http").text
        }
    }

    private var targetURI: String {
        get throws {
            let target = requestTarget
            return "\(canonicalScheme)://\(try canonicalAuthority)\(target == "*" ? "" : target)"
        }
    }

    private var targetParts: (path: Substring, query: Substring?) {
        let target = requestTarget
        // The URL of `OPTIONS *` has no path.
        return target == "*" ? ("/", nil) : RequestTarget.split(target)
    }

    /// Returns the value of a query item, form-decoded and encoded again (RFC 9421 section 2.2.8).
    private func queryParameter(of component: MessageComponent) throws -> String {
        guard case .string(let name) = component.parameters["name"] else {
            throw SignatureFault("The signature covers \"@query-param\" without saying which one.")
        }
        let values = (targetParts.query ?? "").split(separator: "&")
            .compactMap { item -> String? in
                let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                return parts[0].reencoded == name ? (parts.count == 2 ? parts[1].reencoded : "") : nil
            }
        guard let value = values.first else {
            throw SignatureFault("The signature covers \(component), which the query does not have.")
        }
        guard values.count == 1 else {
            throw SignatureFault(
                "The signature covers \(component), which the query has more than once. Cover the whole query instead."
            )
        }
        return value
    }
}

extension Substring {
    /// A part of a query item, form-decoded and percent-encoded in the canonical way.
    fileprivate var reencoded: String {
        PercentEncoding.formItem.encode(
            String(decoding: PercentEncoding.bytes(decoding: self, plusIsSpace: true), as: UTF8.self)
        )
    }
}

// MARK: Fields (RFC 9421 section 2.1)

extension SignableMessage {
    private func fieldValue(of component: MessageComponent) throws -> String {
        let lines = try presentLines(of: component)
        if component.parameters["bs"] != nil {
            return lines.map { ":\(Data($0.bytes).base64EncodedString()):" }.joined(separator: ", ")
        }
        if case .string(let key) = component.parameters["key"] {
            return try member(key, of: component, in: lines)
        }
        if component.parameters["sf"] != nil {
            return try strictValue(of: component, in: lines)
        }
        if component.name == "set-cookie", lines.count > 1 {
            throw SignatureFault(
                "The signature covers several Set-Cookie lines as one, which is ambiguous. Cover them with .binary."
            )
        }
        // Invalid UTF-8 decodes to characters outside ASCII, which are rejected too.
        return String(decoding: lines.combined, as: UTF8.self)
    }

    /// Returns the lines of the field, including lines that the transport will add.
    private func presentLines(of component: MessageComponent) throws -> [HTTPField] {
        guard component.name == component.name.lowercased(), let name = HTTPField.Name(component.name) else {
            throw SignatureFault("The signature covers \(component), which is not the name of a field in lower case.")
        }
        let lines = lines(of: name)
        guard lines.isEmpty else { return lines }
        if case .request(let request) = self {
            if name == .contentType, let type = request.body?.contentType {
                return [HTTPField(name: name, value: type)]
            }
            if name == .contentLength, let length = request.body?.length {
                return [HTTPField(name: name, value: "\(length)")]
            }
            if name.canonicalName == "host" {
                throw SignatureFault(
                    "The signature covers \"host\", which the transport sets. Cover @authority instead."
                )
            }
        }
        throw SignatureFault(
            "The signature covers the field \(component), which is missing. Set it, or do not cover it; fields that "
                + "the transport or an inner modifier adds are not set yet."
        )
    }

    private func member(_ key: String, of component: MessageComponent, in lines: [HTTPField]) throws -> String {
        guard let members = try? OrderedMap(lines: lines) else {
            throw SignatureFault("The signature covers \(component), but the field is not a dictionary (RFC 9651).")
        }
        guard let member = members[key], let value = try? member.serialized else {
            throw SignatureFault("The signature covers \(component), but the field has no such member.")
        }
        return value
    }

    private func strictValue(of component: MessageComponent, in lines: [HTTPField]) throws -> String {
        let readings: [MessageComponent.FieldType] =
            component.fieldType.map { [$0] }
            ?? (Self.dictionaries.contains(component.name) ? [.dictionary] : [.list, .dictionary])
        for reading in readings {
            if let value = try? Self.strictValue(of: lines, as: reading) { return value }
        }
        throw SignatureFault(
            "The signature covers \(component), but the field is not a structured field of that type (RFC 9651). Cover "
                + "it without the parameter."
        )
    }

    private static func strictValue(of lines: [HTTPField], as type: MessageComponent.FieldType) throws -> String {
        var parser = StructuredFieldValueParser(try lines.structured)
        var serializer = StructuredFieldValueSerializer()
        let bytes =
            switch type {
            case .item: try serializer.writeItemFieldValue(try parser.parseItemFieldValue())
            case .list: try serializer.writeListFieldValue(try parser.parseListFieldValue())
            case .dictionary: try serializer.writeDictionaryFieldValue(try parser.parseDictionaryFieldValue())
            }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The fields that are registered as dictionaries or can be parsed as such (RFC 9651).
    private static let dictionaries: Set<String> = [
        "accept-signature", "cache-control", "cdn-cache-control", "content-digest", "priority", "repr-digest",
        "signature",
        "signature-input", "surrogate-control", "want-content-digest", "want-repr-digest",
    ]
}
#endif
