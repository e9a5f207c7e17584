#if LoopbackRedirect
import FoundationForNetworking

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
