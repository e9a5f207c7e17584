public import FoundationForNetworking

/// A JSON object for a request, with values of several types.
///
/// ```swift
/// let body = RequestBody.json(["page": 1, "username": name, "nickname": nil])
/// ```
///
/// A value is any encodable value; `nil` is `null`. An object within another one names its type if its values have
/// several types:
///
/// ```swift
/// let filter: JSONObject = ["role": "admin", "age": 42]
/// request.body = .json(["filter": filter, "tags": ["a", "b"]])
/// ```
///
/// Names are sent as they are written, whatever the encoder's strategy for keys is. An encodable type of the app
/// describes a body that is sent from several places better than an object does.
public struct JSONObject: Encodable, Sendable {
    private let members: [String: Member]

    private struct Member: Encodable, Sendable {
        let value: (any Encodable & Sendable)?

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            guard let value else { return try container.encodeNil() }
            try container.encode(value)
        }
    }

    /// Encodes the object, without a change of its names.
    ///
    /// - Parameter encoder: The encoder.
    /// - Throws: The errors of the encoder and of the values.
    public func encode(to encoder: any Encoder) throws {
        // A dictionary, because the encoder's strategy for keys applies to any other container.
        var container = encoder.singleValueContainer()
        try container.encode(members)
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    /// Creates an object from names and values; the last value of a repeated name applies.
    public init(dictionaryLiteral elements: (String, (any Encodable & Sendable)?)...) {
        members = Dictionary(elements.map { ($0, Member(value: $1)) }) { _, last in last }
    }
}

extension RequestBody {
    /// Creates a JSON body from names and values of several types.
    ///
    /// ```swift
    /// let response = try await network.data(.post("search", body: .json(["page": 1, "username": name])))
    /// ```
    ///
    /// - Parameter object: The names and values.
    /// - Returns: The body, with the Content-Type `application/json`. The encoder of the request or the stack encodes
    ///   it.
    public static func json(_ object: JSONObject) -> RequestBody {
        encodedAsJSON(object)
    }

    /// Creates a JSON body from names and values of several types, with an encoder.
    ///
    /// - Parameters:
    ///   - object: The names and values.
    ///   - encoder: The encoder.
    /// - Returns: The body, with the Content-Type `application/json`.
    public static func json(_ object: JSONObject, encoder: JSONEncoder) -> RequestBody {
        encoded(object, by: encoder, contentType: "application/json")
    }

    /// Not available, because the values of such a dictionary may have any type.
    ///
    /// - Parameter values: The names and values.
    /// - Returns: The body.
    @available(
        *,
        unavailable,
        message:
            "Pass a literal of encodable values, [\"page\": 1, \"name\": name], a JSONObject, or an Encodable type."
    )
    @_disfavoredOverload
    public static func json(_ values: [String: Any?]?) -> RequestBody {
        RequestBody.json([:] as JSONObject)
    }

    /// Not available, because the elements of such an array may have any type.
    ///
    /// - Parameter values: The elements.
    /// - Returns: The body.
    @available(
        *,
        unavailable,
        message: "Pass an array of encodable elements of one type, such as [JSONObject] or an Encodable type."
    )
    @_disfavoredOverload
    public static func json(_ values: [Any]) -> RequestBody {
        RequestBody.json([:] as JSONObject)
    }
}
