public import HTTPTypes

// The header fields of a response are `HTTPFields`, and have the same access by text as those of a request.
extension HTTPFields {
    /// The fields as a dictionary; several values of one name are joined with a comma.
    ///
    /// ```swift
    /// let fields = response.headerFields.dictionary   // ["Content-Type": "application/json", …]
    /// ```
    ///
    /// Names are written as they first occur. It contains the values of credentials and cookies, so do not print it.
    public var dictionary: [String: String] {
        var dictionary: [String: String] = [:]
        var names: [String: String] = [:]
        for field in self {
            let name = names[field.name.canonicalName] ?? field.name.rawName
            names[field.name.canonicalName] = name
            dictionary[name] = dictionary[name].map { "\($0), \(field.value)" } ?? field.value
        }
        return dictionary
    }

    /// Creates fields from a dictionary of names and values, sorted by name, for stubs.
    ///
    /// A name that is not valid is left out.
    ///
    /// - Parameter fields: The names and values.
    @_disfavoredOverload
    public init(_ fields: [String: String]) {
        self = HeaderFields(fields).httpFields
    }

    /// The value of a field by its name as text; several values are joined with a comma, and `nil` removes the field.
    ///
    /// ```swift
    /// let remaining = response.headerFields["X-RateLimit-Remaining"]
    /// ```
    ///
    /// A name that is not valid has no value, and setting it does nothing.
    ///
    /// - Parameter name: The name of the field, in any case.
    @_disfavoredOverload
    public subscript(name: String) -> String? {
        get { HTTPField.Name(name).flatMap { self[$0] } }
        set {
            if let name = HTTPField.Name(name) {
                self[name] = newValue
            }
        }
    }
}
