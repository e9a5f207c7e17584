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

    private static let known = KnownDifferences([:])
}
