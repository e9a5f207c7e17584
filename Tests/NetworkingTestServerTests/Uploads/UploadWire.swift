#if TestServer
import NetworkingTestServer

/// The messages of both protocols as they are on the wire.
enum UploadWire {
    /// Returns a request with its body under a `Content-Length`, which may announce more bytes.
    static func request(
        _ method: String,
        _ path: String,
        _ fields: [String] = [],
        body: String = "",
        announcing length: Int? = nil
    ) -> String {
        let lines = ["\(method) \(path) HTTP/1.1"] + fields + ["Content-Length: \(length ?? body.utf8.count)"]
        return lines.joined(separator: "\r\n") + "\r\n\r\n" + body
    }

    static func append(
        _ body: String,
        at offset: Int,
        completes: Bool = false,
        _ fields: [String] = [],
        announcing length: Int? = nil
    ) -> String {
        let own = [
            "Content-Type: application/partial-upload", "Upload-Offset: \(offset)",
            "Upload-Complete: ?\(completes ? 1 : 0)",
        ]
        return request("PATCH", "/films/1", own + fields, body: body, announcing: length)
    }

    static func tus(
        _ method: String,
        _ path: String = "/films/1",
        _ fields: [String] = [],
        body: String = "",
        announcing length: Int? = nil
    ) -> String {
        request(method, path, ["Tus-Resumable: 1.0.0"] + fields, body: body, announcing: length)
    }

    static func tusAppend(_ body: String, at offset: Int, _ fields: [String] = []) -> String {
        let own = ["Content-Type: application/offset+octet-stream", "Upload-Offset: \(offset)"]
        return tus("PATCH", "/films/1", own + fields, body: body)
    }

    /// The status, the fields in the order of arrival, and the body of a response.
    struct Response: Equatable {
        let status: Int
        let fields: [String]
        let body: String

        init(_ text: String) {
            let parts = text.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
            let lines = parts[0].split(separator: "\r\n")
            status = lines.first.flatMap { Int($0.split(separator: " ")[1]) } ?? 0
            fields = lines.dropFirst().map(String.init)
            body = parts.count > 1 ? String(parts[1]) : ""
        }

        /// Returns the value of a field, or `nil` if the response does not have it once.
        subscript(_ name: String) -> String? {
            let values = fields.filter { $0.hasPrefix("\(name): ") }
            return values.count == 1 ? String(values[0].dropFirst(name.count + 2)) : nil
        }
    }
}

extension RawClient {
    /// Sends a request and returns the response.
    mutating func response(to request: String) async throws -> UploadWire.Response {
        try await send(request)
        return UploadWire.Response(try await receiveResponse())
    }
}
#endif
