#if os(Linux) || os(macOS)
import Foundation
import NetworkingTesting
import HTTPTypes
import Networking
import TestSupport
import Testing

extension Loopback {
    /// Request bodies, parsed by independent implementations in Python.
    @Suite(.tags(.memory), .serialized, .timeLimit(.minutes(20)))
    struct ForeignParserTests {
        private struct Part: Codable, Equatable {
            var name: String
            var fileName: String?
            var contentType: String?
            var bytes: String
        }

        @Test(.requires(.multipart))
        func pythonParsesMultipartBodies() async throws {
            try await withTemporaryDirectory { directory in
                let file = directory.appending(path: "ü \"x\".png")
                let binary = Data((0..<70_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }) + Data("\r\n--\r\n".utf8)
                try binary.write(to: file)
                let body = RequestBody.multipart([
                    .text("Hello", name: "plain"), .text("", name: "empty"), .text("a\r\nb", name: "li\nes"),
                    .text("ü😀", name: "na\"me; x=\"1"), .file(file, name: "file"),
                    .data(Data(), name: "none", fileName: "n.txt"), MultipartPart(name: "json", body: .json(["a": 1])),
                ])
                let expected = [
                    Part(name: "plain", bytes: hex("Hello")), Part(name: "empty", bytes: ""),
                    Part(name: "li%0D%0Aes", bytes: hex("a\r\nb")), Part(name: "na%22me; x=%221", bytes: hex("ü😀")),
                    Part(name: "file", fileName: "ü %22x%22.png", contentType: "image/png", bytes: hex(binary)),
                    Part(name: "none", fileName: "n.txt", contentType: "text/plain", bytes: ""),
                    Part(name: "json", contentType: "application/json", bytes: hex("{\"a\":1}")),
                ]
                let contentType = try #require(body.contentType)
                let output = try await Python.run(
                    """
                    import json, sys
                    from python_multipart.multipart import MultipartParser, parse_options_header
                    _, options = parse_options_header(\("\(contentType)".debugDescription))
                    parts, field, value = [], b"", b""
                    def begin(): parts.append({"fields": {}, "bytes": b""})
                    def on_field(data, start, end):
                        global field
                        field += data[start:end]
                    def on_value(data, start, end):
                        global value
                        value += data[start:end]
                    def header_end():
                        global field, value
                        parts[-1]["fields"][field.decode().lower()] = value
                        field = value = b""
                    def on_data(data, start, end): parts[-1]["bytes"] += data[start:end]
                    ended = []
                    parser = MultipartParser(options[b"boundary"], {
                        "on_part_begin": begin, "on_header_field": on_field, "on_header_value": on_value,
                        "on_header_end": header_end, "on_part_data": on_data, "on_end": lambda: ended.append(1)})
                    parser.write(sys.stdin.buffer.read())
                    parser.finalize()
                    assert ended
                    def described(part):
                        kind, options = parse_options_header(part["fields"]["content-disposition"])
                        assert kind == b"form-data"
                        type = part["fields"].get("content-type")
                        name = options.get(b"filename")
                        return {"name": options[b"name"].decode(), "fileName": name and name.decode(),
                                "contentType": type and type.decode(), "bytes": part["bytes"].hex()}
                    print(json.dumps([described(part) for part in parts]))
                    """,
                    on: try await body.collect()
                )
                let parts = try JSONDecoder().decode([Part].self, from: output)
                #expect(parts == expected)
            }
        }

        @Test(.requires(.python))
        func pythonParsesFormBodies() async throws {
            let texts = [
                "", "plain", "a b", "a+b", "a&b=c", "100%", "ü😀", "a\r\nb", "*-._~", "\0", "e\u{301}", "\u{FEFF}x",
                "#?/;:@$,!'()",
            ]
            var items: [URLQueryItem] = []
            for name in texts {
                for value in texts {
                    items.append(URLQueryItem(name: name, value: value))
                }
            }
            let output = try await Python.run(
                """
                import json, sys, urllib.parse
                text = sys.stdin.buffer.read().decode("ascii")
                print(json.dumps(urllib.parse.parse_qsl(text, keep_blank_values=True, strict_parsing=True)))
                """,
                on: try await RequestBody.form(items).collect()
            )
            let parsed = try JSONDecoder().decode([[String]].self, from: output)
            #expect(parsed == items.map { [$0.name, $0.value ?? ""] })
        }

        private func hex(_ text: String) -> String {
            hex(Data(text.utf8))
        }

        private func hex(_ data: Data) -> String {
            data.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        }
    }
}
#endif
