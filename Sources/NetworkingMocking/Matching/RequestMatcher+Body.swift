public import FoundationForNetworking
import NetworkingCore

/// Bodies from a file, multipart or stream are in memory when a transport's stubs check them.
extension RequestMatcher {
    /// Matches requests with exactly these bytes as their body, regardless of its type.
    ///
    /// - Parameter data: The bytes.
    /// - Returns: The matcher.
    public static func body(_ data: Data) -> RequestMatcher {
        RequestMatcher(
            "a body of \(data.count) bytes",
            readsBody: true,
            test: { $0.body == data },
            explain: { reading in
                let (count, expected) = (reading.body.count, data.count)
                let what =
                    count == expected
                    ? "differs from the \(count) bytes expected" : "has \(count) bytes, not \(expected)"
                return [RequestMiss("The body \(what).")]
            }
        )
    }

    /// Matches requests with exactly this text as their body.
    ///
    /// - Parameter text: The complete text.
    /// - Returns: The matcher.
    public static func body(text: String) -> RequestMatcher {
        let data = Data(text.utf8)
        return RequestMatcher(
            "a text of \(data.count) bytes",
            readsBody: true,
            test: { $0.body == data },
            explain: { reading in
                let (shown, expected) = (reading.shown(body: reading.body), reading.shown(body: data))
                return [
                    RequestMiss(
                        shown == expected
                            ? "The body differs in a part that is not shown." : "The body is \(shown), not \(expected)."
                    )
                ]
            }
        )
    }

    /// Matches requests with a text in their body.
    ///
    /// - Parameter text: The text.
    /// - Returns: The matcher.
    public static func body(containing text: String) -> RequestMatcher {
        let data = Data(text.utf8)
        return RequestMatcher(
            "a body that contains \(text.utf8.count) bytes of text",
            readsBody: true,
            test: { $0.body.holds(data) },
            explain: { reading in
                // The text may be part of a secret, so it is redacted like a body of that type.
                let (shown, expected) = (reading.shown(body: reading.body), reading.shown(body: data))
                return [RequestMiss("The body is \(shown), which does not contain \(expected).")]
            }
        )
    }

    /// Matches requests with a JSON body that equals a value, regardless of the order of names, whitespace and number
    /// notation.
    ///
    /// - Parameters:
    ///   - value: The value. A `String` is encoded as a JSON string; to match JSON text, use ``json(text:)``.
    ///   - encoder: The encoder.
    /// - Returns: The matcher.
    /// - Precondition: The encoder can encode the value.
    public static func json(_ value: some Encodable, encoder: JSONEncoder = JSONEncoder()) -> RequestMatcher {
        json(JSONDocument(encoding: value, by: encoder), .equal)
    }

    /// Matches requests with a JSON body that equals a JSON text.
    ///
    /// - Parameter text: The document, such as `#"{"user": {"name": "Emily"}}"#`. If the text is not valid JSON, the
    ///   matcher matches nothing and reports the position of the error.
    /// - Returns: The matcher.
    public static func json(text: String) -> RequestMatcher {
        json(text: text, .equal)
    }

    /// Matches requests with a JSON body that contains a value, and may contain more.
    ///
    /// An object may have additional names, at any depth. An array must have the same number of elements as in the
    /// value, each of which may have additional names.
    ///
    /// - Parameters:
    ///   - value: The value. A `String` is encoded as a JSON string; to match JSON text, use ``json(includingText:)``.
    ///   - encoder: The encoder.
    /// - Returns: The matcher.
    /// - Precondition: The encoder can encode the value.
    public static func json(
        including value: some Encodable,
        encoder: JSONEncoder = JSONEncoder()
    ) -> RequestMatcher {
        json(JSONDocument(encoding: value, by: encoder), .including)
    }

    /// Matches requests with a JSON body that contains a JSON text, and may contain more.
    ///
    /// - Parameter text: The document; see ``json(including:encoder:)`` and ``json(text:)``.
    /// - Returns: The matcher.
    public static func json(includingText text: String) -> RequestMatcher {
        json(text: text, .including)
    }

    private static func json(text: String, _ comparison: JSONDocument.Comparison) -> RequestMatcher {
        let bytes = Array(text.utf8)
        if let document = JSONDocument(Data(bytes)) { return json(document, comparison) }
        // A precondition failure would end the whole test process because of one stub's syntax error.
        let place = JSONTokenizer.fault(in: bytes).map { ", from byte \($0 + 1) on" } ?? ""
        let reason = "The stub's expected body is not valid JSON\(place): correct its text."
        return RequestMatcher("a text that is not JSON", test: { _ in false }, explain: { _ in [RequestMiss(reason)] })
    }

    private static func json(_ expected: JSONDocument, _ comparison: JSONDocument.Comparison) -> RequestMatcher {
        let shown = expected.text(limit: 80, isRedacted: Redaction.standard.redactsBodyField)
        return RequestMatcher(
            "JSON\(comparison == .including ? " including" : "") \(shown)",
            readsBody: true,
            test: { $0.json?.says(expected, comparison) ?? false },
            explain: { reading in
                guard let json = reading.json else {
                    return [RequestMiss(reading.body.isEmpty ? "There is no body." : "The body is not JSON.")]
                }
                let redaction = reading.redaction
                return json.differences(from: expected, comparison, isRedacted: redaction.redactsBodyField)
                    .map { RequestMiss(reading.shown($0, limit: 400), weight: 0.5) }
            }
        )
    }
}

extension JSONDocument {
    fileprivate init(encoding value: some Encodable, by encoder: JSONEncoder) {
        guard let data = try? encoder.encode(value), let document = JSONDocument(data) else {
            preconditionFailure("the encoder must encode the value as JSON (is a \(type(of: value)))")
        }
        self = document
    }
}

extension Data {
    /// Whether these bytes contain others, faster than a generic search over megabytes.
    fileprivate func holds(_ bytes: Data) -> Bool {
        withUnsafeBytes { body in
            bytes.withUnsafeBytes { bytes in
                guard let first = bytes.first else { return true }
                var start = 0
                while start + bytes.count <= body.count {
                    if body[start] == first, body[start..<(start + bytes.count)].elementsEqual(bytes) { return true }
                    start += 1
                }
                return false
            }
        }
    }
}
