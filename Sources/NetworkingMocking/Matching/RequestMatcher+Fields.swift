import FoundationForNetworking
public import HTTPTypes
import NetworkingCore

extension RequestMatcher {
    /// Matches requests with a query item.
    ///
    /// - Parameters:
    ///   - name: The decoded name.
    ///   - value: The decoded value, which any item of that name may have; nil for any value or none.
    /// - Returns: The matcher.
    public static func query(_ name: String, _ value: String? = nil) -> RequestMatcher {
        let isRedacted = Redaction.standard.redactsQueryItem(name)
        let expected = value.map { isRedacted ? Redaction.placeholder : $0 }
        return RequestMatcher(
            "query \(name)\(expected.map { "=\($0)" } ?? "")",
            test: { reading in
                reading.query.contains { $0.name == name && (value == nil || ($0.value ?? "") == value) }
            },
            explain: { reading in
                let values = reading.query.filter { $0.name == name }.map { $0.value ?? "" }
                let isRedacted = isRedacted || reading.redaction.redactsQueryItem(name)
                return [RequestMiss(reading.sentence("query item", name, values, expected, isRedacted: isRedacted))]
            }
        )
    }

    /// Matches requests with a header field.
    ///
    /// Values that ``Redaction/standard`` redacts, such as that of `Authorization`, are compared but never shown.
    ///
    /// - Parameters:
    ///   - name: The name of the field.
    ///   - value: The value of the complete field or of one of its occurrences; nil for any value.
    /// - Returns: The matcher.
    public static func headerField(_ name: HTTPField.Name, _ value: String? = nil) -> RequestMatcher {
        let field = HTTPField(name: name, value: value ?? "")
        let isRedacted = Redaction.standard.redacts(field)
        let expected = value.map {
            isRedacted ? Redaction.placeholder : Redaction.standard.value(of: HTTPField(name: name, value: $0))
        }
        return RequestMatcher(
            expected.map { "\(name.rawName): \($0)" } ?? "field \(name.rawName)",
            test: { reading in
                let fields = reading.request.headerFields
                guard let value else { return fields.contains(name) }
                return fields[name] == value || fields[values: name].contains(value)
            },
            explain: { reading in
                let fields = reading.request.headerFields[fields: name]
                let redaction = reading.redaction
                return [
                    RequestMiss(
                        reading.sentence(
                            "header field",
                            name.rawName,
                            fields.map { redaction.value(of: $0) },
                            expected,
                            isRedacted: isRedacted || fields.contains { redaction.redacts($0) }
                        ),
                        weight: 0.5
                    )
                ]
            }
        )
    }

    /// Matches requests with a form (`application/x-www-form-urlencoded`) that has a certain field.
    ///
    /// - Parameters:
    ///   - name: The decoded name.
    ///   - value: The decoded value, which any field of that name may have; nil for any value or none.
    /// - Returns: The matcher.
    public static func formField(_ name: String, _ value: String? = nil) -> RequestMatcher {
        let isRedacted = Redaction.standard.redactsBodyField(name)
        let expected = value.map { isRedacted ? Redaction.placeholder : $0 }
        return RequestMatcher(
            "form field \(name)\(expected.map { "=\($0)" } ?? "")",
            readsBody: true,
            test: { reading in
                reading.form.contains { $0.name == name && (value == nil || ($0.value ?? "") == value) }
            },
            explain: { reading in
                let values = reading.form.filter { $0.name == name }.map { $0.value ?? "" }
                let isRedacted = isRedacted || reading.redaction.redactsBodyField(name)
                return [RequestMiss(reading.sentence("form field", name, values, expected, isRedacted: isRedacted))]
            }
        )
    }

    /// Matches requests with a form of exactly these fields, in any order.
    ///
    /// - Parameter fields: The fields; a name may occur more than once.
    /// - Returns: The matcher.
    public static func form(_ fields: KeyValuePairs<String, String>) -> RequestMatcher {
        let expected = fields.map { FormField(name: $0.key, value: $0.value) }.sorted()
        let names = fields.map(\.key)
        return RequestMatcher(
            "form with \(names.joined(separator: ", "))",
            readsBody: true,
            test: { reading in
                reading.form.map { FormField(name: $0.name, value: $0.value ?? "") }.sorted() == expected
            },
            explain: { reading in
                var misses = expected.flatMap { formField($0.name, $0.value).misses(in: &reading) }
                for name in Set(reading.form.map(\.name)).subtracting(names).sorted() {
                    misses.append(RequestMiss("The form field \(reading.shown(name)) is not expected.", weight: 0.5))
                }
                return misses.isEmpty ? [RequestMiss("A form field occurs more often or less than it should.")] : misses
            }
        )
    }
}

private struct FormField: Sendable, Comparable {
    let name: String
    let value: String

    static func < (lhs: FormField, rhs: FormField) -> Bool {
        (lhs.name, lhs.value) < (rhs.name, rhs.value)
    }
}

extension RequestReading {
    /// The sentence for a named item with values that do not match.
    fileprivate func sentence(
        _ kind: String,
        _ name: String,
        _ values: [String],
        _ expected: String?,
        isRedacted: Bool
    ) -> String {
        guard !values.isEmpty else { return "There is no \(kind) \(name)." }
        guard let expected, !isRedacted else { return "The \(kind) \(name) has another value, which is not shown." }
        let shown = values.map { "\"\(self.shown($0))\"" }.joined(separator: " and ")
        return "The \(kind) \(name) is \(shown), not \"\(self.shown(expected))\"."
    }
}
