import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

@Suite
struct RequestPathTests {
    private enum Kind: String {
        case invoice = "in/voice"
    }

    private enum Shown: String, CustomStringConvertible {
        case red

        var description: String { "a shade of red" }
    }

    @Test(arguments: [
        ("emily", "/users/emily/posts"),
        ("a/b", "/users/a%2Fb/posts"),
        ("a../..b", "/users/a..%2F..b/posts"),
        ("a?b#c", "/users/a%3Fb%23c/posts"),
        ("a%2Fb", "/users/a%252Fb/posts"),
        ("a b+c&d=e", "/users/a%20b%2Bc%26d%3De/posts"),
        ("ü👋", "/users/%C3%BC%F0%9F%91%8B/posts"),
        ("line\r\nbreak\0", "/users/line%0D%0Abreak%00/posts"),
        ("...", "/users/.../posts"),
        ("e\u{301}", "/users/e%CC%81/posts"),
    ])
    func escapesInterpolatedValues(name: String, path: String) throws {
        let transport = MockTransport()
        let request = HTTPRequestData(authority: "a.example", path: "users/\(name)/posts")
        #expect(request.path == path)
        #expect(transport.resolved(.get("users/\(name)/posts")).path == path)
    }

    @Test(arguments: ["", ".", "..", "../admin", "a/../../admin", "a/..", "..\\admin", "../\u{301}admin"])
    func refusesValuesThatNameAnotherResource(value: String) async throws {
        let transport = MockTransport()
        let network = transport.server(baseURL: try #require(URL(string: "https://a.example/v1")))
        for request in [
            HTTPRequestData.delete("users/\(value)"),
            .get("users/\(value)/posts"),
            .get("users/\(value)?page=1"),
            HTTPRequestData(path: "users/\(value)"),
            .get("users/\(value)").with(\.method, .put),
        ] {
            let error = try #require(await #expect(throws: NetworkingError.self) { try await network.data(request) })
            #expect(error.kind == .invalidRequest)
            #expect(error.reason.hasPrefix("A value in the path is empty"))
        }
        #expect(transport.requests.isEmpty)
    }

    @Test func acceptsDotsThatAreOnlyAPartOfASegment() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = transport.server(authority: "a.example")
        let (empty, dots) = ("", "..")
        try await network.data(.get("users\(empty)/x\(dots)/report\(empty).pdf"))
        try await network.data(.get("users?name=\(empty)&up=\(dots)"))
        #expect(transport.requests.map { $0.requestTarget } == ["/users/x../report.pdf", "/users?name=&up=.."])
    }

    @Test func prefixDoesNotMakeAnInvalidValueValid() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = transport.server(mutateRequest: { $0.path = "/v2" + ($0.path ?? "") })
            .server(authority: "a.example")
        let error = await #expect(throws: NetworkingError.self) { try await network.data(.get("users/\("")")) }
        #expect(error?.kind == .invalidRequest)
        #expect(transport.requests.isEmpty)
    }

    @Test func refusesDotSegmentsOfCombinedLiteralsAndValues() async throws {
        let transport = MockTransport { _ in .ok() }
        let (dot, parent) = (".", "./admin")
        for path in ["users/.\(dot)/posts", "users/\(dot)\(dot)", "users/.\(parent)"] as [RequestPath] {
            let request = HTTPRequestData.get(path).with(\.authority, "a.example")
            let error = await #expect(throws: NetworkingError.self) { try await transport.data(request) }
            #expect(error?.kind == .invalidRequest)
        }
        #expect(transport.requests.isEmpty)
    }

    @Test func pathOfACopyIsEscaped() async throws {
        let transport = MockTransport { _ in .ok() }
        let template = HTTPRequestData(authority: "a.example", path: "users?page=1")
        let (name, empty) = ("a/b?c", "")

        try await transport.data(template.with(path: "users/\(name)"))
        try await transport.data(template.with(path: "users?page=\(name)"))
        let refused = template.with(path: "users/\(empty)")
        let error = await #expect(throws: NetworkingError.self) { try await transport.data(refused) }
        try await transport.data(refused.with(path: "users"))

        #expect(error?.kind == .invalidRequest)
        #expect(
            transport.requests.map(\.requestTarget)
                == ["/users/a%2Fb%3Fc?page=1", "/users?page=a%2Fb%3Fc", "/users?page=1"]
        )
        #expect(transport.requests.allSatisfy { $0.id == template.id })
    }

    @Test func newURLReplacesAnInvalidPath() async throws {
        let transport = MockTransport { _ in .ok() }
        var request = HTTPRequestData(path: "users/\("")")
        request.url = URL(string: "https://a.example/users/2")
        try await transport.data(request)
        #expect(transport.requests.map(\.path) == ["/users/2"])
    }

    @Test func literalsAreNotEscapedFurther() {
        #expect(HTTPRequestData.get("a/../b?c=d&e=%20#f").requestTarget == "/a/../b?c=d&e=%20%23f")
        #expect(HTTPRequestData.get("files/\(raw: "2026/11.pdf")").path == "/files/2026/11.pdf")
        let composed = "a/b?c=d"
        #expect(HTTPRequestData.get(RequestPath(composed)).requestTarget == "/a/b?c=d")
        #expect(HTTPRequestData(path: composed).requestTarget == "/a/b?c=d")
        #expect(HTTPRequestData(path: composed + "e").requestTarget == "/a/b?c=de")
        #expect(HTTPRequestData(path: nil).path == nil)
        #expect(RequestPath(stringLiteral: composed).description == composed)
    }

    @Test func writesNumbersAndRawValues() throws {
        let id = try #require(UUID(uuidString: "0F2A6C5E-1111-4222-8333-444455556666"))
        #expect(HTTPRequestData.get("a/\(42)/\(Kind.invoice)").path == "/a/42/in%2Fvoice")
        #expect(HTTPRequestData.get("a/\(Shown.red)").path == "/a/red")
        #expect(HTTPRequestData.get("a/\(id)").path == "/a/0F2A6C5E-1111-4222-8333-444455556666")
    }

    @Test func interpolationIsComposedInOrder() {
        var interpolation = RequestPath.StringInterpolation(literalCapacity: 4, interpolationCount: 2)
        interpolation.appendLiteral("a/")
        interpolation.appendInterpolation("b/c")
        interpolation.appendInterpolation(raw: "/d")
        #expect(RequestPath(stringInterpolation: interpolation).description == "a/b%2Fc/d")
    }
}
