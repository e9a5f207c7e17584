#if TestServer
import FoundationForNetworking
import HTTPTypes
import NetworkingTestServer
import NetworkingCore

extension TransportCheck {
    /// Responses in raw bytes, both valid but unusual ones and invalid ones.
    static let framing: [TransportCheck] = heads + fieldLines + lengths + odd

    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    private static let chunkedHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

    private static let heads: [TransportCheck] = [
        .raw(
            "not-HTTP reply",
            [
                ["garbage\r\n\r\n"], ["220 smtp.example.com ESMTP\r\n"], ["SSH-2.0-OpenSSH_9.6\r\n"],
                [.bytes(Data([21, 3, 1, 0, 2, 2, 40]))],
            ],
            gives: .fails(.invalidResponse)
        ),
        // The name in the version is case-sensitive (RFC 9112, section 2.3), but accepting other cases is harmless.
        .raw(
            "bad case",
            "hTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            gives: .returns(200, "ok").orFails(.invalidResponse)
        ),
        .raw(
            "status line of another protocol",
            "RTSP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
            gives: .fails(.invalidResponse)
        ),
        .raw("disordered status line", "HTTP/1.1 OK 200\r\n\r\n", gives: .fails(.invalidResponse)),
        .raw("unknown version", "HTTP/9.9 200 OK\r\n\r\n", gives: .fails(.invalidResponse)),
        .raw(
            "status out of range",
            [["HTTP/1.1 099 Odd\r\n\r\n"], ["HTTP/1.1 2000 Odd\r\n\r\n"], ["HTTP/1.1 -20 Odd\r\n\r\n"]],
            gives: .fails(.invalidResponse)
        ),
        // Three digits are well-formed, but a client may consider codes from 600 on invalid (RFC 9110, section 15).
        .raw(
            "status without a class",
            "HTTP/1.1 999 Odd\r\nContent-Length: 2\r\n\r\nok",
            gives: .returns(999, "ok").orFails(.invalidResponse)
        ),
        .raw("no reason phrase", "HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok", gives: .returns(200, "ok")),
        // The space after the code is required (RFC 9112, section 4), but clients generally accept its absence.
        .raw(
            "status line without its last space",
            "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok",
            gives: .returns(200, "ok").orFails(.invalidResponse)
        ),
        // RFC 9112 section 2.2 allows a client to accept this.
        .raw(
            "line ends without a carriage return",
            "HTTP/1.1 200 OK\nContent-Length: 2\n\nok",
            gives: .returns(200, "ok").orFails(.invalidResponse)
        ),
        .raw("HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", gives: .returns(200, "ok")),
        .raw("end within the head", "HTTP/1.1 200 OK\r\nContent-Le", gives: .fails(.connectionLost, .invalidResponse)),
    ]

    private static let fieldLines: [TransportCheck] = [
        .field("field without a space", "X-A:b", gives: .returns(200, "ok", [.xA: "b"])),
        .field("field with surrounding spaces", "X-A: \t b \t ", gives: .returns(200, "ok", [.xA: "b"])),
        // A client replaces the line fold with spaces (RFC 9112, section 5.2); rejecting the response is also safe.
        .field(
            "folded field",
            "X-A: b\r\n folded",
            gives: .returns(200, "ok", [.xA: "b folded"]).orFails(.invalidResponse)
        ),
        .field("field without a colon", "X-A without a colon", gives: .fails(.invalidResponse)),
        .field("field without a name", ": without a name", gives: .fails(.invalidResponse)),
        // RFC 9112, section 5.1 has a rule for servers and proxies only, so a client may accept or reject the response.
        .field(
            "field with a space before its colon",
            "X-A : b",
            gives: .returns(200, "ok").orFails(.invalidResponse)
        ),
        .field("field with a NUL", "X-A: a\0b", gives: .fails(.invalidResponse)),
    ]

