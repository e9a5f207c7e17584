import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

@Suite(.timeLimit(.minutes(20)))
struct ValueTests {
    private let request = HTTPRequestData(authority: "example.com", path: "users/42")

    private typealias User = TaggedUser

    @Test func returnsTheValueAndItsResponse() async throws {
        let transport = MockTransport { _ in .json(User(name: "Emily")) }
        let (user, response) = try await transport.value(Request<User>(request))
        #expect(user == User(name: "Emily"))
        #expect(response.status == .ok)
        #expect(response.request.id == request.id)
        let (again, _) = try await transport.value(request, as: User.self)
        #expect(again == user)
        #expect(try await transport.request(request, as: User.self) == user)
    }

    @Test func decodesWithTheCallersDecoder() async throws {
        struct Sent: Decodable, Sendable {
            var sentAt: Date
        }
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        decoder.dateDecodingStrategy = .secondsSince1970
        let transport = MockTransport { _ in .text(#"{"sent_at":1}"#) }
        #expect(
            try await transport.value(request, as: Sent.self, decoder: decoder).body.sentAt.timeIntervalSince1970 == 1
        )
        #expect(try await transport.request(request, as: Sent.self, decoder: decoder).sentAt.timeIntervalSince1970 == 1)
    }

    // MARK: Status

    @Test(
        arguments: [
            (100, .status), (199, .status), (300, .status), (304, .status), (400, .status), (401, .unauthorized),
            (403, .status), (404, .status), (500, .status), (503, .status), (599, .status), (600, .status),
            (999, .status),
        ] as [(Int, NetworkingError.Kind)]
    )
    func throwsForAStatusThatIsNoSuccess(code: Int, kind: NetworkingError.Kind) async throws {
        let body = Data(#"{"name":"Emily","tags":[]}"#.utf8)
        let transport = MockTransport { _ in MockResponse(status: .init(code: code), data: body) }
        let error = try #require(
            await #expect(throws: NetworkingError.self) { try await transport.value(request, as: User.self) }
        )
        #expect(error.kind == kind)
        #expect(error.response?.status.code == code)
        #expect(error.response?.data == body)
        #expect(try error.decodeBody(as: User.self)?.name == "Emily")
        #expect(error.reason.contains("\(code)"))
        #expect(error.request.description == "GET https://example.com/users/42")
        let sameFromRequest = await #expect(throws: NetworkingError.self) {
            try await transport.request(Request<Void>(request))
        }
        #expect(sameFromRequest?.kind == kind)
    }

    @Test(arguments: [200, 201, 204, 206, 299])
    func acceptsEverySuccess(code: Int) async throws {
        let transport = MockTransport { _ in
            MockResponse(status: .init(code: code), data: Data(#"{"name":"Emily","tags":[]}"#.utf8))
        }
        #expect(try await transport.request(request, as: User.self).name == "Emily")
    }

    @Test func acceptsTheStatusesOfTheRequest() async throws {
        let transport = MockTransport { _ in .json(User(name: "Nobody"), status: .notFound) }
        var request = request
        request.acceptedStatuses = [404]
        #expect(try await transport.request(request, as: User.self).name == "Nobody")
        request.acceptedStatuses = [200]
        await #expect(throws: NetworkingError.self) { try await transport.request(request, as: User.self) }
        request.acceptedStatuses = .all
        #expect(try await transport.request(request, as: User.self).name == "Nobody")
    }

    @Test func acceptsTheStatusesOfTheStack() async throws {
        let transport = MockTransport { _ in .json(User(name: "Nobody"), status: .notFound) }
        let network = transport.server(mutate: \.acceptedStatuses) { $0.union([404]) }
        _ = try await network.checkedStatusCode().data(request)
        _ = try await network.value(request, as: User.self)
    }

    @Test func dataReturnsAnyStatus() async throws {
        for code in [200, 304, 401, 404, 503, 999] {
            let transport = MockTransport { _ in .status(.init(code: code)) }
            #expect(try await transport.data(request).status.code == code)
        }
    }

    // MARK: Decoding

    @Test(arguments: ["", "garbage", "{", "[]", "null", "\u{0}", "<html>"])
    func malformedBodyIsADecodingError(body: String) async throws {
        let transport = MockTransport { _ in .text(body) }
        let error = try #require(
            await #expect(throws: NetworkingError.self) { try await transport.value(request, as: User.self) }
        )
        #expect(error.kind == .decoding)
        #expect(error.isDecodingFailure)
        #expect(error.underlying is DecodingError)
        #expect(error.response?.data == Data(body.utf8))
        #expect(error.reason.contains("User"))
    }

    @Test(arguments: [
        (#"{"tags":[]}"#, #"the key "name" is missing in the object at the top level."#),
        (#"{"name":1,"tags":[]}"#, "expected String at name, found a number."),
        (#"{"name":null,"tags":[]}"#, "expected String at name, found null."),
        (#"{"name":"Emily","tags":[{"id":1},{"id":"hunter2"}]}"#, "expected Int at tags.[1].id, found a string."),
        (#"{"name":"Emily","tags":[{"id":1},{}]}"#, #"the key "id" is missing in the object at tags.[1]."#),
    ])
    func errorNamesThePathAndNoValue(body: String, place: String) async throws {
        let transport = MockTransport { _ in .text(body) }
        let error = try #require(
            await #expect(throws: NetworkingError.self) { try await transport.value(request, as: User.self) }
        )
        #expect(error.reason.contains(place), "\(error.reason)")
        #expect(!everyPrint(of: error).contains("hunter2"))
    }

    @Test func keyFromTheServerCannotForgeALine() async throws {
        let transport = MockTransport { _ in .text(#"{"a\r\nINFO forged":"x"}"#) }
        let error = try #require(
            await #expect(throws: NetworkingError.self) { try await transport.value(request, as: [String: Int].self) }
        )
        #expect(error.reason.contains("INFO forged"))
        #expect(!error.description.contains { $0.isNewline })
    }

    @Test func errorOfAnotherDecoderIsADecodingError() async throws {
        struct Own: BodyDecoder {
            struct Failure: Error {}

            func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
                throw Failure()
            }
        }
        let error = try #require(
            await #expect(throws: NetworkingError.self) {
                try await MockTransport { _ in .ok() }.value(request, as: User.self, decoder: Own())
            }
        )
        #expect(error.kind == .decoding)
        guard case .dataCorrupted(let context) = error.underlying as? DecodingError else {
            Issue.record("\(String(describing: error.underlying))")
            return
        }
        #expect(context.underlyingError is Own.Failure)
    }

    @Test(arguments: [10, 1_000, 16_384, 16_385, 500_000])
    func decodesABodyOfAnySize(count: Int) async throws {
        let name = String(repeating: "ü", count: count)
        let transport = MockTransport { _ in .json(User(name: name)) }
        #expect(try await transport.request(request, as: User.self).name == name)
    }

    @Test func largeBodyThatDoesNotDecodeIsADecodingError() async throws {
        let transport = MockTransport { _ in .ok(Data(count: 100_000)) }
        let error = await #expect(throws: NetworkingError.self) {
            try await transport.value(request, as: User.self)
        }
        #expect(error?.kind == .decoding)
    }

    @Test func errorOfATransportIsThrownUnchanged() async {
        let transport = MockTransport([.failure(URLError(.notConnectedToInternet))])
        let error = await #expect(throws: URLError.self) { try await transport.value(request, as: User.self) }
        #expect(error?.code == .notConnectedToInternet)
    }
}
