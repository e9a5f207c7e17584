public import HTTPTypes

/// Rules for the secrets that are redacted in logs, errors and descriptions.
///
/// ```swift
/// let redaction = Redaction.standard
///     .addingHeaderFields("X-Session", "X-*-Key")
///     .addingQueryItems("ticket")
///     .showingBodyFields("code")
/// let network = URLSession.shared.logged(redaction: redaction)
/// ```
///
/// Names are compared without regard to case. In a name, `*` matches any number of characters, so `*token` matches each
/// name that ends with "token". A plain name takes precedence over patterns. Of the patterns that match, the last one
/// that was added decides.
///
/// Two kinds of values are always redacted: header fields with the `indexingStrategy` `.disallow`, and texts that were
/// marked with ``HTTPRequestData/markSecret(_:)``.
public struct Redaction: Sendable {
    /// The text that replaces a secret.
    public static let placeholder = "<redacted>"

    private var rules: CopyOnWrite<Rules>

    private struct Rules: Sendable, Hashable {
        var headerFields: NameRules
        var queryItems: NameRules
        var bodyFields: NameRules
        /// The secrets of one request, which are redacted in addition to the rules.
        var secretQueryItems: Set<String> = []
        var secretValues = SecretValues()
        /// The text that replaces each value that is not redacted; `nil` shows the value.
        var mask: String?
        /// Whether the app has added `code` to the redacted body fields, so that it is also redacted in the bodies of
        /// errors.
        var isCodeAlwaysRedacted = false
    }

    init(headerFields: NameRules, queryItems: NameRules, bodyFields: NameRules) {
        rules = CopyOnWrite(Rules(headerFields: headerFields, queryItems: queryItems, bodyFields: bodyFields))
    }

    /// Redacts additional header fields.
    ///
    /// - Parameter names: The names or patterns, such as `X-*-Token`.
    /// - Returns: A redaction that also redacts these fields.
    public func addingHeaderFields(_ names: String...) -> Redaction {
        with { $0.headerFields.set(names, isRedacted: true) }
    }

    /// Redacts the values of additional query items.
    ///
    /// - Parameter names: The names or patterns.
    /// - Returns: A redaction that also redacts these values.
    public func addingQueryItems(_ names: String...) -> Redaction {
        with { $0.queryItems.set(names, isRedacted: true) }
    }

    /// Redacts additional fields of JSON and form bodies, at any depth, and parts of multipart bodies.
    ///
    /// - Parameter names: The names or patterns.
    /// - Returns: A redaction that also redacts these fields.
    public func addingBodyFields(_ names: String...) -> Redaction {
        with { rules in
            rules.bodyFields.set(names, isRedacted: true)
            if names.contains(where: { $0.lowercased() == Self.errorCode }) {
                rules.isCodeAlwaysRedacted = true
            }
        }
    }

    /// Shows header fields that would otherwise be redacted.
    ///
    /// - Parameter names: The names or patterns.
    /// - Returns: A redaction that shows these fields.
    public func showingHeaderFields(_ names: String...) -> Redaction {
        with { $0.headerFields.set(names, isRedacted: false) }
    }

    /// Shows the values of query items that would otherwise be redacted.
    ///
    /// - Parameter names: The names or patterns.
    /// - Returns: A redaction that shows these values.
    public func showingQueryItems(_ names: String...) -> Redaction {
        with { $0.queryItems.set(names, isRedacted: false) }
    }

    /// Shows fields of bodies that would otherwise be redacted.
    ///
    /// - Parameter names: The names or patterns.
    /// - Returns: A redaction that shows these fields.
    public func showingBodyFields(_ names: String...) -> Redaction {
        with { $0.bodyFields.set(names, isRedacted: false) }
    }

    /// Returns whether the value of a header field is redacted.
    ///
    /// - Parameter field: The field.
    /// - Returns: `true` if the value must not be shown.
    public func redacts(_ field: HTTPField) -> Bool {
        field.indexingStrategy == .disallow
            || rules.value.headerFields.redacts(lowercased: field.name.canonicalName)
    }

    package func redactsQueryItem(_ name: String) -> Bool {
        let rules = rules.value
        return rules.queryItems.redacts(name) || rules.secretQueryItems.contains(name.lowercased())
    }

    /// The field that names the error in the body of an error response.
    ///
    /// In other bodies it may be an authorization code (RFC 6749 section 4.1.2).
    private static let errorCode = "code"

    /// Returns the redaction for the body of a response.
    ///
    /// `code` is shown if the response is an error (4xx or 5xx).
    ///
    /// - Parameter status: The status code of the response.
    /// - Returns: The redaction for its body.
    package func forBody(ofStatus status: Int) -> Redaction {
        guard 400...599 ~= status, !rules.value.isCodeAlwaysRedacted, redactsBodyField(Self.errorCode)
        else { return self }
        // Patterns that the app has added still apply.
        return with { $0.bodyFields.forget(Self.errorCode) }
    }

    package func redactsBodyField(_ name: String) -> Bool {
        rules.value.bodyFields.redacts(name)
    }

    /// Returns a text in which the secret values of the request are redacted.
    package func redactingValues(in text: String) -> String {
        let values = rules.value.secretValues
        return values.isEmpty ? text : values.redacted(in: text)
    }

    /// Returns a text as a single line, with all marked secrets redacted.
    package func shown(_ text: String) -> String {
        PrintableText.singleLine(redactingValues(in: text))
    }

    /// The secret values of the request.
    var secretValues: SecretValues {
        rules.value.secretValues
    }

    /// The text that replaces each value that is not redacted; `nil` shows the value.
    var mask: String? {
        rules.value.mask
    }

    /// Returns this redaction with a text that replaces all other values too; `nil` changes nothing.
    package func masking(_ mask: String?) -> Redaction {
        mask == nil ? self : with { $0.mask = mask }
    }

    /// Returns this redaction with the secrets of a request, in addition to those of earlier requests of its call.
    func redacting(queryItems names: Set<String>, values: SecretValues) -> Redaction {
        guard rules.value.secretQueryItems != names || rules.value.secretValues != values else { return self }
        return with { rules in
            rules.secretQueryItems.formUnion(names)
            rules.secretValues.formUnion(values)
        }
    }

    private func with(_ change: (inout Rules) -> Void) -> Redaction {
        var redaction = self
        change(&redaction.rules.value)
        return redaction
    }
}

extension Redaction: Hashable {
    /// Compares the names and patterns, including their order.
    public static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.rules.value == rhs.rules.value
    }

    /// Hashes the parts that equality compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(rules.value)
    }
}
