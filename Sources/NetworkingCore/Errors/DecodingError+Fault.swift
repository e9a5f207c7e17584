package import FoundationForNetworking
import HTTPTypes

extension NetworkingError {
    /// The error for an element of a stream that cannot be decoded.
    ///
    /// Its reason names the expected type, the type that was found, and the path.
    ///
    /// - Parameters:
    ///   - element: The bytes of the element.
    ///   - request: The request of the stream.
    ///   - type: The type to decode.
    ///   - error: The error of the decoder.
    ///   - canBeSkipped: Whether the policy for failures applies to the element.
    /// - Returns: The error.
    package static func undecodableElement(
        _ element: Data,
        of request: HTTPRequestData,
        as type: Any.Type,
        _ error: any Error,
        canBeSkipped: Bool = true
    ) -> NetworkingError {
        let response = HTTPResponseData(request: request, http: HTTPResponse(status: .ok), body: .collected(element))
        let fault = (error as? DecodingError).map { DecodingFault(response).text(of: $0) }
        return NetworkingError(
            .decoding,
            request: request,
            underlying: error,
            reason: "An element of the stream does not decode to \(type)"
                + "\(fault.map { ": \($0)" } ?? ". The underlying error has the details.")"
                + (canBeSkipped ? " To skip such elements, use onDecodingFailure." : "")
        )
    }

    /// The error for a body that cannot be decoded.
    ///
    /// Its reason names the expected type, the type that was found, and the path.
    package static func undecodable(
        _ response: HTTPResponseData,
        as type: Any.Type,
        _ error: DecodingError
    ) -> NetworkingError {
        let fault = DecodingFault(response).text(of: error)
        return NetworkingError(
            .decoding,
            request: response.sentRequest,
            response: response,
            underlying: error,
            reason: "The body does not decode to \(type): \(fault)"
        )
    }
}

/// The description of a decoding failure for the developer.
///
/// It contains names and types of a JSON body, but no values, and a short excerpt of a body that is not JSON. It is on
/// one line and bounded, because the server chooses the body. The time to create it is linear in the length of the
/// body.
private struct DecodingFault {
    private let response: HTTPResponseData
    private let body: [UInt8]

    private static let compare = "Compare the type with the server's response."

    init(_ response: HTTPResponseData) {
        self.response = response
        body = Array(response.data)
    }

    /// Returns the description, from the end of the type's name to the end of the reason.
    func text(of error: DecodingError) -> String {
        if case .dataCorrupted(let context) = error, let unreadable = context.underlyingError as? UnreadableBody {
            return "\(unreadable.reason)."
        }
        guard !body.isEmpty else {
            return "it is empty (status \(response.status.code)). Use an optional type if the server may send no body."
        }
        switch error {
        case .keyNotFound(let key, let context):
            return missingKey(key, at: context.codingPath)
        case .valueNotFound(let type, let context):
            return mismatch(at: context.codingPath, expected: type, unknown: "no value")
        case .typeMismatch(let type, let context):
            return mismatch(at: context.codingPath, expected: type, unknown: "another type")
        case .dataCorrupted(let context):
            guard !context.codingPath.isEmpty || JSONTokenizer.fault(in: body) == nil else { return unreadableBody }
            return invalidValue(at: context.codingPath)
        @unknown default:
            return Self.compare
        }
    }

    // MARK: Values

    private func missingKey(_ key: any CodingKey, at path: [any CodingKey]) -> String {
        let name = "the key \"\(printable(key.stringValue))\" is missing"
        switch JSONPathSearch.member(named: key.stringValue, ofObjectAt: path, in: body) {
        case .found(let type) where type != "null":
            // The decoder looks for the name only after it has converted those of the body.
            return
                "\(name), although the object at \(place(path)) has it: the decoder's strategy for keys converts it. "
                + "Declare CodingKeys with the converted name."
        case .found(let type):
            return "expected a value at \(place(path + [key])), found \(type). \(Self.compare)"
        case .similar(let other):
            return "\(name) in the object at \(place(path)), which has \"\(printable(other))\". "
                + wayOut(from: other, to: key.stringValue)
        case .missing:
            return "\(name) in the object at \(place(path)). \(Self.compare)"
        case .noObject:
            return "\(name) at \(place(path)). \(Self.compare)"
        }
    }

    /// Returns how to read a member into a property.
    ///
    /// The strategy for keys is proposed only if it leads to the property, so it is never one that is set already.
    private func wayOut(from name: String, to property: String) -> String {
        let converted = name.convertedFromSnakeCase
        if converted == property { return "Set the decoder's strategy for keys, or declare CodingKeys." }
        guard converted != name else { return "Declare CodingKeys." }
        return "Declare CodingKeys: the strategy convertFromSnakeCase reads it as \"\(printable(converted))\"."
    }

