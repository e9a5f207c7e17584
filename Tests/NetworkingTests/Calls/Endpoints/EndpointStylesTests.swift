import Dispatch
import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

private struct User: Codable, Equatable, Sendable {
    var name = "Emily"
}

private struct GetUser: Endpoint {
    typealias Response = User

    var path: RequestPath { "users/42" }
}

private struct AnyUser: Endpoint {
    typealias Response = HTTPResponseData

    var path: RequestPath { "users/42" }
}

/// The calls of endpoints with closures, chains and transfers.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct EndpointStylesTests {
    private let queue = DispatchQueue(label: "EndpointStylesTests")
    private let transport = MockTransport { _ in .json(User()) }

    private var network: some NetworkingComponent {
        transport.server(authority: "api.example.com")
    }

    private var paths: [String] {
        transport.requests.map { "\($0.method) \($0.path ?? "")" }
    }

    @Test func closuresOnAQueue() async throws {
        let users = Outcomes<User>()
        network.callback(queue: queue) {
            try await $0.request(GetUser())
        } completion: {
            users.add($0)
        }
        #expect(try await users.first().get() == User())
        let values = Outcomes<User>()
        network.callback(queue: queue) {
            try await $0.value(GetUser())
        } completion: {
            values.add($0.map(\.body))
        }
        #expect(try await values.first().get() == User())
        let typed = Outcomes<User>()
        network.callback(queue: queue) {
            try await $0.request(AnyUser(), as: User.self)
        } completion: {
            typed.add($0)
        }
        #expect(try await typed.first().get() == User())
        let responses = Outcomes<HTTPResponseData>()
        network.callback(queue: queue) {
            try await $0.data(GetUser())
        } completion: {
            responses.add($0)
        }
        #expect(try await responses.first().get().status == .ok)
        let performed = Outcomes<HTTPResponseData>()
        network.callback(queue: queue) {
            try await $0.perform(GetUser())
        } completion: {
            performed.add($0)
        }
        #expect(try await performed.first().get().status == .ok)
        #expect(paths == Array(repeating: "GET /users/42", count: 5))
    }

    @Test @MainActor func closuresOnTheMainActor() async throws {
        let users = Outcomes<User>()
        network.request(Request(GetUser()), on: .main) { users.add($0) }
        #expect(try await users.first().get() == User())
        let values = Outcomes<User>()
        network.callback(on: .main) {
            try await $0.value(GetUser())
        } completion: {
            values.add($0.map(\.body))
        }
        #expect(try await values.first().get() == User())
        let typed = Outcomes<User>()
        network.request(AnyUser().request(as: User.self), on: .main) { typed.add($0) }
        #expect(try await typed.first().get() == User())
        let responses = Outcomes<HTTPResponseData>()
        network.callback {
            try await $0.data(GetUser())
        } completion: {
            responses.add($0)
        }
        #expect(try await responses.first().get().status == .ok)
        let performed = Outcomes<HTTPResponseData>()
        network.callback(on: .main) {
            try await $0.perform(GetUser())
        } completion: {
            performed.add($0)
        }
        #expect(try await performed.first().get().status == .ok)
        #expect(paths.count == 5)
    }

    @Test func chainsAndTransfers() async throws {
        #expect(try await network.prepare(Request(GetUser())).value == User())
        #expect(try await network.prepare(Request(AnyUser())).decode(as: User.self).value == User())
        #expect(try await network.transfer(Request(GetUser())).value.body == User())
        #expect(try await network.upload(.data(Data([1])), to: Request(GetUser())).body == User())
        #expect(try await network.transfer(uploading: .data(Data([1])), to: Request(GetUser())).value.body == User())
        #expect(paths == Array(repeating: "GET /users/42", count: 3) + Array(repeating: "POST /users/42", count: 2))
    }

    @Test func downloads() async throws {
        try await withTemporaryDirectory { directory in
            let first = try await network.download(
                HTTPRequestData(AnyUser()),
                to: .file(directory.appending(path: "1"))
            )
            let place = directory.appending(path: "2")
            let second = try await network.transfer(downloading: HTTPRequestData(AnyUser()), to: .file(place)).value
            #expect(try Data(contentsOf: first.url) == Data(contentsOf: second.url))
        }
    }

    @Test func propertyOfTheRequestIsChanged() async throws {
        let request = GetUser().with(\.priority, .high)
        #expect(request.http.priority == .high)
        #expect(try await network.request(request) == User())
    }
}
