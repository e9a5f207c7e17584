#if TestServer
private import FoundationForNetworking
public import HTTPTypes
import NetworkingCore

extension RecordedRequest {
    /// The body as UTF-8 text.
    ///
    /// Invalid bytes are replaced.
    public var text: String {
        String(decoding: body, as: UTF8.self)
    }

    /// Decodes the body as JSON.
    ///
    /// - Parameter type: The type to decode.
    /// - Returns: The value.
    /// - Throws: A ``TestServerError`` that names the request and says where the body differs, without its values.
    public func json<Value: Decodable>(as type: Value.Type = Value.self) throws(TestServerError) -> Value {
        do {
            return try JSONDecoder().decode(type, from: body)
        } catch {
            throw TestServerError(
                kind: .unexpectedRequest,
                description: "The body of \(self) does not decode to \(type): \(Self.reason(of: error))."
            )
        }
    }

    /// Checks the properties of the request.
    ///
    /// ```swift
    /// try await server.takeRequest().expect(.post, "/users", headerFields: [.contentType: "application/json"])
    /// ```
    ///
    /// - Parameters:
    ///   - method: The method; `nil` for any.
    ///   - path: A pattern as in ``TestServer/route(_:_:times:handler:)``; `nil` for any.
    ///   - headerFields: Fields that the request must have, with these values.
    ///   - text: The body; `nil` for any.
    /// - Returns: The request, for further checks.
    /// - Throws: A ``TestServerError`` that lists every difference. The values of secret fields are redacted.
    /// - Precondition: `path` starts with `/`, `*` is its last segment if it has one, and its parameters have different
    ///   names.
    @discardableResult
    public func expect(
        _ method: HTTPRequest.Method? = nil,
        _ path: String? = nil,
        headerFields: HTTPFields = [:],
        text: String? = nil
    ) throws(TestServerError) -> RecordedRequest {
        var differences: [String] = []
        if let method, method != self.method { differences.append("the method is not \(method)") }
        if let path, PathPattern(route: path).parameters(in: self.path) == nil {
            differences.append("the path is not \(path)")
        }
        for field in headerFields where !self.headerFields[values: field.name].contains(field.value) {
            let values = self.headerFields[values: field.name]
            differences.append("the field \(field.name) \(Self.difference(of: values, from: field))")
        }
        if let text, text != self.text {
            differences.append("the body of \(bodyByteCount) bytes is not the expected text")
        }
        guard differences.isEmpty else {
            throw TestServerError(
                kind: .unexpectedRequest,
                description: "\(self) is not as expected:\n\(differences.numberedLines)"
            )
        }
        return self
    }

    private static func difference(of values: [String], from field: HTTPField) -> String {
        let isSecret = field.name.isSecret
        if values.isEmpty { return isSecret ? "is missing" : "is missing; expected is \"\(field.value)\"" }
        if isSecret { return "has another value" }
        return "is \(values.map { "\"\($0)\"" }.joined(separator: ", ")) and not \"\(field.value)\""
    }

    /// Returns the reason why a body does not decode, by its keys and without its values.
    private static func reason(of error: any Error) -> String {
        func place(_ path: [any CodingKey]) -> String {
            path.isEmpty
                ? "at the top level"
                : "at " + path.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
        }
        return switch error {
        case DecodingError.keyNotFound(let key, let context):
            "\(key.stringValue) is missing \(place(context.codingPath))"
        case DecodingError.typeMismatch(let type, let context): "expected \(type) \(place(context.codingPath))"
        case DecodingError.valueNotFound(let type, let context):
            "expected \(type) \(place(context.codingPath)), found null"
        case DecodingError.dataCorrupted(let context): "the value \(place(context.codingPath)) cannot be read"
        // An error of the app can contain the value that it could not use.
        default: "decoding it threw \(type(of: error))"
        }
    }
}
#endif
