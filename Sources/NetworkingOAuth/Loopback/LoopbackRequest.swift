#if LoopbackRedirect
import FoundationForNetworking

/// The parts of a request head that matter here (RFC 9112).
struct LoopbackRequest {
    let method: String
    /// The path and the query.
    let target: String
    /// The `Host` field; `nil` unless there is exactly one.
    let host: String?

    enum Fault: Error {
        case malformed
        case tooLong
    }

    /// Parses the head, without its empty line.
    init(_ head: some Collection<UInt8>) throws(Fault) {
        var lines =
            String(decoding: head, as: UTF8.self).split(separator: "\r\n", omittingEmptySubsequences: false)[...]
        let parts = lines.popFirst()?.split(separator: " ", omittingEmptySubsequences: false) ?? []
        guard parts.count == 3, parts[1].hasPrefix("/"), parts[2].hasPrefix("HTTP/1.") else { throw .malformed }
        var hosts: [String] = []
        for line in lines {
            guard let colon = line.firstIndex(of: ":"), line.first?.isWhitespace == false else { throw .malformed }
            if line[..<colon].lowercased() == "host" {
                let value = line[colon...].dropFirst().drop(while: \.isWhitespace)
                hosts.append(String(value.reversed().drop(while: \.isWhitespace).reversed()))
            }
        }
        method = String(parts[0])
        target = String(parts[1])
        host = hosts.count == 1 ? hosts[0] : nil
    }

    var path: Substring {
        target.prefix { $0 != "?" }
    }

    /// The names of the query items.
    var queryNames: [Substring] {
        target.dropFirst(path.count + 1).split(separator: "&").map { $0.prefix { $0 != "=" } }
    }
}

/// A page with one sentence.
struct LoopbackResponse {
    /// The bytes to send.
    let data: Data

    init(status: String, fields: [String], language: String, title: String, text: String) {
        let body = Data(
            """
            <!doctype html>
            <html lang="\(Self.escaped(language))">
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width">
            <meta name="color-scheme" content="light dark">
            <title>\(Self.escaped(title))</title>
            <p>\(Self.escaped(text))</p>
            </html>

            """
            .utf8
        )
        let fields =
            fields + [
                "Content-Type: text/html; charset=utf-8",
                "Content-Length: \(body.count)",
                "Connection: close",
                // The URL of the page contains the code.
                "Cache-Control: no-store",
                "Referrer-Policy: no-referrer",
                "X-Content-Type-Options: nosniff",
                "Content-Security-Policy: default-src 'none'; base-uri 'none'; form-action 'none'; "
                    + "frame-ancestors 'none'",
            ]
        let head = "HTTP/1.1 \(status)\r\n" + fields.map { "\($0)\r\n" }.joined() + "\r\n"
        data = Data(head.utf8) + body
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
            .replacing("\"", with: "&quot;")
    }
}
#endif
