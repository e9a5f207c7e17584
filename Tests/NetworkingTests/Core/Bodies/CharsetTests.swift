import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

/// Bodies decoded as `String`, with charsets that are unknown, wrong or violated.
@Suite(.tags(.memory), .timeLimit(.minutes(20)))
struct CharsetTests {
    private func text(_ bytes: [UInt8], charset: String?) async throws -> String {
        let type = charset.map { "text/plain; charset=\($0)" }
        let transport = MockTransport { _ in
            MockResponse(status: .ok, data: Data(bytes), headerFields: type.map { [.contentType: $0] } ?? [:])
        }
        return try await transport.request(HTTPRequestData(authority: "example.com", path: "/"), as: String.self)
    }

    /// A byte order mark takes precedence over another charset, as in browsers.
    @Test(
        arguments: [
            ([0xFE, 0xFF, 0x00, 0x61], "utf-16le", "a"), ([0xFF, 0xFE, 0x61, 0x00], "utf-16be", "a"),
            ([0xFF, 0xFE, 0x61, 0x00], "utf-8", "a"), ([0xFE, 0xFF, 0x00, 0x61], nil, "a"),
            ([0xEF, 0xBB, 0xBF, 0xC3, 0xBC], "utf-16", "ü"), ([0xEF, 0xBB, 0xBF, 0xC3, 0xBC], "iso-8859-1", "ü"),
            ([0xFF, 0xFE, 0x61, 0x00], "windows-1252", "a"),
            // Also over a charset that is not supported.
            ([0xEF, 0xBB, 0xBF, 0xC3, 0xBC], "shift_jis", "ü"), ([0xFF, 0xFE, 0x61, 0x00], "x-unknown", "a"),
            ([0xFE, 0xFF, 0x00, 0x61], "utf-7", "a"), ([0xFF, 0xFE, 0x00, 0x00], "utf-32", "\0"),
        ] as [([UInt8], String?, String)]
    )
    func byteOrderMarkTakesPrecedenceOverTheCharset(bytes: [UInt8], charset: String?, expected: String) async throws {
        #expect(try await text(bytes, charset: charset) == expected)
    }

    @Test(
        arguments: [
            ([], "utf-16", ""), ([], "utf-16le", ""), ([], "iso-8859-1", ""), ([], nil, ""),
            ([0xFF, 0xFE], "utf-16", ""), ([0xFE, 0xFF], "utf-16", ""), ([0xEF, 0xBB, 0xBF], "utf-8", ""),
            ([0x61], "", "a"), ([0x61], "\"\"", "a"), ([0x61], "\"utf-8", "a"), ([0x61], "\"UTF\\-8\"", "a"),
            ([0x61], "'utf-8", nil), ([0xD8, 0x3D, 0xDE, 0x00], "utf-16", "😀"),
            // A second mark is a character.
            ([0xFE, 0xFF, 0xFE, 0xFF, 0x00, 0x61], "utf-16", "\u{FEFF}a"),
            // A truncated mark is no mark.
            ([0xEF, 0xBB], "iso-8859-1", "ï»"), ([0xEF, 0xBB], "utf-8", nil), ([0xFE], "utf-16", nil),
            // Truncated text and lone surrogates.
            ([0xFF, 0xFE, 0x61], "utf-16", nil), ([0x00], "utf-16be", nil), ([0x61, 0x00, 0x62], "utf-16le", nil),
            ([0x3D, 0xD8], "utf-16le", nil), ([0x3D, 0xD8, 0x61, 0x00], "utf-16le", nil),
            ([0x00, 0xDE], "utf-16le", nil), ([0x00, 0xDE, 0x3D, 0xD8], "utf-16le", nil),
            ([0xFF, 0xFE, 0x00, 0xD8], "utf-8", nil), ([0xED, 0xA0, 0x80], "utf-8", nil), ([0xC3], "utf-8", nil),
            ([0xC0, 0x80], "utf-8", nil), ([0xF4, 0x90, 0x80, 0x80], "utf-8", nil),
            // Unknown charsets.
            ([], "utf-32", nil), ([0x61], "utf-7", nil), ([0x61], "x", nil),
            ([0x61], "名前", nil), ([0x61], String(repeating: "x", count: 100_000), nil),
        ] as [([UInt8], String?, String?)]
    )
    func bodyIsTextOrADecodingError(bytes: [UInt8], charset: String?, expected: String?) async throws {
        if let expected {
            #expect(try await text(bytes, charset: charset) == expected)
        } else {
            let error = await #expect(throws: NetworkingError.self) { try await text(bytes, charset: charset) }
            #expect(error?.kind == .decoding)
            #expect(error?.reason.contains("it is not text in") == true)
            #expect(error?.reason.contains("\n") == false)
        }
    }
}
