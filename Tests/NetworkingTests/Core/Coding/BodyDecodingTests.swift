import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

/// The decoding of response bodies for typed requests and `as:`.
@Suite(.timeLimit(.minutes(20)))
struct BodyDecodingTests {
    private let request = HTTPRequestData(authority: "example.com", path: "users/42")

    private typealias User = TaggedUser

    private func transport(
        _ data: Data,
        type: String? = nil,
        status: HTTPResponse.Status = .ok
    ) -> MockTransport {
        MockTransport { _ in
            MockResponse(status: status, data: data, headerFields: type.map { [.contentType: $0] } ?? [:])
        }
    }

    private func failure<Value: Decodable & Sendable>(
        _ transport: MockTransport,
        as type: Value.Type
    ) async -> NetworkingError? {
        await #expect(throws: NetworkingError.self) { try await transport.request(request, as: type) }
    }

    // MARK: Data

    @Test(arguments: [Data([0x89, 0x50, 0x4E, 0x47, 0, 0xFF]), Data(), Data("[1, 2]".utf8), Data(count: 100_000)])
    func dataIsTheUnchangedBody(body: Data) async throws {
        let transport = transport(body, type: "image/png")
        #expect(try await transport.request(Request<Data>(request)) == body)
        #expect(try await transport.request(request, as: Data.self) == body)
        #expect(try await transport.value(request, as: Data.self, decoder: PropertyListDecoder()).body == body)
        #expect(try await transport.upload(.data(Data([1])), to: Request<Data>(request)).body == body)
        let counted = Request<Int>(request, as: Data.self) { $0.count }
        #expect(try await transport.request(counted) == body.count)
    }

