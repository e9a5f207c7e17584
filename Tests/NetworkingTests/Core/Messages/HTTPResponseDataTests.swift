import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

@Suite(.timeLimit(.minutes(20)))
struct HTTPResponseDataTests {
    private let request = HTTPRequestData(scheme: "https", authority: "example.com", path: "a?token=hunter2")

    @Test func keepsItsParts() {
        let response = HTTPResponseData(
            request: request,
            status: .created,
            headerFields: [.eTag: "1"],
            data: Data([1, 2])
        )
        #expect(response.status == .created)
        #expect(response.headerFields[.eTag] == "1")
        #expect(response.data == Data([1, 2]))
        #expect(response.body == .collected(Data([1, 2])))
        #expect(response.body.count == 2)
        #expect(response.request.id == request.id)
        #expect(response.sentRequest.id == request.id)
        #expect(response.url == request.url)
        #expect(response.redirects.isEmpty)
        #expect(response.principal == nil)
    }

    @Test func changesItsParts() {
        var response = HTTPResponseData(
            request: request,
            http: HTTPResponse(status: .ok),
            body: .delivered(byteCount: 7)
        )
        #expect(response.data.isEmpty)
        #expect(response.body.data == nil)
        #expect(response.body.count == 7)
        let copy = response
        response.status = .notFound
        response.headerFields[.eTag] = "1"
        response.data = Data([1])
        response.principal = Principal(id: "emily")
        #expect(response.http.status == .notFound)
        #expect(response.http.headerFields[.eTag] == "1")
        #expect(response.body == .collected(Data([1])))
        #expect(response.principal == Principal(id: "emily"))
        #expect(copy.status == .ok)
        #expect(copy.principal == nil)
        #expect(copy.body == .delivered(byteCount: 7))
    }

    @Test func keepsAnUnknownStatus() {
        #expect(HTTPResponseData(request: request, status: 299).status.code == 299)
        #expect(HTTPResponseData(request: request, status: 999).status.code == 999)
    }

    // MARK: Equality

    /// The ancestor library compared only the bodies, so its own test took a 502 for a 504.
    @Test(
        arguments: [
            { $0.status = .gatewayTimeout },
            { $0.headerFields[.eTag] = "2" },
            { $0.headerFields[.eTag] = nil },
            { $0.headerFields[.age] = "1" },
            { $0.data = Data([2]) },
            { $0.body = .delivered(byteCount: 1) },
        ] as [@Sendable (inout HTTPResponseData) -> Void]
    )
    func differsIfAPartDiffers(change: @Sendable (inout HTTPResponseData) -> Void) {
        let response = HTTPResponseData(
            request: request,
            status: .badGateway,
            headerFields: [.eTag: "1"],
            data: Data([1])
        )
        var changed = response
        change(&changed)
        #expect(changed != response)
    }

    /// The ancestor library hashed an object identifier of the body.
    @Test func equalResponsesHaveEqualHashes() {
        func make() -> HTTPResponseData {
            HTTPResponseData(
                request: HTTPRequestData(path: "\(HTTPRequestData().id)"),
                status: HTTPResponse.Status(code: 200, reasonPhrase: "Fine"),
                headerFields: [.eTag: "1", .age: "2"],
                data: Data([1, 2, 3])
            )
        }
        var other = make()
        other.status = .ok
        other.headerFields = [.age: "2", .eTag: "1"]
        other.principal = Principal(id: "emily")
        other[metadata: Origin.self] = "fixture"
        #expect(make() == other)
        #expect(make().hashValue == other.hashValue)
    }

    // MARK: Requests

