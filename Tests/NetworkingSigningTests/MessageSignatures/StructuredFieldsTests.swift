#if Crypto
import Foundation
import HTTPTypes
import Networking
import RawStructuredFieldValues
import Testing

@testable import NetworkingSigning

/// Byte sequences of structured fields (RFC 9651 section 4.2.7).
@Suite
struct StructuredFieldsTests {
    private func serialized(_ value: String) -> String? {
        try? OrderedMap(lines: [HTTPField(name: .signature, value: value)]).serialized
    }

    @Test(arguments: [
        (":aGVsbG8=:", ":aGVsbG8=:"), (":aGVsbG8:", ":aGVsbG8=:"), (":iZ==:", ":iQ==:"), (":iZ:", ":iQ==:"),
        ("::", "::"), (":YWFh:", ":YWFh:"), (":+/+/:", ":+/+/:"),
    ])
    func byteSequenceIsCanonical(value: String, canonical: String) {
        #expect(serialized("a=\(value)") == "a=\(canonical)")
        #expect(
            serialized("a=(\(value) \(value));b=\(value), c=\(value)")
                == "a=(\(canonical) \(canonical));b=\(canonical), c=\(canonical)"
        )
    }

    @Test(arguments: [
        ":=aGVsbG8=:", ":a=GVsbG8=:", ":aGVsbG8.:", ":aGVsbG8=", ":aGVsb G8=:", ":    :", ":aGVsbG!8=:", ":", ":=:",
        ":aGVsbG8==:", ":aGVsbG8===:", ":YWFh====:", ":a:", ":aGVsb_8=:", ":aGVs=bG8:", ":====:", ":\u{e9}GVs:",
    ])
    func invalidByteSequenceIsRefused(value: String) {
        #expect(serialized("a=\(value)") == nil)
        #expect(serialized("b=1, a=(x \(value))") == nil)
    }

    @Test(arguments: [
        #"a=":x:", b="\":=:""#, "a=t:x:y", "a=x:=y", #"a=%"\", b=:YWFh:"#, "a;b=x:y, c",
    ])
    func colonOfAStringOrATokenStartsNoByteSequence(value: String) {
        #expect(serialized(value) != nil || value == "a=x:=y")
    }

    @Test func digestWithoutPaddingIsChecked() async throws {
        let digest = "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ"
        for value in [digest, digest + "="] {
            let transport = MockTransport { _ in
                .ok(Data("hello".utf8), headerFields: [.contentDigest: "sha-256=:\(value):"])
            }
            let response = try await transport.data(HTTPRequestData(authority: "example.com", path: "/"))
            try await response.verifyContentDigest()
        }
    }
}
#endif
