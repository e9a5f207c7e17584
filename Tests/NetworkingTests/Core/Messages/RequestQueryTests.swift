import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

@Suite
struct RequestQueryTests {
    private func query(_ encoded: String) -> RequestQuery {
        HTTPRequestData(path: "a?\(raw: encoded)").query
    }

    @Test(
        arguments: [
            ("a=1", "a", "1"),
            ("a=1&a=2", "a", "1"),
            ("b=1", "a", nil),
            ("a", "a", ""),
            ("a=", "a", ""),
            ("a=b=c", "a", "b=c"),
            ("a%20b=c%20d", "a b", "c d"),
            ("%61=1", "a", "1"),
            ("a=x+y", "a", "x+y"),
            ("A=1", "a", nil),
            ("=1", "", "1"),
            ("", "", ""),
            ("a=100%", "a", "100%"),
            ("a=%F0%9F%91%8B", "a", "👋"),
            ("a=%FF", "a", "\u{FFFD}"),
        ] as [(String, String, String?)]
    )
    func readsTheFirstItemDecoded(encoded: String, name: String, value: String?) {
        #expect(query(encoded)[name] == value)
        #expect(query(encoded)[dynamicMember: name] == value)
    }

    @Test(arguments: [
        ("", "a", "a=1"),
        ("b=2", "a", "b=2&a=1"),
        ("a=0", "a", "a=1"),
        ("b=2&a=0&c=3&a=9", "a", "b=2&a=1&c=3"),
        ("%61=0&b", "a", "a=1&b"),
        ("b=%7e", "a", "b=%7e&a=1"),
        ("b=2&", "a", "b=2&&a=1"),
    ])
    func replacesAnItemInPlace(encoded: String, name: String, expected: String) {
        var query = query(encoded)
        query[name] = "1"
        #expect(query.encoded == expected)
    }

    @Test(arguments: [
        ("Hello World", "Hello%20World"),
        ("a&b=c+d#e", "a%26b%3Dc%2Bd%23e"),
        ("https://x/?y", "https://x/?y"),
        ("100%", "100%25"),
        ("ü👋", "%C3%BC%F0%9F%91%8B"),
        ("\r\n\0", "%0D%0A%00"),
        ("e\u{301}", "e%CC%81"),
        ("[]{}|\\^`\"<>", "%5B%5D%7B%7D%7C%5C%5E%60%22%3C%3E"),
        ("-._~!$'()*,;:@/?", "-._~!$'()*,;:@/?"),
        ("", ""),
    ])
    func encodesNamesAndValues(text: String, encoded: String) {
        var query = RequestQuery.empty
        query[text] = text
        #expect(query.encoded == "\(encoded)=\(encoded)")
        #expect(query[text] == text)
    }

    @Test func holdsSeveralValuesInOrder() {
        var query = query("x=0&tag=a&y=1&tag=b")
        #expect(query[values: "tag"] == ["a", "b"])
        query[values: "tag"] = ["c", "", "c"]
        #expect(query.encoded == "x=0&tag=c&tag=&tag=c&y=1")
        query[values: "tag"] = []
        #expect(query.encoded == "x=0&y=1")
        #expect(query[values: "tag"].isEmpty)
    }

    @Test func removingTheLastItemRemovesTheQuery() {
        var query = query("a=1")
        query.a = nil
        #expect(query.encoded == nil)
        #expect(query == .empty)
    }

    @Test func emptyQueryDiffersFromNone() {
        #expect(query("").encoded == "")
        #expect(RequestQuery.empty.encoded == nil)
        #expect(query("") != .empty)
    }

    @Test func equalQueriesHaveEqualHashes() {
        #expect(query("a=1") == query("a=1"))
        #expect(query("a=1").hashValue == query("a=1").hashValue)
        #expect(query("a=1&b=2") != query("b=2&a=1"))
    }

    @Test func describesItselfWithoutSecrets() {
        #expect(query("a=1&token=hunter2&b").description == "a=1&token=<redacted>&b")
        #expect(!everyPrint(of: query("code=hunter2&sig=hunter2")).contains("hunter2"))
    }
}

extension RequestQuery {
    fileprivate static var empty: RequestQuery {
        HTTPRequestData().query
    }
}
