import NetworkingCore

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Bodies that were sent from a file, in parts or as a stream are in memory when a transport's stubs look at them.
extension RequestMatcher {
    /// Matches the requests with a body, byte for byte and whatever its type.
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

    /// Matches the requests with a text as their body.
    ///
    /// - Parameter text: The whole of it.
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
                            ? "The body differs in what is not shown of it." : "The body is \(shown), not \(expected)."
                    )
                ]
            }
        )
    }

    /// Matches the requests with a text somewhere in their body.
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
                // The text may be a part of what is hidden, so it is shown as a body of that type would be.
                let (shown, expected) = (reading.shown(body: reading.body), reading.shown(body: data))
                return [RequestMiss("The body is \(shown), which does not contain \(expected).")]
            }
        )
    }

    /// Matches the requests with a JSON body that says the same as a value: the order of names, spaces and the way in
    /// which a number is written do not matter.
    ///
    /// - Parameters:
    ///   - value: The value. A `String` is one too: to say in JSON what is meant, use ``json(text:)``.
    ///   - encoder: The encoder.
    /// - Returns: The matcher.
    /// - Precondition: The encoder can encode the value.
    public static func json(_ value: some Encodable, encoder: JSONEncoder = JSONEncoder()) -> RequestMatcher {
        json(JSONDocument(encoding: value, by: encoder), .equal)
    }

    /// Matches the requests with a JSON body that says the same as a text of JSON.
    ///
    /// - Parameter text: The document: `#"{"user": {"name": "Emily"}}"#`. With a text that is no JSON it matches
    ///   nothing, and says where the mistake is.
    /// - Returns: The matcher.
    public static func json(text: String) -> RequestMatcher {
        json(text: text, .equal)
    }

    /// Matches the requests with a JSON body that says what a value says, and perhaps more.
    ///
    /// An object may have further names, at any depth; an array has as many elements as the value's, each of which may
    /// have further names.
    ///
    /// - Parameters:
    ///   - value: The value. A `String` is one too: to say in JSON what is meant, use ``json(includingText:)``.
    ///   - encoder: The encoder.
    /// - Returns: The matcher.
    /// - Precondition: The encoder can encode the value.
    public static func json(
        including value: some Encodable,
        encoder: JSONEncoder = JSONEncoder()
    ) -> RequestMatcher {
        json(JSONDocument(encoding: value, by: encoder), .including)
    }

    /// Matches the requests with a JSON body that says what a text of JSON says, and perhaps more.
    ///
    /// - Parameter text: The document; see ``json(including:encoder:)`` and ``json(text:)``.
    /// - Returns: The matcher.
    public static func json(includingText text: String) -> RequestMatcher {
        json(text: text, .including)
    }

    private static func json(text: String, _ comparison: JSONDocument.Comparison) -> RequestMatcher {
        let bytes = Array(text.utf8)
        if let document = JSONDocument(Data(bytes)) { return json(document, comparison) }
        // A trap would take all other tests along, for a comma.
        let place = JSONTokenizer.fault(in: bytes).map { ", from byte \($0 + 1) on" } ?? ""
        let reason = "What the stub expects is no JSON\(place): correct its text."
        return RequestMatcher("a text that is no JSON", test: { _ in false }, explain: { _ in [RequestMiss(reason)] })
    }

    private static func json(_ expected: JSONDocument, _ comparison: JSONDocument.Comparison) -> RequestMatcher {
        let shown = expected.text(limit: 80, isHidden: Redaction.standard.hidesBodyField)
        return RequestMatcher(
            "JSON\(comparison == .including ? " including" : "") \(shown)",
            readsBody: true,
            test: { $0.json?.says(expected, comparison) ?? false },
            explain: { reading in
                guard let json = reading.json else {
                    return [RequestMiss(reading.body.isEmpty ? "There is no body." : "The body is no JSON.")]
                }
                let redaction = reading.redaction
                return json.differences(from: expected, comparison, isHidden: redaction.hidesBodyField)
                    .map { RequestMiss(reading.shown($0, limit: 400), weight: 0.5) }
            }
        )
    }
}

extension JSONDocument {
    fileprivate init(encoding value: some Encodable, by encoder: JSONEncoder) {
        guard let data = try? encoder.encode(value), let document = JSONDocument(data) else {
            preconditionFailure("the value must be one that its encoder makes JSON of (is a \(type(of: value)))")
        }
        self = document
    }
}

extension Data {
    /// Whether bytes stand somewhere in these, without the cost that a generic search has over megabytes.
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
