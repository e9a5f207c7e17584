import Dispatch
import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct CallResultTests {
    private struct User: Codable, Equatable, Sendable {
        var name = "Emily"
    }

    private let request = Request<User>(.lawful)
    private let queue = DispatchQueue(label: "CallResultTests")

    @Test func successHasItsValueAndItsResponse() async {
        let call = await MockTransport { _ in .json(User()) }.callResult(of: request)
        #expect(call.value == User())
        #expect(call.error == nil)
        #expect(call.isSuccess)
        #expect(call.response?.status == .ok)
        #expect(call.request == request.http)
        #expect("\(call)" == "200 OK, 16 bytes, GET https://laws.example/check")
    }

    @Test func failureHasItsErrorAndItsResponse() async {
        let call = await MockTransport { _ in .status(.notFound) }.callResult(of: request)
        #expect(call.value == nil)
        #expect(!call.isSuccess)
        #expect(call.error?.networkingError?.kind == .status)
        #expect(call.response?.status == .notFound)
        #expect("\(call)".hasPrefix("404 Not Found, 0 bytes, GET https://laws.example/check: "))
    }

    @Test func failureWithoutAResponseHasNone() async {
        let transport = MockTransport { _ in .failure(.connection) }
        let call = await transport.callResult(of: request)
        #expect(call.response == nil)
        #expect(call.error?.networkingError?.kind == .connection)
        #expect("\(call)".hasPrefix("GET https://laws.example/check: "))
    }

    @Test func secretsAreNotPrinted() async {
        let secret = Request<User>(HTTPRequestData(authority: "a.example", path: "users?token=hunter2"))
        let call = await MockTransport { _ in .status(.notFound) }.callResult(of: secret)
        var dumped = ""
        dump(call, to: &dumped)
        #expect(!"\(call) \(dumped)".contains("hunter2"))
    }

    @Test @MainActor func closuresReceiveTheResult() async throws {
        let transport = MockTransport { _ in .json(User()) }
        let results = Outcomes<User>()
        transport.callback(queue: queue) {
            await $0.callResult(of: request)
        } completion: {
            results.add($0.flatMap(\.result))
        }
        #expect(try await results.first().get() == User())
        let others = Outcomes<User>()
        transport.callResult(of: request, on: .main) { call in others.add(call.result) }
        #expect(try await others.first().get() == User())
    }

    // MARK: Connectivity

    @Test func onlineNeedsAKnownStatus() {
        #expect(!ManualConnectivity(nil).isOnline)
        #expect(!ManualConnectivity(.offline).isOnline)
        #expect(ManualConnectivity(.wifi).isOnline)
    }

    @Test func connectivityIsPassedToAClosureUntilItIsCancelled() async throws {
        let connectivity = ManualConnectivity(.wifi)
        let statuses = Locked<[ConnectivityStatus]>([])
        let observation = connectivity.onChange(queue: queue) { status in statuses.withLock { $0.append(status) } }
        try await eventually("the status is passed") { statuses.value == [.wifi] }
        connectivity.update(.offline)
        try await eventually("the change is passed") { statuses.value == [.wifi, .offline] }
        observation.cancel()
        try await eventually("no sequence is left") { connectivity.readers == 0 }
        connectivity.update(.cellular)
        await queue.drain()
        #expect(statuses.value == [.wifi, .offline])
    }

    @Test @MainActor func connectivityIsPassedToTheMainActor() async throws {
        let connectivity = ManualConnectivity(.cellular)
        let statuses = Locked<[ConnectivityStatus]>([])
        let observation = connectivity.onChange(on: .main) { status in statuses.withLock { $0.append(status) } }
        try await eventually("the status is passed") { statuses.value == [.cellular] }
        observation.cancel()
    }

    // MARK: Uploads

    @Test @MainActor func uploadsDecodeTheirResponse() async throws {
        let transport = MockTransport { _ in .json(User()) }
        let body = RequestBody.data(Data([1]))
        let first = Outcomes<User>()
        transport.callback(queue: queue) {
            try await $0.upload(body, to: Request<User>(.lawful))
        } completion: {
            first.add($0.map(\.body))
        }
        #expect(try await first.first().get() == User())
        let second = Outcomes<User>()
        transport.callback(on: .main) {
            try await $0.upload(body, to: Request<User>(.lawful))
        } completion: {
            second.add($0.map(\.body))
        }
        #expect(try await second.first().get() == User())
        #expect(try await transport.transfer(uploading: body, to: Request<User>(.lawful)).value.body == User())
    }
}
