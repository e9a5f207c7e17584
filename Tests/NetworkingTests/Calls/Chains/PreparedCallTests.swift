import Dispatch
import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct PreparedCallTests {
    private struct User: Codable, Equatable, Sendable {
        var name: String
    }

    private struct Refused: Error {}

    private final class Owner: Sendable {}

    @MainActor
    private final class Label {
        var text = ""
        var fraction = 0.0
    }

    private let queue = DispatchQueue(label: "PreparedCallTests")
    private let request = HTTPRequestData(authority: "example.com", path: "users/42")
    private let transport = MockTransport { _ in .json(User(name: "Emily")) }

    // MARK: One exchange

    @Test func sendsOneRequestForManyHandlersAndWaiters() async throws {
        let call = transport.prepare(request)
        let users = Outcomes<User>()
        let texts = Outcomes<String>()
        call.decode(as: User.self).queue(queue).onCompletion { users.add($0) }
        call.text().queue(queue).onCompletion { texts.add($0) }
        #expect(transport.requests.isEmpty)
        call.start()
        call.start()
        async let first = call.value
        async let second = call.decode(as: User.self).value
        #expect(try await first.status == .ok)
        #expect(try await second.name == "Emily")
        #expect(try await users.first().get().name == "Emily")
        #expect(try await texts.first().get() == #"{"name":"Emily"}"#)
        #expect(transport.requests.count == 1)
    }

    @Test func valueSendsTheRequest() async throws {
        let user = try await transport.prepare(Request<User>(request)).value
        #expect(user.name == "Emily")
        #expect(transport.requests.count == 1)
    }

    @Test func callThatIsNotStartedSendsNothing() async throws {
        let objects = WatchedObjects()
        prepareWithoutStarting(watchedBy: objects)
        #expect(await objects.countAtEnd() == 0)
        #expect(transport.requests.isEmpty)
    }

    private func prepareWithoutStarting(watchedBy objects: WatchedObjects) {
        let owner = Owner()
        objects.watch(owner)
        transport.prepare(request).queue(queue).onCompletion { _ in withExtendedLifetime(owner) {} }
    }

    @Test func handlerThatIsAddedAfterTheEndGetsTheResult() async throws {
        let call = transport.prepare(request)
        _ = try await call.value
        let users = Outcomes<User>()
        let heads = Locked<[Int]>([])
        call.queue(queue).onHeaders { head in heads.withLock { $0.append(head.status.code) } }
        call.decode(as: User.self).queue(queue).onCompletion { users.add($0) }
        #expect(try await users.first().get().name == "Emily")
        try await eventually("the head is passed") { heads.value == [200] }
        #expect(try await call.value.status == .ok)
        #expect(transport.requests.count == 1)
    }

    @Test func handlersAreReleasedAtTheEnd() async throws {
        let objects = WatchedObjects()
        let call = startRetaining(watchedBy: objects)
        _ = try await call.value
        #expect(await objects.countAtEnd() == 0)
    }

    /// Starts a call with handlers that retain an object.
    private func startRetaining(watchedBy objects: WatchedObjects) -> PreparedCall<HTTPResponseData> {
        let owner = Owner()
        objects.watch(owner)
        let call = transport.prepare(request).queue(queue)
            .onHeaders { _ in withExtendedLifetime(owner) {} }
            .onProgress { _ in withExtendedLifetime(owner) {} }
            .onSuccess { _ in withExtendedLifetime(owner) {} }
            .onFailure { _ in withExtendedLifetime(owner) {} }
        call.start()
        return call.call
    }

    // MARK: Failures

    @Test func refusedStatusIsAFailure() async throws {
        let transport = MockTransport { _ in MockResponse(status: .notFound, data: Data("not here".utf8)) }
        let call = transport.prepare(request)
        let texts = Outcomes<String>()
        let failures = Locked<[NetworkingError.Kind?]>([])
        let successes = Locked(0)
        let text = call.text().queue(queue)
        text.onCompletion { texts.add($0) }
        text.onSuccess { _ in successes.withLock { $0 += 1 } }
        text.onFailure { error in failures.withLock { $0.append((error as? NetworkingError)?.kind) } }
        call.start()
        let error = try await texts.first().networkingError
        #expect(error?.kind == .status)
        #expect(error?.bodyText == "not here")
        try await eventually("the failure is passed") { failures.value == [.status] }
        #expect(successes.value == 0)
        #expect(texts.count == 1)
    }

    @Test func statusThatTheRequestAcceptsIsASuccess() async throws {
        var request = request
        request.acceptedStatuses = .all
        let transport = MockTransport { _ in .status(.notFound) }
        #expect(try await transport.prepare(request).value.status == .notFound)
    }

    @Test func bodyThatCannotBeDecodedFailsTheDecodedCallOnly() async throws {
        let transport = MockTransport { _ in .text("no JSON") }
        let call = transport.prepare(request)
        let user = call.decode(as: User.self)
        call.start()
        let error = await #expect(throws: NetworkingError.self) { try await user.value }
        #expect(error?.kind == .decoding)
        #expect(try await call.value.status == .ok)
        #expect(try await call.text().value == "no JSON")
    }

    @Test func errorOfATransformationIsTheFailure() async throws {
        let call = transport.prepare(request).map { _ -> Int in throw Refused() }
        await #expect(throws: Refused.self) { try await call.value }
        let counts = transport.prepare(request).queue(queue).map { $0.data.count }
        let outcomes = Outcomes<Int>()
        counts.onCompletion { outcomes.add($0) }
        counts.start()
        #expect(try await outcomes.first().get() == 16)
    }

    @Test func invalidRequestIsAFailure() async throws {
        let failures = Outcomes<HTTPResponseData>()
        transport.prepare(HTTPRequestData(path: "nowhere")).queue(queue).onCompletion { failures.add($0) }.start()
        #expect(try await failures.first().networkingError?.kind == .invalidRequest)
        #expect(transport.requests.isEmpty)
    }

    // MARK: Cancelling

    @Test func cancelEndsTheExchangeForEveryHandlerAndWaiter() async throws {
        let transport = MockTransport { _ in .never }
        let call = transport.prepare(request)
        let users = Outcomes<User>()
        call.decode(as: User.self).queue(queue).onCompletion { users.add($0) }
        let handle = call.start()
        let waiter = Task { try await call.value }
        try await transport.waitForRequests(1)
        handle.cancel()
        await #expect(throws: CancellationError.self) { try await waiter.value }
        #expect(try await users.first().error is CancellationError)
        try await eventually("the exchange has ended") { transport.active == 0 }
        // It is not sent again.
        call.start()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(transport.requests.count == 1)
    }

    @Test func callThatIsCancelledBeforeItsStartSendsNothing() async throws {
        let call = transport.prepare(request)
        call.cancel()
        call.start()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(transport.requests.isEmpty)
    }

    @Test func cancelAfterTheEndKeepsTheResult() async throws {
        let call = transport.prepare(request)
        _ = try await call.value
        call.cancel()
        #expect(try await call.value.status == .ok)
    }

    @Test func lastCancelledWaiterCancelsTheExchange() async throws {
        let transport = MockTransport { _ in .never }
        let call = transport.prepare(request)
        let first = Task { try await call.value }
        let second = Task { try await call.text().value }
        try await transport.waitForRequests(1)
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        try await eventually("the exchange has ended") { transport.active == 0 }
    }

    @Test func startedCallOutlivesItsCancelledWaiter() async throws {
        let held = HeldResponse()
        let transport = MockTransport { _ in .held(by: held) }
        let call = transport.prepare(request)
        call.start()
        let waiter = Task { try await call.value }
        try await held.waitForRequests()
        waiter.cancel()
        await #expect(throws: CancellationError.self) { try await waiter.value }
        #expect(transport.active == 1)
        held.respond(with: .text("Hello"))
        #expect(try await call.text().value == "Hello")
    }

    @Test func cancelledTaskSendsNothing() async throws {
        let call = transport.prepare(request)
        let waiter = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            _ = try await call.value
        }
        await #expect(throws: CancellationError.self) { try await waiter.value }
        #expect(transport.requests.isEmpty)
    }

    /// Starts a call with a handler that cancels it, and checks that it completes once.
    private func checkThatHandlerCancels(
        _ call: PreparedCall<HTTPResponseData>,
        over transport: MockTransport,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let outcomes = Outcomes<HTTPResponseData>()
        call.queue(queue).onCompletion { outcomes.add($0) }
        call.start()
        #expect(try await outcomes.first().error is CancellationError, sourceLocation: sourceLocation)
        try await eventually("the exchange has ended", sourceLocation: sourceLocation) { transport.active == 0 }
        await queue.drain()
        #expect(outcomes.count == 1, sourceLocation: sourceLocation)
    }

    @Test func handlerForTheHeadMayCancelItsOwnCall() async throws {
        let transport = MockTransport([.chunks(["one", .hang])])
        let heads = Locked(0)
        let call = transport.prepare(request)
        call.queue(queue)
            .onHeaders { _ in
                heads.withLock { $0 += 1 }
                call.cancel()
            }
        try await checkThatHandlerCancels(call, over: transport)
        #expect(heads.value == 1)
    }

    @Test func handlerForTheProgressMayCancelItsOwnCall() async throws {
        let transport = MockTransport([.chunks(["one", .hang])])
        let reports = Locked(0)
        let call = transport.prepare(request)
        call.queue(queue)
            .onProgress { progress in
                guard progress.received.count > 0 else { return }
                reports.withLock { $0 += 1 }
                call.cancel()
            }
        try await checkThatHandlerCancels(call, over: transport)
        #expect(reports.value == 1)
    }

    @Test func handlerForTheValueMayCancelItsOwnCallWithoutEffect() async throws {
        let order = Locked<[String]>([])
        let call = transport.prepare(request)
        call.queue(queue)
            .onSuccess { _ in
                order.withLock { $0.append("success") }
                call.cancel()
            }
            .onFailure { _ in order.withLock { $0.append("failure") } }
            .onCompletion { result in order.withLock { $0.append("\(result.error == nil)") } }
            .start()
        try await eventually("the result is passed") { order.value.count == 2 }
        await queue.drain()
        #expect(order.value == ["success", "true"])
        #expect(try await call.value.status == .ok)
    }

    @Test func cancelEndsTheExchangeWhileTheQueueIsBlocked() async throws {
        let transport = MockTransport([.chunks(["one", .hang])])
        let order = Locked<[String]>([])
        queue.suspend()
        let call = transport.prepare(request)
        let handle = call.queue(queue)
            .onHeaders { _ in order.withLock { $0.append("head") } }
            .onProgress { _ in order.withLock { $0.append("progress") } }
            .onCompletion { result in order.withLock { $0.append("\(result.error is CancellationError)") } }
            .start()
        try await transport.waitForChunks(1)
        handle.cancel()
        try await eventually("the exchange has ended") { transport.active == 0 }
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(order.value.isEmpty)
        queue.resume()
        try await eventually("the result is passed") { order.value.last == "true" }
        // The head had been scheduled before; the progress that waited for the queue is dropped.
        #expect(order.value == ["head", "true"])
    }

    // MARK: Heads and progress

    @Test func headArrivesBeforeTheBody() async throws {
        let gate = MockGate()
        let transport = MockTransport([.chunks(["one", .wait(for: gate), "two"], headerFields: [.eTag: "\"1\""])])
        let tags = Locked<[String?]>([])
        let call = transport.prepare(request)
        call.queue(queue).onHeaders { head in tags.withLock { $0.append(head.headerFields[.eTag]) } }
        call.start()
        try await eventually("the head is passed") { tags.value == ["\"1\""] }
        gate.open()
        #expect(try await call.text().value == "onetwo")
        await queue.drain()
        #expect(tags.value.count == 1)
    }

    @Test func headOfAStoredResponseIsPassed() async throws {
        let transport = MockTransport { _ in .text("Hello").headerFields([.cacheControl: "max-age=60"]) }
        let network = transport.cached()
        _ = try await network.data(request)
        let haveAge = Locked<[Bool]>([])
        let call = network.prepare(request)
        call.queue(queue).onHeaders { head in haveAge.withLock { $0.append(head.headerFields[.age] != nil) } }
        #expect(try await call.value.isCached)
        try await eventually("the head is passed") { haveAge.value == [true] }
        #expect(transport.requests.count == 1)
    }

    @Test func headOfARefusedResponseIsPassedBeforeTheError() async throws {
        let transport = MockTransport { _ in .status(.forbidden) }
        let order = Locked<[String]>([])
        transport.prepare(request).queue(queue)
            .onHeaders { head in order.withLock { $0.append("\(head.status.code)") } }
            .onFailure { _ in order.withLock { $0.append("failure") } }
            .start()
        try await eventually("the failure is passed") { order.value.last == "failure" }
        #expect(order.value == ["403", "failure"])
    }

    @Test func bodyIsLimitedDespiteAHandlerForTheHead() async throws {
        var request = request
        request.maximumResponseBytes = 4
        let call = transport.prepare(request)
        call.queue(queue).onHeaders { _ in }
        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .tooLarge)
    }

    @Test func handlerForTheHeadLeavesTheBodyToTheSinkOfTheRequest() async throws {
        let sink = CollectingSink()
        var request = request
        request.sink = sink
        let heads = Locked(0)
        let call = transport.prepare(request)
        call.queue(queue).onHeaders { _ in heads.withLock { $0 += 1 } }
        #expect(try await call.value.body.count == 16)
        #expect(sink.data.count == 16)
        try await eventually("the head is passed") { heads.value == 1 }
    }

    @Test func reportsTheProgressInAdditionToTheHandlerOfTheRequest() async throws {
        let own = Locked(0)
        var request = request
        request.progressHandler = { _ in own.withLock { $0 += 1 } }
        let transport = MockTransport { _ in .text("Hello World").inSteps(5) }
        let counts = Locked<[Int64]>([])
        let call = transport.prepare(request)
        call.queue(queue).onProgress { progress in counts.withLock { $0.append(progress.received.count) } }
        _ = try await call.value
        try await eventually("the last state is passed") { counts.value.last == 11 }
        #expect(counts.value == counts.value.sorted())
        #expect(own.value > 1)
    }

    // MARK: Queues and commands

    @Test @MainActor func handlersUseTheMainActor() async throws {
        let label = Label()
        let order = Outcomes<User>()
        transport.prepare(request)
            .cURL { label.text += $0.prefix(4) }
            .onHeaders { label.text += " \($0.status.code)" }
            .onProgress { label.fraction = $0.received.fractionCompleted ?? 0 }
            .decode(as: User.self)
            .onSuccess { label.text += " \($0.name)" }
            .onFailure { _ in label.text += " failure" }
            .onCompletion { order.add($0) }
            .start()
        #expect(try await order.first().get().name == "Emily")
        #expect(label.text == "curl 200 Emily")
        #expect(label.fraction == 1)
    }

    @Test @MainActor func failuresReachTheMainActor() async throws {
        let label = Label()
        let outcomes = Outcomes<HTTPResponseData>()
        let call = MockTransport { _ in .status(.notFound) }.prepare(request)
        call.onFailure { label.text = ($0 as? NetworkingError)?.kind.rawValue ?? "" }
        call.onCompletion { outcomes.add($0) }
        call.start()
        #expect(try await outcomes.first().networkingError?.kind == .status)
        #expect(label.text == "status")
        #expect(call.request.id == request.id)
    }

    @Test func handlersRunOnTheirQueue() async throws {
        let mark = DispatchSpecificKey<Bool>()
        queue.setSpecific(key: mark, value: true)
        let isOnQueue = Locked<[Bool]>([])
        let note: @Sendable () -> Void = {
            let isMarked = DispatchQueue.getSpecific(key: mark) == true
            isOnQueue.withLock { $0.append(isMarked) }
        }
        let outcomes = Outcomes<String>()
        transport.prepare(request)
            .queue(queue)
            .onHeaders { _ in note() }
            .text()
            .onSuccess { _ in note() }
            .onCompletion { outcomes.add($0) }
            .start()
        _ = try await outcomes.first().get()
        #expect(isOnQueue.value == [true, true])
    }

    @Test func commandHasTheRequestOfTheStackWithoutSecrets() async throws {
        let network = transport.server(headerField: .authorization, "Bearer token-1").server(authority: "example.com")
        let commands = Locked<[String]>([])
        let call = network.prepare(HTTPRequestData(path: "me"))
        call.queue(queue).cURL { command in commands.withLock { $0.append(command) } }
        try await eventually("the command is passed") { commands.value.count == 1 }
        #expect(commands.value[0].hasSuffix("'https://example.com/me'"))
        #expect(!commands.value[0].contains("token-1"))
        #expect(transport.requests.isEmpty)
    }
}
