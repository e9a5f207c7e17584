import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

@Suite
struct HTTPRequestDataDescriptionTests {
    @Test func isMethodAndURL() {
        var request = HTTPRequestData(method: .post, authority: "my-server.com", path: "message")
        request.query.greeting = "Hello World"
        #expect(request.description == "POST https://my-server.com/message?greeting=Hello%20World")
        #expect(request.debugDescription == request.description)
    }

    @Test(arguments: [
        (HTTPRequestData(), "GET /"),
        (HTTPRequestData(path: "users/"), "GET /users/"),
        (HTTPRequestData(scheme: "http", path: "a?x"), "GET /a?x"),
        (HTTPRequestData(scheme: "http", authority: "localhost:80"), "GET http://localhost:80/"),
        (HTTPRequestData(method: .options, authority: "example.com", path: "*"), "OPTIONS https://example.com *"),
    ])
    func showsTheSetParts(request: HTTPRequestData, description: String) {
        #expect(request.description == description)
    }

    @Test func descriptionsContainNoSecret() {
        var request = HTTPRequestData(
            method: .post,
            scheme: "https",
            authority: "emily:hunter2@example.com",
            path: "a?access_token=hunter2&API_KEY=hunter2&%74oken=hunter2&visible=yes",
            headerFields: [
                .authorization: "Bearer hunter2", .cookie: "session=hunter2", .accept: "text/plain",
            ],
            body: .form(["password": "hunter2"])
        )
        if let name = HTTPField.Name("X-Api-Key") {
            request.headerFields[name] = "hunter2"
        }
        if let name = HTTPField.Name("X-Own") {
            var field = HTTPField(name: name, value: "hunter2")
            field.indexingStrategy = .disallow
            request.headerFields.append(field)
        }
        let printed = everyPrint(of: request)
        #expect(!printed.contains("hunter2"))
        #expect(printed.contains("visible=yes"))
        #expect(printed.contains("text/plain"))
        #expect(printed.contains("<redacted>"))
        #expect(!everyPrint(of: request.headerFields).contains("hunter2"))
        #expect(!everyPrint(of: request.query).contains("hunter2"))
        #expect(!everyPrint(of: request.body as Any).contains("hunter2"))
    }

    /// Swift combines a leading accent with the preceding character, which hides that character from a search.
    @Test func redactsUserinfoBeforeAHostThatStartsWithACombiningMark() {
        let request = HTTPRequestData(authority: "emily:hunter2@\u{301}example.com")
        #expect(!everyPrint(of: request).contains("hunter2"))
    }

    @Test(arguments: ["\u{1B}[31m", "\u{7}", "\u{8}", "\u{7F}", "\t", "\r\n"])
    func showsNoControlCharacters(text: String) {
        let request = HTTPRequestData(authority: "example.com\(text)x", path: "a\(text)b")
        #expect(!request.description.utf8.contains { $0 < 32 || $0 == 127 })
    }
}
