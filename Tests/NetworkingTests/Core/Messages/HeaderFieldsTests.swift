import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

@Suite(.timeLimit(.minutes(20)))
struct HeaderFieldsTests {
    @Test func namesAreNotCaseSensitive() throws {
        var fields = HeaderFields()
        fields[.accept] = "text/plain"
        let lowercase = try #require(HTTPField.Name("accept"))
        #expect(fields[lowercase] == "text/plain")
        fields[lowercase] = "text/html"
        #expect(fields.map(\.value) == ["text/html"])
        #expect(fields.contains(.accept))
        fields[.accept] = nil
        #expect(fields.isEmpty)
        #expect(!fields.contains(.accept))
    }

    @Test func keepsSeveralValuesOfAName() {
        var fields: HeaderFields = [.cacheControl: "no-cache", .accept: "a"]
        fields.append(name: .cacheControl, value: "no-store")
        #expect(fields[values: .cacheControl] == ["no-cache", "no-store"])
        #expect(fields[.cacheControl] == "no-cache, no-store")
        fields[values: .cacheControl] = ["private"]
        #expect(fields[.cacheControl] == "private")
        #expect(fields[fields: .cacheControl].map(\.value) == ["private"])
        fields[fields: .cacheControl] = []
        #expect(fields.map(\.name) == [.accept])
    }

    @Test func canBeCreatedFromALiteralAndFromFields() {
        let literal: HeaderFields = [.accept: "a", .accept: "b", .contentType: "c"]
        #expect(literal.count == 3)
        #expect(literal[values: .accept] == ["a", "b"])
        let converted = HeaderFields([.accept: "a", .accept: "b", .contentType: "c"] as HTTPFields)
        #expect(converted == literal)
        #expect(converted.httpFields == literal.httpFields)
    }

    @Test func isACollection() {
        var fields: HeaderFields = [.accept: "a", .contentType: "b", .cookie: "c"]
        fields.removeAll { $0.name == .contentType }
        #expect(fields.map(\.value) == ["a", "c"])
        fields.append(HTTPField(name: .accept, value: "d"))
        fields[0] = HTTPField(name: .accept, value: "e")
        #expect(fields[values: .accept] == ["e", "d"])
        fields.removeAll()
        #expect(fields == HeaderFields())
    }

    @Test func ignoresTheOrderOfDifferentNamesOnly() {
        let one: HeaderFields = [.accept: "a", .cookie: "b", .accept: "c"]
        let other: HeaderFields = [.cookie: "b", .accept: "a", .accept: "c"]
        #expect(one == other)
        #expect(one.hashValue == other.hashValue)
        #expect(one != [.cookie: "b", .accept: "c", .accept: "a"])
    }

    @Test func describesItselfWithoutSecrets() {
        let fields: HeaderFields = [.authorization: "Bearer hunter2", .accept: "text/plain"]
        #expect(fields.description == "Authorization: <redacted>\nAccept: text/plain")
        #expect(!everyPrint(of: fields).contains("hunter2"))
    }

    /// The query of a `Location` or a `Referer` can contain codes and tokens.
    @Test func describesURLsInFieldsWithoutSecrets() {
        let fields: HeaderFields = [
            "Location": "https://u:hunter2@example.com/cb?code=hunter2&page=1#access_token=hunter2",
            .referer: "/cb?token=hunter2",
        ]
        #expect(
            fields.description == """
                Location: https://<redacted>@example.com/cb?code=<redacted>&page=1#access_token=<redacted>
                Referer: /cb?token=<redacted>
                """
        )
    }

    // MARK: Invalid values

    private static let refused = ["a\r\nX: y", "a\nb", "a\rb", "a\0b", "token\n", "a\u{1}b", "a\u{7F}b", " a", "a "]

    @Test(arguments: refused)
    func invalidValueSetByNameFailsTheSend(value: String) async {
        var request = HTTPRequestData(authority: "example.com")
        request.headerFields[.accept] = value
        await expectRefusal(of: request, naming: "Accept")
    }

    @Test(arguments: refused)
    func invalidValueInALiteralFailsTheSend(value: String) async {
        let request = HTTPRequestData(authority: "example.com", headerFields: [.cookie: "fine", .accept: value])
        await expectRefusal(of: request, naming: "Accept")
    }

    @Test(arguments: refused)
    func appendedInvalidValueFailsTheSend(value: String) async {
        var request = HTTPRequestData(authority: "example.com", headerFields: [.accept: "fine"])
        request.headerFields.append(name: .accept, value: value)
        await expectRefusal(of: request, naming: "Accept")
    }

    @Test(arguments: refused)
    func invalidValueAmongSeveralFailsTheSend(value: String) async {
        var request = HTTPRequestData(authority: "example.com")
        request.headerFields[values: .accept] = ["fine", value, "fine"]
        await expectRefusal(of: request, naming: "Accept")
    }

    @Test(arguments: ["", "a", "ü", "a\tb", "a b", "\"quoted\"", "👋"])
    func validValueIsSentUnchanged(value: String) async throws {
        let transport = MockTransport { _ in .ok() }
        try await transport.data(HTTPRequestData(authority: "example.com", headerFields: [.accept: value]))
        #expect(transport.requests.first?.headerFields[.accept] == value)
    }

    @Test(
        arguments: [
            { $0[.accept] = "good" },
            { $0[.accept] = nil },
            { $0[values: .accept] = ["good"] },
            { $0[fields: .accept] = [] },
            { $0.removeAll() },
            { $0.removeAll { $0.name == .accept } },
            { $0.removeFirst() },
            { $0.removeSubrange(0..<1) },
            { $0[0] = HTTPField(name: .cookie, value: "good") },
        ] as [@Sendable (inout HeaderFields) -> Void]
    )
    func removedInvalidValueDoesNotFailTheSend(repair: @Sendable (inout HeaderFields) -> Void) async throws {
        var request = HTTPRequestData(authority: "example.com", headerFields: [.accept: "a\nb"])
        repair(&request.headerFields)
        try await MockTransport { _ in .ok() }.data(request)
    }

    @Test func removingAFieldKeepsTheInvalidValueOfAnother() async {
        var request = HTTPRequestData(authority: "example.com", headerFields: [.cookie: "a", .accept: "a\nb"])
        request.headerFields.removeFirst()
        await expectRefusal(of: request, naming: "Accept")
        request.headerFields[.cookie] = "b"
        await expectRefusal(of: request, naming: "Accept")
    }

    private func expectRefusal(
        of request: HTTPRequestData,
        naming name: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        let transport = MockTransport { _ in .ok() }
        let error = await #expect(throws: NetworkingError.self, sourceLocation: sourceLocation) {
            try await transport.data(request)
        }
        #expect(error?.kind == .invalidRequest, sourceLocation: sourceLocation)
        #expect(error?.reason.contains(name) == true, sourceLocation: sourceLocation)
        #expect(transport.requests.isEmpty, sourceLocation: sourceLocation)
    }
}
