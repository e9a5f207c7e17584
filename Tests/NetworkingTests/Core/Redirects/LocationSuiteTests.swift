import Foundation
import HTTPTypes
import Networking
import TestSupport
import Testing

@testable import NetworkingCore

/// The cases of the web platform tests for URLs, each as the location of a redirect.
///
/// Browsers follow the URL standard of WHATWG and the library follows RFC 3986, so the two differ for references that
/// are invalid by the RFC.
@Suite(.timeLimit(.minutes(20)))
struct LocationSuiteTests {
    @Test(.requires(.publicSuites)) func redirectsLeadToTheURLsOfTheSuite() throws {
        let cases = try PublicSuite.urlReferences.cases()
        try #require(cases.count > 100)
        var differences: [String: String] = [:]
        for example in cases {
            let input = try #require(example["input"] as? String)
            let address = try #require(example["base"] as? String)
            let base = try #require(URL(string: address))
            let result = target(of: input, from: base)
            let expected = (example["href"] as? String).map(Self.withoutFragment)
            guard result != expected else { continue }
            differences[input] = "leads to \(result ?? "no URL") instead of \(expected ?? "no URL")"
        }
        Self.known.expect(differences)
    }

    /// Returns the URL that a redirect leads to; `nil` if it is not followed.
    private func target(of location: String, from base: URL) -> String? {
        var request = HTTPRequestData(url: base)
        // The cases have both schemes, and several lead to the same URL.
        request.redirects = request.redirects.allowingDowngrade()
        request.headerFields[.cookie] = "a=1"
        let fields: HTTPFields = [.location: location, .setCookie: "a=1"]
        let head = HTTPResponse(status: .found, headerFields: fields)
        return (try? request.redirected(by: head, after: []))?.url?.absoluteString
    }

    /// Fragments are not sent, so a redirect has none.
    private static func withoutFragment(_ url: String) -> String {
        String(url.prefix { $0 != "#" })
    }

    private static let known = KnownDifferences([
        "A redirect with a user's name or a password is not followed.": [
            "", "/some/path", "http://&a:foo(b]c@d:2/", "http://::@c@d:2", "http://foo:💩@example.com/bar",
            "http://user:pass@foo:21/bar;par?b#c", "https://@@@example", "https://user:pass[\u{7F}@foo/bar",
        ],
        "A redirect to the same URL is a loop.": [
            "#", "#;?", "#\\", "#β", "http:",
        ],
        "A relative path has no colon in its first segment (RFC 3986 section 4.2).": [
            ":#", ":/", ":23", "::", "::23", ":\\", ":foo.com/",
        ],
        "A URL without a host or with an invalid one is refused.": [
            "\t   :foo.com   \n", "///example.org/../path/../../", "///example.org/../path/../../path",
            "///example.org/path", "///test", "http://%30%78%63%30%2e%30%32%35%30.01", "http://example\t.\norg",
            "https:/example.com/",
        ],
        "Brackets in a path are encoded (RFC 3986 section 3.3).": ["http:[61:27]/:foo"],
        "A backslash is a character of a path, and no delimiter.": [
            "/\\/\\//example.org/../path", "\\\\x\\hello", "\\x", "http://foo.com/\\@", "http:\\\\a\\b:c\\d@foo.com\\",
            "http:\\\\foo.com\\",
        ],
        "The text of a host is kept: numbers in other notations are names, and the case and the ports stay.": [
            "http://0xffffffff", "http://1.2.3.4./", "http://192.168.257", "http://192.168.257.", "http://256",
            "http://4294967295", "http://999999999.", "http://ExAmPlE.CoM", "http://[2001::1]:80",
            "http://[::127.0.0.1]", "http://f:00000000000000/c", "http://f:00000000000000000000080/c",
            "http://０Ｘｃ０．０２５０．０１",
        ],
        "The transport finds out that no server has such an address.": [
            "http://0xffffffff1", "http://10000000000", "http://192.168.0.257", "http://256.256.256.256.256",
            "http://256.256.256.256.256.", "http://4294967296", "http://[0:1:2:3:4:5:6:7:8]", "http://[::%31]",
            "http://[::.1.2]", "http://[::.1]", "http://[::1.2.3.]", "http://[::1.2.]", "http://[::1.]", "http://[:]",
        ],
    ])
}