    @Test func bodyThatASinkReceivedIsAnError() async throws {
        let sent = request.with { $0.sink = CollectingSink { _ in .take } }
        let error = await #expect(throws: NetworkingError.self) {
            try await transport(Data("abc".utf8)).request(Request<Data>(sent))
        }
        #expect(error?.kind == .decoding)
        #expect(error?.reason.contains("its 3 bytes went to the sink") == true)
    }

    // MARK: Text

    @Test(
        arguments: [
            (Array("Grüße".utf8), nil, "Grüße"),
            (Array("Grüße".utf8), "text/plain", "Grüße"),
            (Array("\"Grüße\"".utf8), "application/json", "\"Grüße\""),
            ([0xEF, 0xBB, 0xBF, 0x61], "text/plain; charset=utf-8", "a"),
            ([0x47, 0x72, 0xFC, 0xDF, 0x65], "text/plain; charset=ISO-8859-1", "Grüße"),
            ([0x80, 0x20, 0x93, 0x61, 0x94], "text/plain; charset=\"windows-1252\"", "€ \u{201C}a\u{201D}"),
            ([0xFF, 0xFE, 0x61, 0x00, 0xAC, 0x20], "text/plain; charset=utf-16", "a€"),
            ([0xFE, 0xFF, 0x00, 0x61, 0x20, 0xAC], "text/plain; charset=UTF-16", "a€"),
            ([0x61, 0x00], "text/plain; charset=utf-16le", "a"),
            ([0x00, 0x61], "text/plain; charset=utf-16be", "a"),
            ([], "text/plain", ""),
        ] as [([UInt8], String?, String)]
    )
    func stringIsDecodedWithTheCharset(bytes: [UInt8], type: String?, text: String) async throws {
        let transport = transport(Data(bytes), type: type)
        #expect(try await transport.request(Request<String>(request)) == text)
        #expect(try await transport.request(request, as: String.self) == text)
    }

    @Test(
        arguments: [
            ([0xFF], "text/plain", "UTF-8"), ([0x61, 0x62, 0x63], "text/plain; charset=utf-16", "utf-16"),
            ([0x00, 0xD8], "text/plain; charset=utf-16le", "utf-16le"),
            ([0x61], "text/plain; charset=EBCDIC", "EBCDIC"),
        ] as [([UInt8], String, String)]
    )
    func bodyThatIsInvalidInItsCharsetIsAnError(bytes: [UInt8], type: String, name: String) async throws {
        let error = try #require(await failure(transport(Data(bytes), type: type), as: String.self))
        #expect(error.kind == .decoding)
        #expect(error.underlying is DecodingError)
        #expect(error.reason.contains("it is not text in \(name)"))
        #expect(error.reason.hasSuffix("Read it as Data."))
    }

    // MARK: Empty bodies

    @Test(arguments: [[], Array("no JSON".utf8), [0xFF]] as [[UInt8]])
    func voidAcceptsAnyBody(bytes: [UInt8]) async throws {
        try await transport(Data(bytes), type: "image/png").request(Request<Void>(request))
    }

    @Test(arguments: [(204, ""), (204, "no JSON"), (205, ""), (205, "no JSON"), (200, ""), (200, "null")])
    func optionalIsNilForAnEmptyBody(code: Int, body: String) async throws {
        let transport = transport(Data(body.utf8), status: .init(code: code))
        #expect(try await transport.request(Request<User?>(request)) == nil)
        #expect(try await transport.request(request, as: User?.self) == nil)
        #expect(try await transport.value(request, as: [Int]?.self).body == nil)
    }

    @Test(arguments: [" ", "\n", "\r\n\t ", String(repeating: " ", count: 10_000)])
    func optionalIsNilForABodyOfWhiteSpace(body: String) async throws {
        let transport = transport(Data(body.utf8), type: "application/json")
        #expect(try await transport.request(Request<User?>(request)) == nil)
        #expect(try await transport.value(request, as: [Int]?.self).body == nil)
        #expect(try await transport.request(request, as: String?.self) == body)
        #expect(try await transport.request(request, as: Data?.self) == Data(body.utf8))
        #expect(await failure(transport, as: User.self)?.kind == .decoding)
    }

    @Test func optionalIsTheDecodedValue() async throws {
        let json = transport(Data(#"{"name":"Emily","tags":[]}"#.utf8))
        #expect(try await json.request(request, as: User?.self) == User(name: "Emily"))
        let text = transport(Data("null".utf8), type: "text/plain")
        #expect(try await text.request(request, as: String?.self) == "null")
        #expect(try await text.request(request, as: Data?.self) == Data("null".utf8))
        let empty = transport(Data(), type: "text/plain")
        #expect(try await empty.request(request, as: String?.self) == nil)
        #expect(try await empty.request(request, as: Data?.self) == nil)
        #expect(await failure(transport(Data("[]".utf8)), as: User?.self)?.kind == .decoding)
    }

    // MARK: Errors

    @Test(arguments: [
        (#"{"tags":[]}"#, #"the key "name" is missing in the object at the top level."#),
        (#"{"name":"Emily","tags":[{"id":1},{}]}"#, #"the key "id" is missing in the object at tags.[1]."#),
        (#"{"name":null,"tags":[]}"#, "expected String at name, found null."),
        (#"{"name":"Emily","tags":[{"id":"hunter2"}]}"#, "expected Int at tags.[0].id, found a string."),
    ])
    func errorNamesTheFaultAndItsPath(body: String, fault: String) async throws {
        let error = try #require(await failure(transport(Data(body.utf8), type: "application/json"), as: User.self))
        let reason = "The body does not decode to TaggedUser: \(fault) Compare the type with the server's response."
        #expect(error.reason == reason)
        #expect(!everyPrint(of: error).contains("hunter2"))
    }

    private struct Account: Decodable, Sendable {
        enum Role: String, Decodable {
            case reader
        }

        var role: Role
    }

    @Test func errorNamesThePathOfAnInvalidValue() async throws {
        let json = transport(Data(#"{"role":"hunter2"}"#.utf8), type: "application/json")
        let error = try #require(await failure(json, as: Account.self))
        #expect(
            error.reason
                == "The body does not decode to Account: the value at role, a string, is not valid for its type. "
                + "The underlying error has the details."
        )
        #expect(!everyPrint(of: error).contains("hunter2"))
    }

    @Test(arguments: [200, 204])
    func errorNamesAnEmptyBody(code: Int) async throws {
        let error = try #require(await failure(transport(Data(), status: .init(code: code)), as: User.self))
        #expect(error.reason.contains("User: it is empty (status \(code)). Use an optional type"))
    }

    @Test func errorDescribesAPage() async throws {
        let page = Data("<html><body>Sign in</body></html>".utf8)
        let error = try #require(await failure(transport(page, type: "Text/HTML; charset=utf-8"), as: User.self))
        let start = #"that start with "<html><body>Sign in</body></html>". Check the URL"#
        #expect(error.reason.contains("User: it is 33 bytes of text/html \(start)"))
        let broken = try #require(await failure(transport(page, type: "application/problem+json"), as: User.self))
        #expect(broken.reason.contains("User: it is not JSON but 33 bytes of application/problem+json \(start)"))
    }

    @Test func bodyOfAnErrorIsDecodedInTheSameWay() async throws {
        let transport = transport(
            Data([0x47, 0x72, 0xFC, 0xDF, 0x65]),
            type: "text/plain; charset=latin1",
            status: .badRequest
        )
        let error = try #require(await failure(transport, as: User.self))
        #expect(try error.decodeBody(as: String.self) == "Grüße")
        #expect(try error.decodeBody(as: Data.self)?.count == 5)
    }
}
