#if TestServer
public import FoundationForNetworking
public import HTTPTypes

extension TestResponse {
    /// An empty response with `200 OK`.
    public static var ok: TestResponse {
        TestResponse()
    }

    /// A close of the connection without a response.
    public static var hangUp: TestResponse {
        TestResponse(body: .hangUp)
    }

    /// A reset of the connection without a response.
    public static var reset: TestResponse {
        .raw(.reset)
    }

    /// Returns a response that consists of exactly the bytes of its steps, without a generated head, to imitate a
    /// broken or hostile server.
    ///
    /// ```swift
    /// let gate = Gate()
    /// TestResponse.raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly these", .gate(gate), .reset)
    /// ```
    ///
    /// After the last step the connection is closed, unless that step is another ending.
    ///
    /// - Parameter steps: The steps, in order.
    /// - Returns: The response. Its status, fields and delay are not used.
    /// - Precondition: A step that ends the response is the last one.
    public static func raw(_ steps: RawStep...) -> TestResponse {
        for step in steps.dropLast() {
            precondition(step.ending == nil, "\(step) must be the last step of a raw response")
        }
        return TestResponse(body: .raw(steps))
    }

    /// Returns an empty response with a status.
    ///
    /// - Parameter status: The status.
    /// - Returns: The response.
    public static func status(_ status: HTTPResponse.Status) -> TestResponse {
        TestResponse(status: status)
    }

    /// Returns a response with plain UTF-8 text.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - status: The status.
    /// - Returns: The response.
    public static func text(_ text: String, status: HTTPResponse.Status = .ok) -> TestResponse {
        TestResponse(
            status: status,
            headerFields: [.contentType: "text/plain; charset=utf-8"],
            body: .data(Data(text.utf8))
        )
    }

    /// Returns a response with a value as JSON.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - status: The status.
    ///   - encoder: The encoder, for example with a strategy for keys or dates; `nil` sorts the keys, so the bytes are
    ///     the same each time.
    /// - Returns: The response.
    /// - Throws: The `EncodingError` of a value that JSON cannot represent.
    public static func json(
        _ value: some Encodable,
        status: HTTPResponse.Status = .ok,
        encoder: JSONEncoder? = nil
    ) throws -> TestResponse {
        TestResponse(
            status: status,
            headerFields: [.contentType: "application/json"],
            body: .data(try (encoder ?? sortingEncoder).encode(value))
        )
    }

    private static var sortingEncoder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }

    /// Returns a redirect.
    ///
    /// - Parameters:
    ///   - location: The value of `Location`: an absolute URL or a path.
    ///   - status: The status.
    /// - Returns: The response.
    public static func redirect(to location: String, status: HTTPResponse.Status = .found) -> TestResponse {
        TestResponse(status: status, headerFields: [.location: location])
    }
}
#endif
