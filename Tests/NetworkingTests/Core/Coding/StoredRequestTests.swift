import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

/// Requests as JSON, without credentials.
@Suite(.timeLimit(.minutes(20)))
struct StoredRequestTests {
    private let request = HTTPRequestData(
        method: .post,
        scheme: "https",
        authority: "api.example.com:8443",
        path: "/orders?page=2&tag=a&tag=b&empty",
        headerFields: [.accept: "application/json", .cacheControl: "no-cache", .cacheControl: "no-store"],
        body: .data(Data("bytes".utf8), contentType: "text/plain")
    )

    private func stored(_ request: HTTPRequestData) throws -> HTTPRequestData {
        try JSONDecoder().decode(HTTPRequestData.self, from: JSONEncoder().encode(request))
    }

    private func text(_ request: HTTPRequestData) throws -> String {
        String(decoding: try JSONEncoder().encode(request), as: UTF8.self)
    }

    // MARK: Round trips

    @Test func messageSurvivesARoundTrip() throws {
        let copy = try stored(request)
        #expect(copy == request)
        #expect(copy.id != request.id)
        #expect(copy.headerFields[values: .cacheControl] == ["no-cache", "no-store"])
        #expect(copy.body?.contentType == "text/plain")
        #expect(copy.url?.absoluteString == "https://api.example.com:8443/orders?page=2&tag=a&tag=b&empty")
    }

    @Test func unsetPartsStayUnset() throws {
        let copy = try stored(HTTPRequestData())
        #expect(copy == HTTPRequestData())
        #expect((copy.scheme, copy.authority, copy.path) == (nil, nil, nil))
        #expect(copy.body == nil)
        let query = HTTPRequestData().with { $0.query.page = "2" }
        #expect(try stored(query).query.encoded == "page=2")
    }

    @Test func optionsOfTheCoreAreKept() throws {
        let request = request.with {
            $0.timeout = .milliseconds(1_500)
            $0.deadline = .seconds(60)
            $0.priority = .high
            $0.route = "/orders"
            $0.isIdempotent = true
            $0.authenticationMethod = .anonymous
            $0.allowsCellularAccess = false
        }
        let copy = try stored(request)
        #expect(copy == request)
        #expect((copy.timeout, copy.deadline) == (.milliseconds(1_500), .seconds(60)))
        #expect((copy.priority, copy.route, copy.isIdempotent) == (.high, "/orders", true))
        #expect(copy.authenticationMethod == .anonymous)
        #expect(!copy.allowsCellularAccess && copy.allowsExpensiveAccess)
    }

    // MARK: Options

    @Test func declarationDecidesWhetherAnOptionIsKept() throws {
        let request = request.with {
            $0[.note] = Note(text: "a/b")
            $0[.draft] = 3
            $0[.token] = "secret-1"
            $0[.hop] = 1
        }
        #expect(try !text(request).contains("secret-1"))
        let copy = try stored(stored(request))
        #expect(copy[.note] == Note(text: "a/b"))
        #expect((copy[.draft], copy[.token], copy[.hop]) == (0, nil, 0))
        #expect(try stored(request.with { $0[.note] = nil })[.note] == nil)
    }

    private func request(_ name: String, _ value: String, affects: String = "responses") throws -> HTTPRequestData {
        let json = """
            {"method":"GET","fields":[],"options":{"\(name)":{"value":"\(value)","affects":"\(affects)"}}}
            """
        return try JSONDecoder().decode(HTTPRequestData.self, from: Data(json.utf8))
    }