    private func mismatch(at path: [any CodingKey], expected type: Any.Type, unknown: String) -> String {
        let found =
            switch JSONPathSearch.value(at: path, in: body) {
            case .found(let type): type
            case .missing: "nothing"
            case .unreadable: unknown
            }
        return "expected \(Self.words(for: type)) at \(place(path)), found \(found). \(Self.compare)"
    }

    private func invalidValue(at path: [any CodingKey]) -> String {
        var value = "the value at \(place(path))"
        if case .found(let type) = JSONPathSearch.value(at: path, in: body) {
            value += ", \(type),"
        }
        return "\(value) is not valid for its type. The underlying error has the details."
    }

    /// Returns the name of a type that a decoder expects, with JSON's names for containers.
    private static func words(for type: Any.Type) -> String {
        let name = "\(type)"
        if name.hasPrefix("Dictionary<") || name.hasPrefix("KeyedDecodingContainer") { return "an object" }
        if name.hasPrefix("Array<") || name.hasPrefix("UnkeyedDecodingContainer") { return "an array" }
        return name
    }

    private func place(_ path: [any CodingKey]) -> String {
        guard !path.isEmpty else { return "the top level" }
        return printable(path.map { $0.intValue.map { "[\($0)]" } ?? $0.stringValue }.joined(separator: "."))
    }

    /// Returns text that the server may have chosen, on one line and bounded.
    private func printable(_ text: String) -> String {
        // Before it is cut, because the start of a secret would not be recognised.
        let text = response.sentRequest.redactingMarkedSecrets(in: text)
        return PrintableText.cut(PrintableText.singleLine(text), to: 200)
    }

    // MARK: Bodies

    /// The description of a body that is not JSON.
    private var unreadableBody: String {
        let type = BodyType(response.headerFields[singleton: .contentType])
        let first = body.first { !JSONTokenizer.isSpace($0) }
        if type.isJSON, first == UInt8(ascii: "{") || first == UInt8(ascii: "[") || first == UInt8(ascii: "\"") {
            let fault = JSONTokenizer.fault(in: body) ?? body.count
            return fault < body.count
                ? "it is not valid JSON from byte \(fault + 1) of \(body.count) on. Check the server."
                : "it is JSON that ends early, after \(body.count) bytes. Check the server."
        }
        let name = type.essence.isEmpty ? "without a Content-Type" : "of \(printable(type.essence))"
        let start = excerpt(of: type).map { " that start with \"\($0)\"" } ?? ""
        return "it is \(type.isJSON ? "not JSON but " : "")\(body.count) bytes \(name)\(start). "
            + "Check the URL, and whether a proxy or a sign-in page sent the response."
    }

    /// The maximum length of an excerpt, in bytes.
    private static let maximumExcerpt = 40

    /// Returns the start of a body of text; `nil` if it might contain a secret.
    ///
    /// There is no excerpt of a body with a marked secret, or of one that starts with a structure of named fields, with
    /// a word that names a secret, or with a word that is long enough to be a token.
    private func excerpt(of type: BodyType) -> String? {
        guard type.isJSON || type.shape == .text, !body.contains(0), let text = type.text(of: body),
            response.sentRequest.redactingMarkedSecrets(in: text).utf8.elementsEqual(text.utf8)
        else { return nil }
        var start = String.UnicodeScalarView()
        start.append(contentsOf: text.unicodeScalars.drop { $0.properties.isWhitespace }.prefix(Self.maximumExcerpt))
        guard let first = start.first, !"{[\"".unicodeScalars.contains(first) else { return nil }
        var line = PrintableText.escapedLine(String(start))
        while line.utf8.count > Self.maximumExcerpt {
            line.unicodeScalars.removeLast()
        }
        let words = line.split { !$0.isLetter && !$0.isNumber && $0 != "_" && $0 != "-" }
        // A single word could be a token.
        guard first == "<" || line.contains(" "),
            !words.contains(where: { $0.count >= 20 || Redaction.standard.redactsBodyField(String($0)) })
        else { return nil }
        return line
    }
}

extension String {
    /// The name as Foundation's strategy `convertFromSnakeCase` converts it.
    var convertedFromSnakeCase: String {
        let leading = prefix { $0 == "_" }
        guard leading.endIndex < endIndex else { return self }
        let trailing = suffix(from: index(after: lastIndex { $0 != "_" } ?? startIndex))
        let words = self[leading.endIndex..<trailing.startIndex].split(separator: "_")
        guard let first = words.first, words.count > 1 else { return self }
        return leading + first.lowercased() + words.dropFirst().map(\.capitalized).joined() + trailing
    }
}

extension BodyType {
    /// Whether the body is JSON, or could be because it has no type.
    fileprivate var isJSON: Bool {
        essence.isEmpty || shape == .json
    }
}
