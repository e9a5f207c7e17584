import Foundation
import HTTPTypes
import Networking
import Testing

@Suite(.timeLimit(.minutes(20)))
struct HTTPRequestDataTests {
    @Test func unsetPartsAreNil() {
        let request = HTTPRequestData()
        #expect(request.method == .get)
        #expect(request.scheme == nil)
        #expect(request.authority == nil)
        #expect(request.host == nil)
        #expect(request.port == nil)
        #expect(request.path == nil)
        #expect(request.queryItems.isEmpty)
        #expect(request.headerFields.isEmpty)
        #expect(request.body == nil)
        #expect(request.url == nil)
    }

    @Test func keepsItsParts() {
        let request = HTTPRequestData(
            method: .post,
            scheme: "http",
            authority: "example.com:8080",
            path: "message",
            headerFields: [.accept: "text/plain"],
            body: .data(Data([1, 2, 3]))
        )
        #expect(request.method == .post)
        #expect(request.scheme == "http")
        #expect(request.authority == "example.com:8080")
        #expect(request.host == "example.com")
        #expect(request.port == 8080)
        #expect(request.path == "/message")
        #expect(request.headerFields[.accept] == "text/plain")
        #expect(request.body?.data == Data([1, 2, 3]))
    }

    @Test func changesItsParts() {
        var request = HTTPRequestData()
        request.method = .patch
        request.scheme = "http"
        request.authority = "localhost"
        request.path = "a"
        request.headerFields[.accept] = "*/*"
        #expect(request.description == "PATCH http://localhost/a")
        #expect(request.headerFields[.accept] == "*/*")
        request.scheme = nil
        request.authority = nil
        request.path = nil
        #expect(request.scheme == nil)
        #expect(request.authority == nil)
        #expect(request.path == nil)
    }

    @Test func acceptsACustomMethod() throws {
        let purge = try #require(HTTPRequest.Method("PURGE"))
        #expect(HTTPRequestData(method: purge).method.rawValue == "PURGE")
    }

    // MARK: Query items as properties

    @Test func setsAQueryItemThroughAProperty() {
        var request = HTTPRequestData(authority: "my-server.com", path: "message")
        request.query.greeting = "Hello World"
        #expect(request.query.greeting == "Hello World")
        #expect(request.url?.absoluteString == "https://my-server.com/message?greeting=Hello%20World")
    }

    @Test func replacesAQueryItemThroughAProperty() {
        var request = HTTPRequestData(path: "m?page=1&x=2&page=3")
        request.query.page = "4"
        #expect(request.query.encoded == "page=4&x=2")
    }

    /// In the ancestor library, setting `nil` had no effect and the item stayed.
    @Test func removesAQueryItemThroughAProperty() {
        var request = HTTPRequestData(path: "m?page=1&x=2&page=3")
        request.query.page = nil
        #expect(request.query.encoded == "x=2")
        request.query.x = nil
        #expect(request.query.encoded == nil)
        #expect(request.path == "/m")
        #expect(request.query.page == nil)
    }

    @Test func queryCanBeSetBeforeThePath() {
        var request = HTTPRequestData(authority: "example.com")
        request.query.page = "2"
        #expect(request.path == nil)
        #expect(request.url?.absoluteString == "https://example.com/?page=2")
        request.path = "list"
        #expect(request.url?.absoluteString == "https://example.com/list?page=2")
    }

    // MARK: Identity

    @Test func labelsAreUniqueAndStayWithCopies() {
        let ids = Set((0..<1_000).map { _ in HTTPRequestData().id })
        #expect(ids.count == 1_000)
        let request = HTTPRequestData()
        var copy = request
        copy.path = "changed"
        #expect(copy.id == request.id)
    }

    @Test func labelsReadAsSixDigits() {
        let label = HTTPRequestData().id.description
        #expect(label.count >= 6)
        #expect(label.allSatisfy { $0.isASCII && ($0.isNumber || $0.isLowercase) })
    }

    @Test func labelsAreUniqueAcrossTasks() async {
        let ids = await withTaskGroup(of: [HTTPRequestData.ID].self) { group in
            for _ in 0..<10 {
                group.addTask { (0..<100).map { _ in HTTPRequestData().id } }
            }
            return await group.reduce(into: Set<HTTPRequestData.ID>()) { $0.formUnion($1) }
        }
        #expect(ids.count == 1_000)
    }

    /// In the ancestor library, equality included the label, so its cache never had a hit.
    @Test func equalsARequestWithTheSameParts() {
        func make() -> HTTPRequestData {
            HTTPRequestData(
                method: .put,
                scheme: "https",
                authority: "example.com",
                path: "a?b=c",
                headerFields: [.accept: "x", .contentType: "y"],
                body: .json(["a": 1, "b": 2])
            )
        }
        #expect(make().id != make().id)
        #expect(make() == make())
        #expect(make().hashValue == make().hashValue)
    }

    @Test(
        arguments: [
            { $0.method = .post },
            { $0.scheme = "http" },
            { $0.scheme = nil },
            { $0.authority = "example.org" },
            { $0.authority = "example.com:443" },
            { $0.path = "a/" },
            { $0.path = "A" },
            { $0.query.b = "d" },
            { $0.headerFields[.accept] = "y" },
            { $0.headerFields[.accept] = nil },
            { $0.body = .data(Data([2])) },
            { $0.body = .data(Data([1]), contentType: "image/png") },
            { $0.body = nil },
        ] as [@Sendable (inout HTTPRequestData) -> Void]
    )
    func differsIfAPartDiffers(change: @Sendable (inout HTTPRequestData) -> Void) {
        let request = HTTPRequestData(
            scheme: "https",
            authority: "example.com",
            path: "a?b=c",
            headerFields: [.accept: "x"],
            body: .data(Data([1]))
        )
        var changed = request
        change(&changed)
        #expect(changed != request)
    }

    @Test func equalityIgnoresSinksHandlersAndPlainOptions() {
        let request = HTTPRequestData(authority: "example.com", path: "a")
        var other = request
        other.sink = NullSink()
        other.progressHandler = { _ in }
        other.timeout = .seconds(3)
        other.redirects = .never
        other.number = 3
        #expect(other == request)
        #expect(other.hashValue == request.hashValue)
    }

    @Test func equalityIgnoresTheOrderOfHeaderFields() {
        let one = HTTPRequestData(headerFields: [.accept: "a", .contentType: "b"])
        let other = HTTPRequestData(headerFields: [.contentType: "b", .accept: "a"])
        #expect(one == other)
        #expect(one.hashValue == other.hashValue)
    }

    // MARK: Value semantics

    @Test func copyKeepsItsOwnSettings() {
        var request = HTTPRequestData()
        request.timeout = .seconds(1)
        var copy = request
        copy.timeout = .seconds(2)
        copy.redirects = .never
        copy.query.page = "2"
        copy.headerFields[.accept] = "x"
        #expect(request.timeout == .seconds(1))
        #expect(request.redirects.limit == 20)
        #expect(request.query.page == nil)
        #expect(request.headerFields.isEmpty)
        #expect(copy.timeout == .seconds(2))
        request.timeout = .seconds(3)
        #expect(copy.timeout == .seconds(2))
    }
}

private struct NullSink: ResponseSink {
    func receive(_ chunk: Data) async throws {}
}
