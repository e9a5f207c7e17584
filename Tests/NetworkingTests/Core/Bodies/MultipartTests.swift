import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

@Suite(.timeLimit(.minutes(20)))
struct MultipartTests {
    private func text(_ body: RequestBody) async throws -> String {
        String(decoding: try await body.collect(), as: UTF8.self)
    }

    @Test func writesPartsInOrder() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "beach.jpg")
            try Data("JPEG".utf8).write(to: file)
            let body = RequestBody.multipart(
                [
                    .text("Holiday", name: "title"),
                    .file(file, name: "photo"),
                    .data(Data([0x41]), name: "icon", fileName: "i.png"),
                    MultipartPart(name: "info", body: .json(["a": 1])),
                ],
                boundary: "B"
            )
            let expected = """
                --B\r
                Content-Disposition: form-data; name="title"\r
                \r
                Holiday\r
                --B\r
                Content-Disposition: form-data; name="photo"; filename="beach.jpg"\r
                Content-Type: image/jpeg\r
                \r
                JPEG\r
                --B\r
                Content-Disposition: form-data; name="icon"; filename="i.png"\r
                Content-Type: image/png\r
                \r
                A\r
                --B\r
                Content-Disposition: form-data; name="info"\r
                Content-Type: application/json\r
                \r
                {"a":1}\r
                --B--\r

                """
            #expect(try await text(body) == expected)
            #expect(body.length == Int64(expected.utf8.count))
            #expect(body.isReplayable)
            #expect(body.contentType == "multipart/form-data; boundary=B")
            #expect(try await text(body) == expected)
        }
    }

    @Test func bodyWithoutPartsHasTheClosingBoundary() async throws {
        let body = RequestBody.multipart([], boundary: "B")
        #expect(try await text(body) == "--B--\r\n")
        #expect(body.length == 7)
    }

    @Test(arguments: [
        ("plain", "plain"), ("ü 😀", "ü 😀"), ("a\"b", "a%22b"), ("a\r\nb", "a%0D%0Ab"), ("a\nb", "a%0D%0Ab"),
        ("a\rb", "a%0D%0Ab"),
        ("a%22b", "a%22b"), ("a\\b", "a\\b"), ("", ""), ("\"; x=\"", "%22; x=%22"),
    ])
    func escapesNamesAsBrowsersDo(name: String, escaped: String) async throws {
        let written = try await text(.multipart([.text("x", name: name)], boundary: "B"))
        #expect(written == "--B\r\nContent-Disposition: form-data; name=\"\(escaped)\"\r\n\r\nx\r\n--B--\r\n")
    }

    /// A file name keeps its line breaks in escaped form.
    @Test(arguments: [("a\"b\n.txt", "a%22b%0A.txt"), ("a\r.txt", "a%0D.txt"), ("naïve ☃.txt", "naïve ☃.txt")])
    func escapesFileNamesAsBrowsersDo(name: String, escaped: String) async throws {
        let part = MultipartPart.data(Data("x".utf8), name: "f", fileName: name)
        let written = try await text(.multipart([part], boundary: "B"))
        #expect(written.contains("name=\"f\"; filename=\"\(escaped)\"\r\nContent-Type: text/plain\r\n\r\nx\r\n"))
    }

    @Test func textsHaveCRLFLineBreaks() async throws {
        let written = try await text(.multipart([.text("a\nb\rc\r\nd\n\re", name: "t")], boundary: "B"))
        #expect(written.contains("\r\n\r\na\r\nb\r\nc\r\nd\r\n\r\ne\r\n--B"))
    }

    @Test func lengthIsUnknownIfThatOfAPartIsUnknown() {
        let stream = RequestBody.stream(AsyncStream<Data> { $0.finish() })
        let body = RequestBody.multipart([MultipartPart(name: "s", fileName: "s", body: stream)])
        #expect(body.length == nil)
        #expect(!body.isReplayable)
    }

    @Test func boundaryComesFromTheRandomSourceOfTheEnvironment() async throws {
        let one = RequestBody.multipart([])
        #expect(one.contentType != RequestBody.multipart([]).contentType)
        var environment = NetworkEnvironment.current
        environment.secureRandom = SecureRandomSource { count in (0..<count).map { UInt8($0) } }
        let drawn = NetworkEnvironment.$current.withValue(environment) { RequestBody.multipart([]).contentType }
        #expect(drawn == "multipart/form-data; boundary=networking-0123456789ABCDEFGHIJKLMNOPQRSTUV")
    }

    @Test func boundaryThatIsNoTokenIsQuoted() {
        #expect(
            RequestBody.multipart([], boundary: "a:b/c").contentType == "multipart/form-data; boundary=\"a:b/c\""
        )
    }

    @Test func customTypeGetsTheBoundary() async throws {
        let transport = MockTransport { _ in .ok() }
        var request = HTTPRequestData(method: .post, authority: "example.com", body: .multipart([], boundary: "B"))
        request.headerFields[.contentType] = "multipart/related"
        try await transport.data(request)
        for type in [
            "multipart/related; boundary=B", "multipart/related; BOUNDARY=\"B\"", "multipart/x; type=\"B\"; boundary=C",
            "x/y",
        ] {
            request.headerFields[.contentType] = type
            try await transport.data(request)
        }
        #expect(
            transport.requests.map { $0.headerFields[.contentType] } == [
                "multipart/related; boundary=B", "multipart/related; boundary=B", "multipart/related; BOUNDARY=\"B\"",
                "multipart/x; type=\"B\"; boundary=B", "x/y",
            ]
        )
    }

    @Test func overflowingLengthIsUnknown() {
        let stream = RequestBody.stream(length: .max - 60) { AsyncStream<Data> { $0.finish() } }
        #expect(RequestBody.multipart([MultipartPart(name: "a", body: stream)]).length == nil)
    }

    @Test func fileThatChangesBeforeItIsReadIsReported() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "log")
            try Data(count: 10).write(to: file)
            let body = RequestBody.multipart([.text("x", name: "first"), .file(file, name: "log")])
            var chunks = body.chunks.makeAsyncIterator()
            _ = try await chunks.next()
            try Data(count: 20).write(to: file)
            var failure: RequestBody.Failure?
            do {
                while try await chunks.next() != nil {}
            } catch let error as RequestBody.Failure {
                failure = error
            }
            #expect(failure?.kind == .storage)
            #expect(failure?.reason.contains("A file among the parts changed") == true)
        }
    }

    // MARK: Invalid parts

    private func error(of body: RequestBody) async -> NetworkingError? {
        await #expect(throws: NetworkingError.self) {
            try await MockTransport { _ in .ok() }
                .data(HTTPRequestData(method: .post, authority: "example.com", body: body))
        }
    }

    @Test(arguments: ["", "a b", "ü", "a\r\nb", String(repeating: "x", count: 71), "a\"b", "a;b"])
    func invalidBoundaryIsAnError(boundary: String) async {
        #expect(await error(of: .multipart([], boundary: boundary))?.kind == .unencodableBody)
    }

    @Test func boundaryInAPartIsAnError() async throws {
        let error = await error(of: .multipart([.text("x\r\n--BOUND--\r\n", name: "a")], boundary: "BOUND"))
        #expect(error?.kind == .unencodableBody)
        #expect(error?.reason.contains("occurs in a part") == true)
        // The stream splits the boundary between two chunks.
        let halves = AsyncStream<Data> { continuation in
            continuation.yield(Data("x--BO".utf8))
            continuation.yield(Data("U".utf8))
            continuation.yield(Data("NDx".utf8))
            continuation.finish()
        }
        let part = MultipartPart(name: "s", body: .stream(halves))
        #expect(await self.error(of: .multipart([part], boundary: "BOUND"))?.kind == .unencodableBody)
    }

    @Test func partThatCannotBeEncodedIsNamed() async {
        let error = await error(of: .multipart([MultipartPart(name: "price", body: .json(Double.nan))]))
        #expect(error?.kind == .unencodableBody)
        #expect(error?.reason.contains("The part \"price\"") == true)
        #expect(error?.underlying is EncodingError)
    }

    @Test func contentTypeWithALineBreakIsAnError() async {
        let injected = MultipartPart.data(Data(), name: "a", contentType: "text/plain\r\nX: y")
        #expect(await error(of: .multipart([injected]))?.kind == .unencodableBody)
        #expect(await error(of: .file(URL(filePath: "/x"), contentType: "a\nb"))?.kind == .unencodableBody)
    }

    @Test func missingFileOfAPartIsNamed() async {
        let error = await error(of: .multipart([.file(URL(filePath: "/nonexistent/a.png"), name: "a")]))
        #expect(error?.kind == .storage)
        #expect(error?.reason == "There is no file at /nonexistent/a.png.")
    }
}