    private static let lengths: [TransportCheck] = [
        .raw("204 with a length", "HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n", gives: .returns(204, "")),
        .raw("204 with a body", "HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nok", gives: .returns(204, "")),
        .raw("304 with a length", "HTTP/1.1 304 Not Modified\r\nContent-Length: 200\r\n\r\n", gives: .returns(304, "")),
        .raw(
            "incomplete body",
            [
                ["HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"],
                [.text(chunkedHead), "4\r\nhalf\r\n"],
                [.text(chunkedHead), "ff\r\nhalf"],
                [.text(chunkedHead), "4\r\nhalf\r\n0\r\n"],
                ["HTTP/1.1 404 Not Found\r\nContent-Length: 20\r\n\r\nhalf"],
                [
                    "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\n",
                    "Content-Length: 20\r\n\r\nhalf",
                ],
            ],
            gives: .fails(.truncated)
        ),
        .raw("body longer than its length", .text(ok + "ay, and more than that"), gives: .returns(200, "ok")),
        .raw(
            "garbage after the end",
            [[.text(ok + ok)], [.text(ok + "garbage")], [.text(chunkedHead + "2\r\nok\r\n0\r\n\r\ngarbage")]],
            gives: .returns(200, "ok")
        ),
        .raw(
            "conflicting lengths",
            [
                ["HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 4\r\n\r\nokok"],
                ["HTTP/1.1 200 OK\r\nContent-Length: 2, 4\r\n\r\nokok"],
            ],
            gives: .fails(.invalidResponse)
        ),
        // A client may treat equal lengths as one, or reject them (RFC 9110, section 8.6).
        .raw(
            "repeated Content-Length",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok",
            gives: .returns(200, "ok").orFails(.invalidResponse)
        ),
        .raw(
            "invalid Content-Length",
            [
                ["HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok"],
                ["HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\nok"],
                ["HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nok"],
                ["HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok"],
                ["HTTP/1.1 200 OK\r\nContent-Length: 2 2\r\n\r\nok"],
                ["HTTP/1.1 200 OK\r\nContent-Length: 0x2\r\n\r\nok"],
            ],
            gives: .fails(.invalidResponse)
        ),
        // The chunked coding takes precedence, or the client rejects the response as attempted smuggling (RFC 9112,
        // section 6.3).
        .raw(
            "length beside chunks",
            "HTTP/1.1 200 OK\r\nContent-Length: 100\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            gives: .returns(200, "ok").orFails(.invalidResponse)
        ),
        .raw("no length", "HTTP/1.1 200 OK\r\n\r\nto the end", gives: .returns(200, "to the end")),
        .raw(
            "bad chunk size",
            [[.text(chunkedHead), "zz\r\nok\r\n0\r\n\r\n"], [.text(chunkedHead), "-2\r\nok\r\n0\r\n\r\n"]],
            gives: .fails(.invalidResponse)
        ),
        .raw(
            "chunk size with trailing bytes",
            [[.text(chunkedHead), "2x\r\nok\r\n0\r\n\r\n"], [.text(chunkedHead), "2 2\r\nok\r\n0\r\n\r\n"]],
            gives: .fails(.invalidResponse)
        ),
    ]

    private static let odd: [TransportCheck] = [
        .raw(
            "1xx before the head",
            [
                [.text("HTTP/1.1 100 Continue\r\n\r\n" + ok)],
                [.text("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nX-A: early\r\n\r\n" + ok)],
                [.text(String(repeating: "HTTP/1.1 102 Processing\r\n\r\n", count: 20) + ok)],
            ],
            gives: .returns(200, "ok", [.contentLength: "2", .xA: "(none)"])
        ),
        .raw("drip head", .drip(ok), gives: .returns(200, "ok", [.contentLength: "2"])),
        .raw("drip chunks", .drip(chunkedHead + "1;x=y\r\no\r\n01\r\nk\r\n0\r\n\r\n"), gives: .returns(200, "ok")),
        .raw(
            "401 to the end",
            "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\n\r\nto the end",
            gives: .returns(401, "to the end")
        ),
        .raw(
            "trailers",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-A\r\n\r\n",
            "2\r\nok\r\n0\r\nX-A: b\r\n\r\n",
            gives: .returns(200, "ok")
        ),
    ]
}
#endif
