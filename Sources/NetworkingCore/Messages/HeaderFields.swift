public import HTTPTypes

/// The header fields of a request: `HTTPFields` that detect a value which HTTP forbids.
///
/// `HTTPFields` silently replaces the line breaks of an invalid value with spaces. This type does so too, but remembers
/// the name of the field. Sending the request then fails with an error that names the field, so that an altered value
/// is never sent.
///
/// ```swift
/// request.headerFields[.accept] = "application/json"
/// request.headerFields[values: .cacheControl] = ["no-cache", "no-store"]
/// ```
public struct HeaderFields: Sendable {
    /// The fields as a value of swift-http-types.
    public private(set) var httpFields: HTTPFields

    /// The names and values that cannot be sent; `nil` if there are none.
    private var refusals: CopyOnWrite<Refusals>?

    private struct Refusals: Sendable {
        var names: [HTTPField.Name] = []
        var customName: String?
    }

    /// The names of the fields that had a line break, a NUL or another forbidden byte in their value.
    var refusedNames: [HTTPField.Name] {
        refusals?.value.names ?? []
    }

    /// An invalid name that was given for a field.
    var refusedCustomName: String? {
        refusals?.value.customName
    }

    /// Creates an empty collection.
    public init() {
        httpFields = HTTPFields()
    }

    /// Creates a collection from fields, for example those of a response.
    ///
    /// - Parameter httpFields: The fields.
    public init(_ httpFields: HTTPFields) {
        self.httpFields = httpFields
    }

    /// The value of a field; several values are joined with a comma, and setting `nil` removes the field.
    ///
    /// Several cookies are joined with a semicolon, and are sent as one field.
    ///
    /// - Parameter name: The name of the field.
    public subscript(name: HTTPField.Name) -> String? {
        get { httpFields[name] }
        set {
            if name == .cookie {
                // `HTTPFields` would split the value into several fields.
                httpFields[values: name] = newValue.map { [$0] } ?? []
            } else {
                httpFields[name] = newValue
            }
            if refusals != nil || newValue.map({ HTTPField.isValidValue($0) }) == false {
                note(newValue.map { [$0] } ?? [], for: name)
            }
        }
    }

    /// The values of a field, one for each time it occurs.
    ///
    /// - Parameter name: The name of the field.
    public subscript(values name: HTTPField.Name) -> [String] {
        get { httpFields[values: name] }
        set {
            httpFields[values: name] = newValue
            note(newValue, for: name)
        }
    }

    /// The occurrences of a field.
    ///
    /// - Parameter name: The name of the fields.
    public subscript(fields name: HTTPField.Name) -> [HTTPField] {
        get { httpFields[fields: name] }
        set {
            httpFields[fields: name] = newValue
            note([], for: name)
        }
    }

    /// Returns whether a field is present.
    ///
    /// - Parameter name: The name of the field.
    /// - Returns: `true` if the field occurs at least once.
    public func contains(_ name: HTTPField.Name) -> Bool {
        httpFields.contains(name)
    }

    /// Adds an occurrence of a field after the existing ones.
    ///
    /// - Parameters:
    ///   - name: The name of the field.
    ///   - value: Its value.
    public mutating func append(name: HTTPField.Name, value: String) {
        httpFields.append(HTTPField(name: name, value: value))
        if !HTTPField.isValidValue(value) {
            refuse(name)
        }
    }

    /// Adds a field after the existing ones.
    ///
    /// - Parameter field: The field. swift-http-types has already replaced any forbidden characters in its value, so
    ///   they are not detected.
    public mutating func append(_ field: HTTPField) {
        httpFields.append(field)
    }

    /// Sets the fields of another collection, and remembers its invalid ones.
    ///
    /// - Parameters:
    ///   - other: The fields to set.
    ///   - overriding: Whether they replace fields with the same names.
    /// - Returns: The names that were set.
    mutating func merge(_ other: HeaderFields, overriding: Bool) -> Set<HTTPField.Name> {
        let names = Set(other.httpFields.map(\.name)).filter { overriding || !contains($0) }
        for name in names {
            self[fields: name] = other[fields: name]
        }
        for name in other.refusedNames where names.contains(name) {
            refuse(name)
        }
        if let name = other.refusedCustomName {
            refuse(customName: name)
        }
        return names
    }

    /// Sets a field with a value that is redacted in every printed form and is not indexed by header compression.
    mutating func setSecret(_ value: String, for name: HTTPField.Name) {
        self[name] = value
        var field = HTTPField(name: name, value: value)
        field.indexingStrategy = .disallow
        httpFields[fields: name] = [field]
    }

    /// Joins several Cookie fields to one.
    mutating func joinCookies() {
        httpFields.joinCookies()
    }

    /// Remembers a name that is not valid for a field, so that sending the request fails with an error that names it.
    mutating func refuse(customName: String) {
        var refusals = refusals?.value ?? Refusals()
        refusals.customName = customName
        self.refusals = CopyOnWrite(refusals)
    }

    private mutating func refuse(_ name: HTTPField.Name) {
        var refusals = refusals?.value ?? Refusals()
        refusals.names.append(name)
        self.refusals = CopyOnWrite(refusals)
    }

    /// Forgets the invalid values of fields that have been removed.
    private mutating func forgetAbsentNames() {
        if refusals != nil {
            refusals?.value.names.removeAll { [httpFields] in !httpFields.contains($0) }
        }
    }

    private mutating func note(_ values: [String], for name: HTTPField.Name) {
        if refusals != nil {
            refusals?.value.names.removeAll { $0 == name }
        }
        if !values.allSatisfy({ HTTPField.isValidValue($0) }) {
            refuse(name)
        }
    }
}

extension HeaderFields: Hashable {
    /// Compares the fields as swift-http-types does: the order of fields with different names does not count.
    public static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.httpFields == rhs.httpFields
    }

    /// Hashes the parts that equality compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(httpFields)
    }
}

extension HeaderFields: RandomAccessCollection, RangeReplaceableCollection, MutableCollection {
    /// The position of the first field.
    public var startIndex: Int {
        httpFields.startIndex
    }

    /// The position after the last field.
    public var endIndex: Int {
        httpFields.endIndex
    }

    /// The field at a position.
    public subscript(position: Int) -> HTTPField {
        get { httpFields[position] }
        set {
            httpFields[position] = newValue
            forgetAbsentNames()
        }
    }

    /// Adds fields after the existing ones, and remembers the invalid ones of another collection of this type.
    public mutating func append<Fields: Sequence>(contentsOf newElements: Fields) where Fields.Element == HTTPField {
        for field in newElements {
            httpFields.append(field)
        }
        guard let other = newElements as? HeaderFields else { return }
        for name in other.refusedNames {
            refuse(name)
        }
        if let name = other.refusedCustomName {
            refuse(customName: name)
        }
    }

    /// Replaces the fields at some positions.
    public mutating func replaceSubrange(
        _ subrange: Range<Int>,
        with newElements: some Collection<HTTPField>
    ) {
        httpFields.replaceSubrange(subrange, with: newElements)
        forgetAbsentNames()
    }
}

extension HeaderFields: CustomStringConvertible, CustomReflectable {
    /// The fields, one per line, with the values of sensitive ones redacted.
    public var description: String {
        Redaction.standard.lines(for: httpFields).joined(separator: "\n")
    }

    /// The contents of a dump, without secrets.
    public var customMirror: Mirror {
        Mirror(self, unlabeledChildren: Redaction.standard.lines(for: httpFields), displayStyle: .collection)
    }
}
