public import FoundationForNetworking

/// A value of a query item: text, a number, a Boolean, a date, an optional, an array, or a type of your own.
///
/// ```swift
/// enum Order: String, QueryValue {
///     case newest, oldest
/// }
///
/// HTTPRequestData.get("posts", query: ["order": Order.newest, "tag": ["swift", "http"], "before": lastDate])
/// ```
///
/// An optional that is `nil` and an empty array send no item. A number that is not finite is sent as `nan`, `inf` or
/// `-inf`.
public protocol QueryValue {
    /// Returns the texts that the value sends, before percent-encoding: one for each item, none to leave it out.
    ///
    /// - Parameter format: The format of dates and Booleans.
    /// - Returns: The texts.
    func queryTexts(in format: QueryFormat) -> [String]
}

/// The format of the values of a query.
///
/// ```swift
/// RequestQuery(["tag": ["a", "b"]])                                                // tag=a&tag=b
/// RequestQuery(["tag": ["a", "b"]], format: QueryFormat(arrays: .brackets))        // tag%5B%5D=a&tag%5B%5D=b
/// RequestQuery(["tag": ["a", "b"]], format: QueryFormat(arrays: .commaSeparated))  // tag=a,b
/// ```
public struct QueryFormat: Sendable, Hashable {
    /// The form of an array.
    public enum ArrayStyle: Sendable, Hashable {
        /// One item for each element: `tag=a&tag=b`.
        case repeated
        /// One item for each element, with brackets after the name: `tag[]=a&tag[]=b`.
        case brackets
        /// One item with commas between the elements: `tag=a,b`. A comma in an element is percent-encoded.
        case commaSeparated
    }

    /// The form of a date.
    public enum DateStyle: Sendable, Hashable {
        /// `2026-11-24T09:30:00Z`.
        case iso8601
        /// `2026-11-24T09:30:00.250Z`, with milliseconds.
        case iso8601WithFractions
        /// The parts of ISO 8601 that a style selects.
        ///
        /// ```swift
        /// QueryFormat(dates: .formatted(.iso8601.year().month().day()))   // 2026-11-24
        /// ```
        case formatted(Date.ISO8601FormatStyle)
        /// Whole seconds since 1970.
        case secondsSince1970
        /// Whole milliseconds since 1970.
        case millisecondsSince1970
    }

    /// The form of a Boolean.
    public enum BooleanStyle: Sendable, Hashable {
        /// `true` and `false`.
        case words
        /// `1` and `0`.
        case digits
    }

    /// The form of arrays.
    public var arrays: ArrayStyle
    /// The form of dates.
    public var dates: DateStyle
    /// The form of Booleans.
    public var booleans: BooleanStyle

    /// Creates a format.
    ///
    /// - Parameters:
    ///   - arrays: The form of arrays.
    ///   - dates: The form of dates.
    ///   - booleans: The form of Booleans.
    public init(arrays: ArrayStyle = .repeated, dates: DateStyle = .iso8601, booleans: BooleanStyle = .words) {
        self.arrays = arrays
        self.dates = dates
        self.booleans = booleans
    }
}

extension QueryValue where Self: CustomStringConvertible {
    /// Returns the description of the value.
    public func queryTexts(in format: QueryFormat) -> [String] {
        [description]
    }
}

extension QueryValue where Self: RawRepresentable, RawValue: QueryValue {
    /// Returns the texts of the raw value.
    public func queryTexts(in format: QueryFormat) -> [String] {
        rawValue.queryTexts(in: format)
    }
}

extension QueryValue where Self: RawRepresentable & CustomStringConvertible, RawValue: QueryValue {
    /// Returns the texts of the raw value.
    public func queryTexts(in format: QueryFormat) -> [String] {
        rawValue.queryTexts(in: format)
    }
}

extension String: QueryValue {}
extension Substring: QueryValue {}
extension Int: QueryValue {}
extension Int8: QueryValue {}
extension Int16: QueryValue {}
extension Int32: QueryValue {}
extension Int64: QueryValue {}
extension UInt: QueryValue {}
extension UInt8: QueryValue {}
extension UInt16: QueryValue {}
extension UInt32: QueryValue {}
extension UInt64: QueryValue {}
extension Double: QueryValue {}
extension Float: QueryValue {}
extension Decimal: QueryValue {}

extension UUID: QueryValue {
    /// Returns the identifier in upper case.
    public func queryTexts(in format: QueryFormat) -> [String] {
        [uuidString]
    }
}

extension URL: QueryValue {
    /// Returns the URL as text.
    public func queryTexts(in format: QueryFormat) -> [String] {
        [absoluteString]
    }
}

