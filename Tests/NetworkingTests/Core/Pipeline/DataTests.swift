import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(20)))
struct DataTests {
    private let request = HTTPRequestData(authority: "example.com", path: "hello")

    @Test func returnsTheResponse() async throws {
        let transport = MockTransport { _ in .text("Hello World") }
        let response = try await transport.data(request)
        #expect(response.data == Data("Hello World".utf8))
        #expect(response.status == .ok)
        #expect(transport.requests.map(\.description) == ["GET https://example.com/hello"])
    }

    @Test func reportsProgressUpToTheEnd() async throws {
        let transport = MockTransport { _ in .text("Hello World").inSteps(5) }
        let progressReports = Mutex<[TransferProgress]>([])
        try await transport.data(request) { progress in progressReports.withLock { $0.append(progress) } }
        #expect(progressReports.withLock { $0.map(\.received.count) } == [0, 2, 4, 6, 8, 11])
        #expect(progressReports.withLock { $0.dropFirst().allSatisfy { $0.received.expected == 11 } })
        #expect(progressReports.withLock { $0.last?.received.fractionCompleted } == 1)
    }

    @Test func reportsSentBytes() async throws {
        let progressReports = Mutex<TransferProgress?>(nil)
        let post = HTTPRequestData(method: .post, authority: "example.com", body: .data(Data(count: 7)))
        try await MockTransport { _ in .ok() }.data(post) { progress in progressReports.withLock { $0 = progress } }
        #expect(progressReports.withLock { $0?.sent } == BytesSent(count: 7, expected: 7))
    }

    @Test func handlerOfTheCallIsAddedToThatOfTheRequest() async throws {
        let own = Mutex(0)
        let other = Mutex(0)
        var request = request
        request.progressHandler = { _ in own.withLock { $0 += 1 } }
        let transport = MockTransport { _ in .ok() }
        try await transport.data(request) { _ in other.withLock { $0 += 1 } }
        #expect(own.withLock { $0 } == 2)
        #expect(other.withLock { $0 } == 2)
        try await transport.data(request)
        #expect(own.withLock { $0 } == 4)
        #expect(other.withLock { $0 } == 2)
    }

    @Test func progressHandlerThatWasAddedLastIsCalledFirst() async throws {
        let order = Mutex<[String]>([])
        var request = request
        request.addProgressHandler { _ in order.withLock { $0.append("first") } }
        request.addProgressHandler { _ in order.withLock { $0.append("second") } }
        request.progressHandler?(TransferProgress())
        #expect(order.withLock { $0 } == ["second", "first"])
    }

    @Test func failsAtItsTimeout() async throws {
        let clock = ManualClock()
        let network = MockTransport { _ in .ok().delayed(by: .seconds(3)) }.environment(\.clock, .manual(clock))
        // The call itself needs the environment, because its deadline is outside of the stack.
        var environment = NetworkEnvironment.current
        environment.clock = .manual(clock)
        try await withEnvironment(environment) {
            async let response = network.data(request, timeout: .seconds(2))
            try await clock.advance(by: .seconds(2), afterSleepers: 2)
            do {
                _ = try await response
                Issue.record("The call returned a response after its timeout.")
            } catch let error as NetworkingError {
                #expect(error.kind == .timeout)
                #expect(error.isTimeout)
            }
        }
    }

    /// The stack's deadline ends at the same moment, but its error is not thrown.
    @Test func timeoutReplacesTheDeadlineOfTheStack() async throws {
        let clock = ManualClock()
        let network = MockTransport { _ in .never }.deadline(.seconds(60))
        var environment = NetworkEnvironment.current
        environment.clock = .manual(clock)
        try await withEnvironment(environment) {
            let call = Task { try await network.data(request, timeout: .seconds(2)) }
            try await clock.waitForSleepers(1)
            clock.advance(by: .seconds(2))
            let error = await #expect(throws: NetworkingError.self) { try await call.value }
            #expect(error?.kind == .timeout)
        }
    }

    @Test func timeoutReplacesAShorterDeadlineOfTheStack() async throws {
        let clock = ManualClock()
        let network = MockTransport { _ in .text("Hello").delayed(by: .seconds(5)) }.deadline(.seconds(2))
        var environment = NetworkEnvironment.current
        environment.clock = .manual(clock)
        try await withEnvironment(environment) {
            async let response = network.data(request, timeout: .seconds(60))
            try await clock.advance(by: .seconds(5), afterSleepers: 2)
            #expect(try await response.data == Data("Hello".utf8))
        }
    }

    @Test func returnsBeforeItsTimeout() async throws {
        let clock = ManualClock()
        var environment = NetworkEnvironment.current
        environment.clock = .manual(clock)
        let transport = MockTransport { _ in .text("Hello").delayed(by: .seconds(1)) }
        try await withEnvironment(environment) {
            async let response = transport.data(request, timeout: .seconds(2))
            try await clock.advance(by: .seconds(1), afterSleepers: 2)
            #expect(try await response.data == Data("Hello".utf8))
        }
        #expect(clock.sleepers == 0)
    }

    /// In the ancestor library, a cancelled caller left the transfer running.
    @Test func cancelledCallEndsItsTransferAndThrowsCancellationError() async throws {
        let clock = ManualClock()
        let network = MockTransport { _ in .ok().delayed(by: .seconds(3)) }.environment(\.clock, .manual(clock))
        let call = Task { try await network.data(request) }
        try await clock.waitForSleepers()
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(clock.sleepers == 0)
    }

    @Test func callThatStartsCancelledSendsNothing() async {
        let transport = MockTransport { _ in .ok() }
        let call = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await transport.data(request)
        }
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(transport.requests.isEmpty)
    }

    @Test func callThatStartsCancelledReachesNoComponent() async {
        struct Echo: NetworkingComponent {
            func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
                Issue.record("The component was reached.")
                return HTTPResponseData(request: request)
            }
        }
        let call = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await Echo().data(request)
        }
        await #expect(throws: CancellationError.self) { try await call.value }
    }
}
