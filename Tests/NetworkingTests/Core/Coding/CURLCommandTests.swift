import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

@Suite struct CURLCommandTests {
    private func request(_ method: HTTPRequest.Method = .get, _ url: String) throws -> HTTPRequestData {
        HTTPRequestData(method: method, url: try #require(URL(string: url)))
    }

    @Test func commandHasAllPartsOfARequest() throws {
        var request = try request(.put, "https://api.example.com/users/7?sort=name")
        request.headerFields[.authorization] = "Bearer secret"
        request.headerFields[.accept] = "application/json"
        request.body = .data(Data("{\"name\":\"Emily's\"}".utf8), contentType: "application/json")
        #expect(
            request.curl() == """
                curl --request 'PUT' \\
                    --header 'Authorization: <redacted>' \\
                    --header 'Accept: application/json' \\
                    --header 'Content-Type: application/json' \\
                    --data-raw '{"name":"Emily'\\''s"}' \\
                    'https://api.example.com/users/7?sort=name'
                """
        )
        #expect(request.curl(redaction: nil).contains("Bearer secret"))
    }

    @Test func commandOfAGETIsShort() throws {
        #expect(try request(.get, "https://a.example/").curl() == "curl 'https://a.example/'")
        #expect(HTTPRequestData(path: "/open").curl() == "curl 'https://localhost/open'")
        #expect(try request(.head, "https://a.example/").curl() == "curl --head \\\n    'https://a.example/'")
    }

    /// The request has secrets in its URL, header fields and body.
    @Test func commandContainsNoSecret() throws {
        var request = try request(.post, "https://emily:secret@api.example.com/login?access_token=secret&page=2")
        for name in ["Authorization", "Cookie", "X-API-Key", "Proxy-Authorization"] {
            request.headerFields[try #require(HTTPField.Name(name))] = "secret"
        }
        request.headerFields[.referer] = "https://a.example/?token=secret"
        let bodies: [RequestBody] = [
            .data(Data(#"{"user":{"name":"Emily","password":"secret"}}"#.utf8), contentType: "application/json"),
            .form(["name": "Emily", "password": "secret"]),
            .data(Data(#"{"password":"secret"#.utf8), contentType: "application/json"),
        ]
        for body in bodies {
            request.body = body
            let command = request.curl()
            #expect(!command.contains("secret"))
            #expect(command.contains("page=2"))
        }
        var marked = try self.request(.get, "https://a.example/")
        marked.headerFields.append(
            {
                var field = HTTPField(name: HTTPField.Name("X-Ours")!, value: "secret")
                field.indexingStrategy = .disallow
                return field
            }()
        )
        #expect(!marked.curl().contains("secret"))
        #expect(!marked.curl(redaction: .standard.addingHeaderFields("X-Ours")).contains("secret"))
    }

    @Test func commandRefersToAFileForALargeBody() throws {
        var request = try request(.post, "https://a.example/")
        request.body = .data(Data(count: 100_000))
        #expect(request.curl().hasPrefix("# The body has 100000 bytes: save it in a file named body.\ncurl "))
        request.body = .file(URL(filePath: "/tmp/it's here.bin"))
        #expect(request.curl().contains("--data-binary '@/tmp/it'\\''s here.bin'"))
    }
}
