#if TestServer
#if canImport(FoundationEssentials)
private import FoundationEssentials
#else
private import Foundation
#endif
public import HTTPTypes

extension TestResponse {
    /// An empty answer with `200 OK`.
    public static var ok: TestResponse {
        TestResponse()
    }

    /// Closes the connection without an answer.
    public static var hangUp: TestResponse {
        TestResponse(body: .hangUp)
    }

    /// Resets the connection without an answer: the client gets a reset and not an end.
    public static var reset: TestResponse {
        .raw(.reset)
    }

    /// Returns bytes of the test's choice, in place of head and body: what a broken or hostile server sends.
    ///
    /// ```swift
    /// .raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly these", .gate(gate), .reset)
    /// ```
    ///
    /// Behind the last step the connection is closed, unless that step says what else becomes of it.
    ///
    /// - Parameter steps: What is done, in order.
    /// - Returns: The response; its status, its fields and its delay are not used.
    /// - Precondition: A step that ends the answer is the last one.
    public static func raw(_ steps: RawStep...) -> TestResponse {
        for step in steps.dropLast() {
            precondition(step.ending == nil, "\(step) must be the last step of a raw response")
        }
        return TestResponse(body: .raw(steps))
    }

    /// Returns an empty answer with a status.
    ///
    /// - Parameter status: The status.
    /// - Returns: The response.
    public static func status(_ status: HTTPResponse.Status) -> TestResponse {
        TestResponse(status: status)
    }

    /// Returns a plain text in UTF-8.
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

    /// Returns a value as JSON, with sorted keys so that the bytes are the same each time.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - status: The status.
    /// - Returns: The response.
    /// - Throws: The `EncodingError` of a value that JSON cannot hold.
    public static func json(_ value: some Encodable, status: HTTPResponse.Status = .ok) throws -> TestResponse {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return TestResponse(
            status: status,
            headerFields: [.contentType: "application/json"],
            body: .data(try encoder.encode(value))
        )
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
