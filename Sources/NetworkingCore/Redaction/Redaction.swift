public import HTTPTypes

/// What must not be read in a log, an error or a description, and what stands there instead.
///
/// ```swift
/// let redaction = Redaction.standard
///     .addingHeaderFields("X-Session", "X-*-Key")
///     .addingQueryItems("ticket")
///     .showingBodyFields("code")
/// let network = URLSession.shared.logged(redaction: redaction)
/// ```
///
/// Names are compared without regard to case. In a name, `*` stands for any characters or none, so `*token` is each
/// name that ends with it. A name without an asterisk comes before patterns, and of the patterns that fit, the last
/// that was given decides.
///
/// Hidden whatever a redaction says are a header field whose `indexingStrategy` is `.disallow`, and what
/// ``HTTPRequestData/markSecret(_:)`` marks.
public struct Redaction: Sendable {
    /// What stands in place of a secret.
    public static let placeholder = "<redacted>"

    private var rules: CopyOnWrite<Rules>

    private struct Rules: Sendable, Hashable {
        var headerFields: NameRules
        var queryItems: NameRules
        var bodyFields: NameRules
        /// The query items and texts that one request knows to be secrets, whatever the rules say.
        var secretQueryItems: Set<String> = []
        var secretValues = SecretValues()
        /// What stands for each value that is not hidden; nil for the value itself.
        var mask: String?
        /// Whether the app has said that `code` is a secret in bodies, so that it is one in the bodies of errors too.
        var isCodeAlwaysHidden = false
    }

    init(headerFields: NameRules, queryItems: NameRules, bodyFields: NameRules) {
        rules = CopyOnWrite(Rules(headerFields: headerFields, queryItems: queryItems, bodyFields: bodyFields))
    }

    /// Hides further header fields.
    ///
    /// - Parameter names: Their names, or patterns: `X-*-Token`.
    /// - Returns: A redaction that hides them too.
    public func addingHeaderFields(_ names: String...) -> Redaction {
        with { $0.headerFields.set(names, isHidden: true) }
    }

    /// Hides the values of further query items.
    ///
    /// - Parameter names: Their names, or patterns.
    /// - Returns: A redaction that hides them too.
    public func addingQueryItems(_ names: String...) -> Redaction {
        with { $0.queryItems.set(names, isHidden: true) }
    }

    /// Hides further fields of JSON and form bodies, at any depth, and parts of multipart bodies.
    ///
    /// - Parameter names: Their names, or patterns.
    /// - Returns: A redaction that hides them too.
    public func addingBodyFields(_ names: String...) -> Redaction {
        with { rules in
            rules.bodyFields.set(names, isHidden: true)
            if names.contains(where: { $0.lowercased() == Self.errorCode }) {
                rules.isCodeAlwaysHidden = true
            }
        }
    }

    /// Shows header fields that are hidden otherwise.
    ///
    /// - Parameter names: Their names, or patterns.
    /// - Returns: A redaction that hides them no longer.
    public func showingHeaderFields(_ names: String...) -> Redaction {
        with { $0.headerFields.set(names, isHidden: false) }
    }

    /// Shows the values of query items that are hidden otherwise.
    ///
    /// - Parameter names: Their names, or patterns.
    /// - Returns: A redaction that hides them no longer.
    public func showingQueryItems(_ names: String...) -> Redaction {
        with { $0.queryItems.set(names, isHidden: false) }
    }

    /// Shows fields of bodies that are hidden otherwise.
    ///
    /// - Parameter names: Their names, or patterns.
    /// - Returns: A redaction that hides them no longer.
    public func showingBodyFields(_ names: String...) -> Redaction {
        with { $0.bodyFields.set(names, isHidden: false) }
    }

    /// Tells whether a header field is hidden.
    ///
    /// - Parameter field: The field.
    /// - Returns: Whether its value must not be shown.
    public func hides(_ field: HTTPField) -> Bool {
        field.indexingStrategy == .disallow
            || rules.value.headerFields.hides(lowercased: field.name.canonicalName)
    }

    package func hidesQueryItem(_ name: String) -> Bool {
        let rules = rules.value
        return rules.queryItems.hides(name) || rules.secretQueryItems.contains(name.lowercased())
    }

    /// The field that names an error in the body of one, and elsewhere may be an authorization code (RFC 6749 section
    /// 4.1.2).
    private static let errorCode = "code"

    /// Returns the redaction for the body of a response, in which `code` is shown if the response is an error (4xx or
    /// 5xx).
    ///
    /// - Parameter status: The status code of the response.
    /// - Returns: The redaction for its body.
    package func forBody(ofStatus status: Int) -> Redaction {
        guard 400...599 ~= status, !rules.value.isCodeAlwaysHidden, hidesBodyField(Self.errorCode) else { return self }
        // Patterns that the app has added still apply.
        return with { $0.bodyFields.forget(Self.errorCode) }
    }

    package func hidesBodyField(_ name: String) -> Bool {
        rules.value.bodyFields.hides(name)
    }

    /// A text without the values that are secrets of the request.
    package func hidingValues(in text: String) -> String {
        let values = rules.value.secretValues
        return values.isEmpty ? text : values.hidden(in: text)
    }

    /// The values that are secrets of the request.
    var secretValues: SecretValues {
        rules.value.secretValues
    }

    /// What stands for each value that is not hidden; nil for the value itself.
    var mask: String? {
        rules.value.mask
    }

    /// This redaction with all other values replaced too.
    package func masking(_ mask: String?) -> Redaction {
        mask == nil ? self : with { $0.mask = mask }
    }

    /// This redaction with what a request knows to be secrets.
    package func hidingSecrets(of request: HTTPRequestData) -> Redaction {
        // Field by field: the settings as a whole would be copied.
        guard let box = request.box, !box.value.secretQueryItems.isEmpty || !box.value.secretValues.isEmpty else {
            return self
        }
        let names = box.value.secretQueryItems
        let values = box.value.secretValues
        guard rules.value.secretQueryItems != names || rules.value.secretValues != values else { return self }
        return with { rules in
            // What another request of the same call knew stays hidden.
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
    /// Redactions are equal when they were made of the same names and patterns, in the same order.
    public static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.rules.value == rhs.rules.value
    }

    /// Hashes what equality compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(rules.value)
    }
}