    @Test(arguments: ["", "7", "null", "{", #"{\"text\":1}"#])
    func damagedOptionHasItsDefault(value: String) throws {
        #expect(try request("note", value)[.note] == nil)
    }

    @Test(arguments: ["", "7", "null", "{", #"{\"allowsCellular\":1}"#])
    func damagedRestrictionDoesNotFallAway(value: String) throws {
        let request = try request("networkAccess", value, affects: "sending")
        #expect(!request.allowsCellularAccess && !request.allowsExpensiveAccess && !request.allowsConstrainedAccess)
        guard value != "null" else { return }
        #expect(try self.request("isIdempotent", value, affects: "sending").isIdempotent == false)
        #expect(try self.request("authenticationMethod", value, affects: "sending").authenticationMethod == .anonymous)
        #expect(try self.request("limited", value)[.limited] == [])
    }

    @Test func twoStoredOptionsWithOneNameAreRefused() async {
        await #expect(processExitsWith: .failure) {
            _ = HTTPRequestData().with { $0.priority = .high }
            _ = RequestOption("priority", default: 0, affects: .nothing, stored: .always)
        }
    }

    @Test func twoStoredOptionsOfOneFileWithOneNameAreRefused() async {
        await #expect(processExitsWith: .failure) {
            _ = (Twins.first, Twins.second)
        }
    }

    @Test func optionThatIsComputedIsOneDeclaration() {
        for _ in 1...2 {
            _ = RequestOption("computed", default: 0, affects: .nothing, stored: .always)
        }
    }

    @Test func optionsAreCheckedLikeOthers() throws {
        #expect(try request("level", "99")[.level] == 10)
        #expect(try request("timeout", "[9223372036854775807,0]").timeout == .seconds(100 * 365 * 86_400))
        #expect(throws: DecodingError.self) { try request("level", "1", affects: "everything") }
    }

    @Test func unknownOptionIsKeptInTheNextStore() throws {
        #expect(try text(request("unknown", "7")).contains(#""unknown":{"#))
    }

    @Test func valueThatIsSetReplacesTheStoredOne() throws {
        var request = try request("level", "7")
        request[.level] = 2
        #expect(request[.level] == 2)
        #expect(try stored(request)[.level] == 2)
        #expect(request == HTTPRequestData().with { $0[.level] = 2 })
    }

    @Test func storedOptionsAreCompared() throws {
        let (one, same, other) = (try request("level", "1"), try request("level", "1"), try request("level", "2"))
        #expect(one == same)
        #expect(one != other)
        #expect(one != HTTPRequestData())
        #expect(one.optionIdentities == same.optionIdentities)
        #expect(one.optionIdentities != other.optionIdentities)
        let sending = try request("level", "1", affects: "sending")
        #expect(sending == HTTPRequestData())
        #expect(sending.optionIdentities != HTTPRequestData().optionIdentities)
        #expect(try request("level", "1", affects: "nothing").optionIdentities == HTTPRequestData().optionIdentities)
    }

    @Test func optionThatCannotBeStoredIsRefused() throws {
        let unencodable = request.with { $0[.ratio] = .nan }
        #expect(#expect(throws: NetworkingError.self) { try text(unencodable) }?.kind == .invalidRequest)
        let marked = request.with {
            $0.markSecret("secret-1")
            $0.route = "/reset/secret-1"
        }
        let error = #expect(throws: NetworkingError.self) { try text(marked) }
        #expect(error?.kind == .invalidRequest)
        #expect(error.map { "\($0)" }?.contains("secret-1") == false)
    }

    @Test func fileIsStoredByItsPath() throws {
        let request = request.with { $0.body = .file(URL(filePath: "/tmp/a film.mov")) }
        let copy = try stored(request)
        #expect(copy.body == request.body)
        #expect(copy.body?.fileURL?.path == "/tmp/a film.mov")
        #expect(copy.body?.contentType == "video/quicktime")
    }

    @Test func randomRequestsSurviveARoundTrip() throws {
        try withSeed { random in
            for _ in 0..<500 {
                var request = HTTPRequestData(
                    method: [.get, .put, .delete].randomElement(using: &random) ?? .get,
                    path: random.text(of: "abc/äß %?&=+#\u{1}\n", maximumCount: 20)
                )
                request.headerFields[.accept] = random.text(of: "abc;,=\"\\é", maximumCount: 10)
                request.body = .data(Data(random.bytes(maximumCount: 40)))
                let copy = try stored(request)
                #expect(copy == request)
            }
        }
    }

    @Test(arguments: [
        #""target":"@evil.example/x""#, #""target":"evil""#, #""target":":80/""#, #""authority":"a@evil.example""#,
        #""authority":"a b""#, #""authority":"a/b""#, #""authority":"a\r\nb""#, #""authority":"a:x""#,
        #""scheme":"ftp""#, #""scheme":"""#,
    ])
    func decodedAddressIsChecked(part: String) {
        let json = #"{"method":"GET","fields":[],"# + part + "}"
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(HTTPRequestData.self, from: Data(json.utf8)) }
    }

    @Test(arguments: ["", "*", "/", "/a?b", "?a=b"])
    func decodedTargetMayBe(target: String) throws {
        let json = #"{"method":"GET","fields":[],"target":""# + target + "\"}"
        _ = try JSONDecoder().decode(HTTPRequestData.self, from: Data(json.utf8))
    }

    @Test func invalidAddressIsNotWritten() {
        for request in [HTTPRequestData(authority: "a b"), HTTPRequestData(scheme: "ftp"), .get("https://a.example")] {
            let error = #expect(throws: NetworkingError.self) { try text(request) }
            #expect(error?.kind == .invalidRequest)
        }
    }

    @Test func decodedLimitsAreShortenedLikeOthers() throws {
        let longest = "[9223372036854775807,18446744073709551615]"
        let json = #"{"method":"GET","fields":[],"timeout":\#(longest),"deadline":\#(longest)}"#
        let request = try JSONDecoder().decode(HTTPRequestData.self, from: Data(json.utf8))
        let century = Duration.seconds(100 * 365 * 86_400)
        #expect((request.timeout, request.deadline) == (century, century))
        #expect(HTTPRequestData().with { $0.idleTimeout = .seconds(Int64.max) * 10 }.idleTimeout == century)
    }

    // MARK: Secrets

    @Test func credentialsAreNotWritten() throws {
        var request = request
        request.authority = "emily:secret-1@api.example.com"
        request.headerFields[.authorization] = "Bearer secret-2"
        request.headerFields[.cookie] = "session=secret-3"
        request.headerFields[.init("X-Api-Key")!] = "secret-4"
        request.setCredential("secret-5", for: .init("X-Custom")!)
        request.setCredential("secret-6", forQueryItem: "custom")
        request.query["access_token"] = "secret-7"
        request.markSecret("secret-8")
        request.headerFields[.init("X-Note")!] = "with secret-8 in it"
        request.query["note"] = "secret-8"
        #expect(try !text(request).contains("secret-"))
        let copy = try stored(request)
        #expect(copy.authority == "api.example.com")
        #expect(copy.headerFields.httpFields == self.request.headerFields.httpFields)
        #expect(copy.query.encoded == "page=2&tag=a&tag=b&empty")
    }

    @Test func markedSecretsInThePathOrTheBodyAreRefused() throws {
        let requests = [
            HTTPRequestData(path: "/reset/secret-1"),
            HTTPRequestData(path: "/reset/secret%2D1"),
            HTTPRequestData(authority: "secret-1.example.com"),
            HTTPRequestData(method: .post, body: .json(["token": "secret-1"])),
        ]
        for request in requests {
            let marked = request.with { $0.markSecret("secret-1") }
            let error = #expect(throws: NetworkingError.self) { try text(marked) }
            #expect(error?.kind == .invalidRequest)
            #expect(error.map { "\($0)" }?.contains("secret-1") == false)
            _ = try text(request)
        }
    }

    // MARK: Refusals

    @Test func streamsAreRefused() throws {
        let bodies: [RequestBody] = [
            .stream { AsyncStream<Data> { $0.finish() } },
            .multipart([.file(URL(filePath: "/tmp/a.png"), name: "photo")]),
        ]
        for body in bodies {
            let error = #expect(throws: NetworkingError.self) { try text(request.with { $0.body = body }) }
            #expect(error?.kind == .bodyNotReplayable)
            #expect(error?.reason.contains("neither in memory nor a file") == true)
        }
    }

    @Test func invalidRequestsAreRefused() {
        let unencodable = request.with { $0.body = .json(Double.nan) }
        let error = #expect(throws: NetworkingError.self) { try text(unencodable) }
        #expect(error?.kind == .unencodableBody)
        let lineBreak = request.with { $0.headerFields[.accept] = "a\r\nb" }
        #expect(#expect(throws: NetworkingError.self) { try text(lineBreak) }?.kind == .invalidRequest)
        let id = ".."
        let path = HTTPRequestData(path: "/orders/\(id)")
        #expect(#expect(throws: NetworkingError.self) { try text(path) }?.kind == .invalidRequest)
    }

    @Test(
        arguments: [
            "", "null", "[]", "{}", #"{"method":"G T"}"#, #"{"method":7}"#,
            #"{"method":"GET","fields":[{"name":"a b","value":""}]}"#,
            #"{"method":"GET","fields":[{"name":"a","value":"b\r\nc: d"}]}"#,
            #"{"method":"GET","fields":[],"body":{}}"#,
            #"{"method":"GET","fields":[],"body":{"data":"AA==","file":"/tmp/a"}}"#,
            #"{"method":"GET","fields":[],"body":{"data":"*"}}"#, #"{"method":"GET","fields":[],"priority":9}"#,
        ]
    )
    func damagedRequestsAreErrors(json: String) {
        #expect(throws: (any Error).self) { try JSONDecoder().decode(HTTPRequestData.self, from: Data(json.utf8)) }
    }

    @Test func minimalRequestIsDecoded() throws {
        let json = #"{"method":"GET","fields":[]}"#
        #expect(try JSONDecoder().decode(HTTPRequestData.self, from: Data(json.utf8)) == HTTPRequestData())
    }
}

private enum Twins {
    static let first = RequestOption("twin", default: 0, affects: .nothing, stored: .always)
    static let second = RequestOption("twin", default: 0, affects: .nothing, stored: .always)
}

private struct Note: Codable, Hashable {
    var text: String
}

extension RequestOptionKey {
    fileprivate static let note = RequestOption<Note?>("note", default: nil, affects: .responses, stored: .always)
    fileprivate static let draft = RequestOption("draft", default: 0, affects: .nothing)
    fileprivate static let ratio = RequestOption("ratio", default: 0.0, affects: .nothing, stored: .always)
    fileprivate static let level = RequestOption(
        "level",
        default: 0,
        affects: .responses,
        stored: .always,
        normalized: { min(max($0, 0), 10) }
    )
    fileprivate static let token = RequestOption<String?>(
        "token",
        default: nil,
        affects: .responses,
        stored: .always,
        isCredential: true
    )
    fileprivate static let limited = RequestOption<[String]?>(
        "limited",
        default: nil,
        affects: .responses,
        stored: .always(ifDamaged: [])
    )
    fileprivate static let hop = RequestOption(
        "hop",
        default: 0,
        affects: .nothing,
        stored: .always,
        isSetByStack: true
    )
}