extension Bool: QueryValue {
    /// Returns the Boolean in the style of the format.
    public func queryTexts(in format: QueryFormat) -> [String] {
        switch format.booleans {
        case .words: [self ? "true" : "false"]
        case .digits: [self ? "1" : "0"]
        }
    }
}

extension Date: QueryValue {
    /// Returns the date in the style of the format.
    public func queryTexts(in format: QueryFormat) -> [String] {
        switch format.dates {
        case .iso8601: [bounded.formatted(.iso8601)]
        case .iso8601WithFractions: [bounded.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))]
        case .formatted(let style): [bounded.formatted(style)]
        case .secondsSince1970: [Self.integerText(timeIntervalSince1970)]
        case .millisecondsSince1970: [Self.integerText(timeIntervalSince1970 * 1_000)]
        }
    }

    private static func integerText(_ number: Double) -> String {
        // A date may be further away than any integer.
        Int64(exactly: number.rounded()).map { "\($0)" } ?? "\(number)"
    }
}

extension Optional: QueryValue where Wrapped: QueryValue {
    /// Returns the texts of the wrapped value; none for `nil`.
    public func queryTexts(in format: QueryFormat) -> [String] {
        self?.queryTexts(in: format) ?? []
    }
}

extension Array: QueryValue where Element: QueryValue {
    /// Returns the texts of all elements, in order.
    public func queryTexts(in format: QueryFormat) -> [String] {
        flatMap { $0.queryTexts(in: format) }
    }
}

extension RequestQuery: ExpressibleByDictionaryLiteral {
    /// Creates a query from names and values, in order; values that are `nil` are left out.
    public init(dictionaryLiteral items: (String, (any QueryValue)?)...) {
        self.init(items: items, format: QueryFormat())
    }

    /// Creates a query from names and values, in order; values that are `nil` are left out.
    ///
    /// - Parameters:
    ///   - items: The names and values. A name may occur more than once.
    ///   - format: The format of arrays, dates and Booleans.
    public init(_ items: KeyValuePairs<String, (any QueryValue)?>, format: QueryFormat = QueryFormat()) {
        self.init(items: items.map { ($0.key, $0.value) }, format: format)
    }

    /// Creates a query from the names and values of a dictionary, sorted by name.
    ///
    /// ```swift
    /// let filters = ["color": "red", "size": "xl"]        // chosen while the app runs
    /// HTTPRequestData.get("shirts", query: RequestQuery(filters))
    /// ```
    ///
    /// - Parameters:
    ///   - items: The names and values.
    ///   - format: The format of arrays, dates and Booleans.
    @_disfavoredOverload
    public init(_ items: [String: some QueryValue], format: QueryFormat = QueryFormat()) {
        self.init(items: items.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }, format: format)
    }

    /// Creates a query from the query items of Foundation, in order.
    ///
    /// An item without a value is sent without an equals sign.
    ///
    /// - Parameter items: The items. Their names and values are percent-encoded.
    public init(_ items: [URLQueryItem]) {
        self.init(encoded: nil)
        self.items = items
    }

    /// Not available, because the values of such a dictionary may have any type.
    ///
    /// - Parameter items: The names and values.
    @available(*, unavailable, message: "Give the values a type: [String: String], or a literal of QueryValue values.")
    @_disfavoredOverload
    public init(_ items: [String: Any]) {
        self.init(encoded: nil)
    }

    private init(items: [(String, (any QueryValue)?)], format: QueryFormat) {
        self.init(encoded: nil)
        append(encoded: format.items(of: items, encodedWith: .standard, elementsWith: .strict))
    }
}

extension QueryFormat {
    /// Returns encoded items, in order: `name=value`.
    ///
    /// - Parameters:
    ///   - fields: The names and values; a value that is `nil` is left out.
    ///   - encoding: The encoding of names and values.
    ///   - elementEncoding: The encoding of the elements between commas, which encodes a comma.
    /// - Returns: The items.
    func items(
        of fields: [(String, (any QueryValue)?)],
        encodedWith encoding: QueryEncoding,
        elementsWith elementEncoding: QueryEncoding
    ) -> [String] {
        fields.flatMap { name, value in
            guard let value else { return [String]() }
            let texts = value.queryTexts(in: self)
            let isList = value is any QueryList
            switch arrays {
            case .commaSeparated where isList && !texts.isEmpty:
                return ["\(encoding.encode(name))=\(texts.map(elementEncoding.encode).joined(separator: ","))"]
            case .repeated, .brackets, .commaSeparated:
                let name = encoding.encode(arrays == .brackets && isList ? name + "[]" : name)
                return texts.map { "\(name)=\(encoding.encode($0))" }
            }
        }
    }
}

/// A value that may send several items, to which the style of arrays applies.
private protocol QueryList {}

extension Array: QueryList {}
extension Optional: QueryList where Wrapped: QueryList {}
