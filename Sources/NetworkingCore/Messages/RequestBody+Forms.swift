public import FoundationForNetworking

extension RequestBody {
    /// Creates a body of names and values as an HTML form sends them, encoded by the rules of WHATWG's URL standard.
    ///
    /// ```swift
    /// request.body = .form(["user": name, "remember": true, "attempt": 2])
    /// ```
    ///
    /// The values are those of a query: an optional that is `nil` and an empty array send no field.
    ///
    /// - Parameters:
    ///   - fields: The fields in order; a name may occur more than once.
    ///   - format: The format of arrays, dates and Booleans.
    /// - Returns: A body of type `application/x-www-form-urlencoded`.
    public static func form(
        _ fields: KeyValuePairs<String, (any QueryValue)?>,
        format: QueryFormat = QueryFormat()
    ) -> RequestBody {
        form(fields.map { ($0.key, $0.value) }, format: format)
    }

    /// Creates a body of names and values of one type as an HTML form sends them.
    ///
    /// - Parameters:
    ///   - fields: The fields in order; a name may occur more than once.
    ///   - format: The format of arrays, dates and Booleans.
    /// - Returns: A body of type `application/x-www-form-urlencoded`.
    @_disfavoredOverload
    public static func form(
        _ fields: KeyValuePairs<String, some QueryValue>,
        format: QueryFormat = QueryFormat()
    ) -> RequestBody {
        form(fields.map { ($0.key, $0.value) }, format: format)
    }

    /// Creates a body of the names and values of a dictionary as an HTML form sends them, sorted by name.
    ///
    /// - Parameters:
    ///   - fields: The names and values.
    ///   - format: The format of arrays, dates and Booleans.
    /// - Returns: A body of type `application/x-www-form-urlencoded`.
    @_disfavoredOverload
    public static func form(_ fields: [String: some QueryValue], format: QueryFormat = QueryFormat()) -> RequestBody {
        form(fields.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }, format: format)
    }

    /// Creates a body of names and values as an HTML form sends them, encoded by the rules of WHATWG's URL standard.
    ///
    /// - Parameter items: The fields in order; a field without a value is sent with an empty one.
    /// - Returns: A body of type `application/x-www-form-urlencoded`.
    public static func form(_ items: [URLQueryItem]) -> RequestBody {
        form(items.map { ($0.name, $0.value ?? "") }, format: QueryFormat())
    }

    /// Not available, because the values of such a dictionary may have any type.
    ///
    /// - Parameter fields: The names and values.
    /// - Returns: The body.
    @available(*, unavailable, message: "Give the values a type: [String: String], or a literal of QueryValue values.")
    @_disfavoredOverload
    public static func form(_ fields: [String: Any?]?) -> RequestBody {
        form([], format: QueryFormat())
    }

    private static func form(_ fields: [(String, (any QueryValue)?)], format: QueryFormat) -> RequestBody {
        let items = format.items(of: fields, encodedWith: .form, elementsWith: .form)
        return .data(Data(items.joined(separator: "&").utf8), contentType: "application/x-www-form-urlencoded")
    }
}