    @Test func hasTheRequestOfTheCallerAndTheSentRequest() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = transport.server(headerField: .accept, "text/plain").server(prefixPath: "v1")
            .server(authority: "example.com")
        let request = HTTPRequestData(path: "users")
        let response = try await network.data(request)
        #expect(response.request == request)
        #expect(response.request.id == request.id)
        #expect(response.request.authority == nil)
        #expect(response.sentRequest.description == "GET https://example.com/v1/users")
        #expect(response.sentRequest.headerFields[.accept] == "text/plain")
        #expect(response.sentRequest.id == request.id)
        #expect(response.url?.absoluteString == "https://example.com/v1/users")
    }

    @Test func itsRequestsCanBeSentAgain() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = transport.server(prefixPath: "v1").server(authority: "example.com")
        let response = try await network.data(HTTPRequestData(path: "users"))
        try await network.data(response.request)
        try await network.data(response.sentRequest)
        #expect(transport.requests.map(\.path) == ["/v1/users", "/v1/users", "/v1/users"])
    }

    // MARK: Metadata

    @Test func hasMetadata() {
        var response = HTTPResponseData(request: request)
        #expect(response[metadata: Origin.self] == nil)
        #expect(response[metadata: Hits.self] == 0)
        response[metadata: Origin.self] = "fixture"
        response[metadata: Hits.self] = 2
        let copy = response
        response[metadata: Hits.self] = 3
        #expect(copy[metadata: Origin.self] == "fixture")
        #expect(copy[metadata: Hits.self] == 2)
        #expect(response[metadata: Hits.self] == 3)
    }

    // MARK: Fields

    @Test(
        arguments: [
            ("/jobs/7", "https://example.com/jobs/7"), ("8?x=1", "https://example.com/users/8?x=1"),
            ("https://b.example/a#part", "https://b.example/a"), ("//b.example/", "https://b.example/"), ("", nil),
            (nil, nil),
        ] as [(String?, String?)]
    )
    func locationIsResolved(location: String?, url: String?) {
        let request = HTTPRequestData(authority: "example.com", path: "users/42")
        let fields: HTTPFields = location.map { [.location: $0] } ?? [:]
        let response = HTTPResponseData(request: request, status: .accepted, headerFields: fields)
        #expect(response.location?.absoluteString == url)
    }

    @Test(
        arguments: [("120", .seconds(120)), ("0", .zero), ("-1", .zero), ("soon", nil), (nil, nil)]
            as [(String?, Duration?)]
    )
    func retryAfterIsReadInSeconds(value: String?, expected: Duration?) {
        let fields: HTTPFields = value.map { [.retryAfter: $0] } ?? [:]
        #expect(HTTPResponseData(request: request, headerFields: fields).retryAfter == expected)
    }

    @Test func retryAfterIsADateOfTheServer() {
        let fields: HTTPFields = [
            .retryAfter: "Wed, 21 Oct 2015 07:30:00 GMT", .date: "Wed, 21 Oct 2015 07:28:00 GMT",
        ]
        #expect(HTTPResponseData(request: request, headerFields: fields).retryAfter == .seconds(120))
    }

    // MARK: Descriptions

    @Test func describesStatusAndLength() {
        let response = HTTPResponseData(request: request, data: Data(count: 1_024))
        #expect(response.description == "200 OK, 1024 bytes, \(request)")
        let secret = HTTPRequestData(authority: "api.example.com", path: "users?token=hunter2")
        let refused = HTTPResponseData(request: secret, status: .notFound)
        #expect(refused.description == "404 Not Found, 0 bytes, GET https://api.example.com/users?token=<redacted>")
        #expect(ResponseBody.delivered(byteCount: 3).description == "delivered, 3 bytes")
        #expect(ResponseBody.collected(Data([1])).description == "collected, 1 bytes")
    }

    @Test func descriptionsContainNoSecret() {
        var response = HTTPResponseData(
            request: request,
            headerFields: [.setCookie: "session=hunter2", .eTag: "visible"],
            data: Data("hunter2".utf8)
        )
        response.principal = Principal(id: "hunter2")
        response.redirects = [
            HTTPResponseData.Redirect(
                request: request,
                response: HTTPResponse(status: .found, headerFields: [.setCookie: "hunter2"])
            )
        ]
        let printed = everyPrint(of: response) + everyPrint(of: response.redirects) + everyPrint(of: response.body)
        #expect(!printed.contains("hunter2"))
        #expect(printed.contains("visible"))
        #expect(response.redirects[0].description == "302 Found GET https://example.com/a?token=<redacted>")
    }

    @Test func readsAndWritesHeaderFieldsByText() {
        var response = HTTPResponseData(request: .lawful, headerFields: HTTPFields(["ETag": "\"1\"", "X-Left": "7"]))
        response.headerFields.append(HTTPField(name: .setCookie, value: "a=1"))
        response.headerFields.append(HTTPField(name: .setCookie, value: "b=2"))
        #expect(response.headerFields.dictionary == ["ETag": "\"1\"", "X-Left": "7", "Set-Cookie": "a=1, b=2"])
        #expect(response.headerFields["x-left"] == "7")
        #expect(response.headerFields["Missing"] == nil)
        #expect(response.headerFields["not a name"] == nil)
        response.headerFields["X-Left"] = "6"
        response.headerFields["not a name"] = "1"
        #expect(response.headerFields["X-LEFT"] == "6")
        response.headerFields["x-left"] = nil
        #expect(!response.headerFields.dictionary.keys.contains("X-Left"))
    }
}

private enum Origin: ResponseMetadata {
    static let defaultValue: String? = nil
}

private enum Hits: ResponseMetadata {
    static let defaultValue = 0
}
