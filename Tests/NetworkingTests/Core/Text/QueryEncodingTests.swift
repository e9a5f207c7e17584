import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

@Suite
struct QueryEncodingTests {
    private static let sample = "a b+c&d=e#f%g/h?i:j@k,l;m(n)o*p'q!r$s~t-u._v[w]ü\n"

    @Test(
        arguments: [
            (.standard, "a%20b%2Bc%26d%3De%23f%25g/h?i:j@k,l;m(n)o*p'q!r$s~t-u._v%5Bw%5D%C3%BC%0A"),
            (
                .strict,
                "a%20b%2Bc%26d%3De%23f%25g%2Fh%3Fi%3Aj%40k%2Cl%3Bm%28n%29o%2Ap%27q%21r%24s~t-u._v%5Bw%5D%C3%BC%0A"
            ),
            (.form, "a+b%2Bc%26d%3De%23f%25g%2Fh%3Fi%3Aj%40k%2Cl%3Bm%28n%29o*p%27q%21r%24s%7Et-u._v%5Bw%5D%C3%BC%0A"),
        ] as [(QueryEncoding, String)]
    )
    func encodesItemsByItsRules(encoding: QueryEncoding, expected: String) {
        var request = HTTPRequestData(path: "a")
        request.query.q = Self.sample
        let written = MockTransport().server(queryEncoding: encoding).resolved(request)
        #expect(written.query.encoded == "q=\(expected)")
        if encoding != .form {
            #expect(written.query.q == Self.sample)
        }
    }

    @Test func neverAllowsDelimitersOfTheQuery() {
        let encoding = QueryEncoding.allowing("&=+#% \u{7F}\r\n\0\tü|")
        var request = HTTPRequestData(path: "a")
        request.query["&=+#% \u{7F}\r\n\0\tü"] = "|"
        let written = MockTransport().server(queryEncoding: encoding).resolved(request)
        #expect(written.query.encoded == "%26%3D%2B%23%25%20%7F%0D%0A%00%09%C3%BC=|")
    }

    @Test func encodesAllDisallowedCharacters() {
        let request = HTTPRequestData(path: "a?abc=cad")
        let written = MockTransport().server(queryEncoding: .allowing("ab")).resolved(request)
        #expect(written.query.encoded == "ab%63=%63a%64")
    }

    @Test func itemsWithoutAValueStayWithoutOne() {
        let request = HTTPRequestData(path: "a?x&y=&x&=")
        for encoding in [QueryEncoding.standard, .strict, .form] {
            #expect(MockTransport().server(queryEncoding: encoding).resolved(request).query.encoded == "x&y=&x&=")
        }
    }

    @Test func encodingsAreEqualByTheirAllowedCharacters() {
        #expect(QueryEncoding.allowing("ab") == .allowing("ba"))
        #expect(QueryEncoding.allowing("ab") != .allowing("a"))
        #expect(QueryEncoding.standard != .form)
    }
}
