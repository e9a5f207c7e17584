import Foundation
import HTTPTypes
import Networking
import Testing

/// Requests of swift-http-types as requests of a stack.
@Suite struct HTTPTypesRequestTests {
    @Test(
        arguments: [
            ("https://api.example.com", "/users", "https://api.example.com/users"),
            ("https://api.example.com/", "/users", "https://api.example.com/users"),
            ("https://api.example.com/v1", "users", "https://api.example.com/v1/users"),
            ("https://api.example.com/v1/", "/users/", "https://api.example.com/v1/users/"),
            ("http://localhost:8080/v1?key=1", "?page=2", "http://localhost:8080/v1?page=2"),
            ("https://api.example.com/v1", "", "https://api.example.com/v1"),
            // An empty parameter of the path does not make the next segment a server.
            ("https://api.example.com", "//other.example/users", "https://api.example.com//other.example/users"),
            (
                "https://api.example.com/v1/", "https://other.example/",
                "https://api.example.com/v1/https://other.example/"
            ),
        ] as [(String, String, String)]
    )
    func joinsThePathToTheBaseURL(base: String, path: String, expected: String) throws {
        let url = try #require(URL(string: base))
        let request = HTTPRequest(method: .get, scheme: "ftp", authority: "elsewhere.example", path: path)
        #expect(HTTPRequestData(request, baseURL: url).url?.absoluteString == expected)
    }

    @Test func requestWithoutABaseURLKeepsItsServer() {
        let own = HTTPRequest(method: .get, scheme: "https", authority: "example.com", path: "/users")
        #expect(HTTPRequestData(own).url?.absoluteString == "https://example.com/users")
        let open = HTTPRequestData(HTTPRequest(method: .head, scheme: nil, authority: nil, path: nil))
        #expect(open.method == .head)
        #expect(open.authority == nil)
        #expect(open.path == nil)
    }
}
