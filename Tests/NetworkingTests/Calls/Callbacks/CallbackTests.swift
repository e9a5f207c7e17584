import Dispatch
import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct CallbackTests {
    private struct User: Codable, Equatable, Sendable {
        var name: String
    }

    private final class Owner: Sendable {}

    @MainActor
    private final class Label {
        var text = ""
        var fraction = 0.0
    }

    private static let mark = DispatchSpecificKey<Bool>()
    private let queue = DispatchQueue(label: "CallbackTests")
    private let request = HTTPRequestData(authority: "example.com", path: "users/42")

    init() {
        queue.setSpecific(key: Self.mark, value: true)
    }

    // MARK: Results

    @Test func passesTheResponseToTheCompletionOnTheQueue() async throws {
        let transport = MockTransport { _ in .text("Hello") }
        let isOnQueue = Locked(false)
        let outcomes = Outcomes<HTTPResponseData>()
        transport.callback(queue: queue) {
            try await $0.data(request)
        } completion: { result in
            isOnQueue.withLock { $0 = DispatchQueue.getSpecific(key: Self.mark) == true }
            outcomes.add(result)
        }
        #expect(try await outcomes.first().get().text == "Hello")
        #expect(isOnQueue.value)
        await queue.drain()
        #expect(outcomes.count == 1)
    }

    @Test func passesAStatusToDataAndAnErrorToValue() async throws {
        let transport = MockTransport { _ in .status(.notFound) }
        let responses = Outcomes<HTTPResponseData>()
        transport.callback(queue: queue) {
            try await $0.data(request)
        } completion: {
            responses.add($0)
        }
        #expect(try await responses.first().get().status == .notFound)
        let users = Outcomes<User>()
        transport.callback(queue: queue) {
            try await $0.request(request, as: User.self)
        } completion: {
            users.add($0)
        }
        #expect(try await users.first().networkingError?.kind == .status)
    }

    @Test func decodesTypedRequests() async throws {
        let transport = MockTransport { _ in .json(User(name: "Emily")) }
        let users = Outcomes<User>()
        transport.callback(queue: queue) {
            try await $0.request(Request<User>(request))
        } completion: {
            users.add($0)
        }
        #expect(try await users.first().get().name == "Emily")
        let values = Outcomes<User>()
        transport.callback(queue: queue) {
            try await $0.value(Request<User>(request))
        } completion: { result in
            values.add(result.map { $0.body })
        }
        #expect(try await values.first().get().name == "Emily")
        let others = Outcomes<HTTPResponseData>()
        transport.callback(queue: queue) {
            try await $0.value(request, as: User.self)
        } completion: { result in
            others.add(result.map { $0.response })
        }
        #expect(try await others.first().get().status == .ok)
    }

    @Test func callOfSeveralRequestsHasOneResultAndOneHandle() async throws {
        let transport = MockTransport([.text("users/42"), .json(User(name: "Emily")), .text("users/7"), .never])
        let network: any NetworkingComponent = transport.server(authority: "example.com")
        let call: @Sendable (any NetworkingComponent) async throws -> User = { network in
            let path = try await network.request(Request<String>.get("me"))
            return try await network.request(.get(RequestPath(path)), as: User.self)
        }
        let users = Outcomes<User>()
        network.callback(queue: queue, { try await call($0) }, completion: { users.add($0) })
        #expect(try await users.first().get().name == "Emily")
        #expect(transport.requests.map(\.path) == ["/me", "/users/42"])
        let cancelled = Outcomes<User>()
        let handle = network.callback(queue: queue, { try await call($0) }, completion: { cancelled.add($0) })
        try await transport.waitForRequests(4)
        handle.cancel()
        #expect(try await cancelled.first().error is CancellationError)
        try await eventually("the exchange has ended") { transport.active == 0 }
    }

    @Test func typedRequestReportsToTheHandlerOfACall() async throws {
        let transport = MockTransport { _ in .json(User(name: "Emily")) }
        let received = Locked<Double?>(nil)
        let users = Outcomes<User>()
        transport.callback(queue: queue) { [request] network, progress in
            try await network.value(Request<User>(request).reporting(to: progress)).body
        } progress: { progress in
            received.withLock { $0 = progress.received.fractionCompleted }
        } completion: { result in
            users.add(result)
        }
        #expect(try await users.first().get().name == "Emily")
        #expect(received.value == 1)
        // Without a closure for the progress, the request stays as it is.
        #expect(Request<User>(request).reporting(to: nil).http.progressHandler == nil)
    }

    @Test func passesAnInvalidRequestToTheCompletion() async throws {
        let outcomes = Outcomes<HTTPResponseData>()
        MockTransport { _ in .ok() }
            .callback(queue: queue) {
                try await $0.data(HTTPRequestData(path: "nowhere"))
            } completion: {
                outcomes.add($0)
            }
        #expect(try await outcomes.first().networkingError?.kind == .invalidRequest)
    }

    @Test func passesAnErrorOfTheDecoderToTheCompletion() async throws {
        let users = Outcomes<User>()
        MockTransport { _ in .text("no JSON") }
            .callback(queue: queue) {
                try await $0.request(request, as: User.self)
            } completion: {
                users.add($0)
            }
        #expect(try await users.first().networkingError?.kind == .decoding)
    }

    // MARK: Cancelling

    @Test func cancelPassesCancellationErrorOnce() async throws {
        let transport = MockTransport { _ in .never }
        let outcomes = Outcomes<HTTPResponseData>()
        let call = transport.callback(queue: queue) {
            try await $0.data(request)
        } completion: {
            outcomes.add($0)
        }
        try await transport.waitForRequests(1)
        call.cancel()
        call.cancel()
        #expect(try await outcomes.first().error is CancellationError)
        try await eventually("the exchange has ended") { transport.active == 0 }
        await queue.drain()
        #expect(outcomes.count == 1)
    }

    @Test func cancelReplacesAResponseThatWaitsForTheQueue() async throws {
        let transport = MockTransport { _ in .text("Hello") }
        let outcomes = Outcomes<HTTPResponseData>()
        queue.suspend()
        let call = transport.callback(queue: queue) {
            try await $0.data(request)
        } completion: {
            outcomes.add($0)
        }
        try await transport.waitForEnds(1)
        call.cancel()
        queue.resume()
        #expect(try await outcomes.first().error is CancellationError)
        await queue.drain()
        #expect(outcomes.count == 1)
    }

    @Test func cancelAfterTheCompletionDoesNothing() async throws {
        let outcomes = Outcomes<HTTPResponseData>()
        let call = MockTransport { _ in .ok() }
            .callback(queue: queue) {
                try await $0.data(request)
            } completion: {
                outcomes.add($0)
            }
        #expect(try await outcomes.first().get().status == .ok)
        call.cancel()
        await queue.drain()
        #expect(outcomes.count == 1)
    }

    @Test func progressClosureMayCancelItsOwnCall() async throws {
        let held = HeldResponse()
        let transport = MockTransport { _ in .held(by: held) }
        let call = Locked<CallHandle?>(nil)
        let outcomes = Outcomes<HTTPResponseData>()
        let handle = transport.callback(queue: queue) {
            try await $0.data(request, progress: $1)
        } progress: { _ in
            call.value?.cancel()
        } completion: { result in
            call.value?.cancel()
            outcomes.add(result)
        }
        call.withLock { $0 = handle }
        try await held.waitForRequests()
        held.respond(with: MockResponse.text("Hello World").inSteps(5))
        #expect(try await outcomes.first().error is CancellationError)
        await queue.drain()
        #expect(outcomes.count == 1)
    }

    @Test func cancelMayBeCalledFromManyThreads() async throws {
        let transport = MockTransport { _ in .never }
        for _ in 0..<50 {
            let outcomes = Outcomes<HTTPResponseData>()
            let call = transport.callback(queue: .global()) {
                try await $0.data(request)
            } completion: {
                outcomes.add($0)
            }
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask { call.cancel() }
                }
            }
            #expect(try await outcomes.first().error is CancellationError)
            #expect(outcomes.count == 1)
        }
        try await eventually("the exchanges have ended") { transport.active == 0 }
    }

    // MARK: Lifetimes

    @Test func releasingTheHandleDoesNotCancel() async throws {
        let held = HeldResponse()
        let transport = MockTransport { _ in .held(by: held) }
        let outcomes = Outcomes<HTTPResponseData>()
        transport.callback(queue: queue) {
            try await $0.data(request)
        } completion: {
            outcomes.add($0)
        }
        try await held.waitForRequests()
        held.respond(with: .text("Hello"))
        #expect(try await outcomes.first().get().text == "Hello")
    }

    @Test func completionRunsAfterItsOwnerIsReleased() async throws {
        let held = HeldResponse()
        let transport = MockTransport { _ in .held(by: held) }
        let objects = WatchedObjects()
        let hadOwner = Locked<Bool?>(nil)
        start(transport, watchedBy: objects) { isAlive in hadOwner.withLock { $0 = isAlive } }
        try await held.waitForRequests()
        #expect(await objects.countAtEnd() == 0)
        held.respond()
        try await eventually("the completion is called") { hadOwner.value == false }
    }

    /// Starts a call with a completion that refers weakly to an owner.
    ///
    /// The owner is released when this method returns.
    private func start(
        _ network: some NetworkingComponent,
        watchedBy objects: WatchedObjects,
        _ completion: @escaping @Sendable (Bool) -> Void
    ) {
        let owner = Owner()
        objects.watch(owner)
        network.callback(queue: queue) {
            try await $0.data(request)
        } completion: { [weak owner] _ in
            completion(owner != nil)
        }
    }

    @Test func closuresAreReleasedWhileTheHandleAndTheResponseAreKept() async throws {
        let transport = MockTransport { _ in .ok() }
        let objects = WatchedObjects()
        let outcomes = Outcomes<HTTPResponseData>()
        let call = startRetaining(transport, watchedBy: objects, outcomes)
        #expect(try await outcomes.first().get().status == .ok)
        #expect(await objects.countAtEnd() == 0)
        withExtendedLifetime((call, outcomes)) {}
    }

    /// Starts a call with closures that retain an object.
    private func startRetaining(
        _ network: some NetworkingComponent,
        watchedBy objects: WatchedObjects,
        _ outcomes: Outcomes<HTTPResponseData>
    ) -> CallHandle {
        let owner = Owner()
        objects.watch(owner)
        return network.callback(queue: queue) {
            try await $0.data(request, progress: $1)
        } progress: { _ in
            withExtendedLifetime(owner) {}
        } completion: { result in
            withExtendedLifetime(owner) { outcomes.add(result) }
        }
    }

    // MARK: Progress

    @Test func blockedQueueGetsTheLatestProgressBeforeTheCompletion() async throws {
        let transport = MockTransport { _ in .text("Hello World").inSteps(5) }
        let order = Locked<[String]>([])
        queue.suspend()
        transport.callback(queue: queue) {
            try await $0.data(request, progress: $1)
        } progress: { progress in
            order.withLock { $0.append("\(progress.received.count)") }
        } completion: { _ in
            order.withLock { $0.append("end") }
        }
        try await transport.waitForEnds(1)
        queue.resume()
        try await eventually("the completion is called") { order.value.last == "end" }
        #expect(order.value == ["11", "end"])
    }

    @Test func closuresOfACallDoNotOverlapOnAConcurrentQueue() async throws {
        let transport = MockTransport { _ in .text("Hello World").inSteps(5) }
        let running = Locked((now: 0, peak: 0))
        let note: @Sendable () -> Void = {
            running.withLock { ($0.now, $0.peak) = ($0.now + 1, max($0.peak, $0.now + 1)) }
            running.withLock { $0.now -= 1 }
        }
        for _ in 0..<100 {
            let outcomes = Outcomes<HTTPResponseData>()
            transport.callback(queue: .global()) {
                try await $0.data(request, progress: $1)
            } progress: { _ in
                note()
            } completion: { result in
                note()
                outcomes.add(result)
            }
            _ = try await outcomes.first()
        }
        #expect(running.value.peak == 1)
    }

    // MARK: The main actor

    @Test @MainActor func closuresOnTheMainQueueUseTheMainActor() async throws {
        let transport = MockTransport { _ in .json(User(name: "Emily")) }
        let label = Label()
        let outcomes = Outcomes<User>()
        transport.request(Request<User>(request), on: .main) { progress in
            label.fraction = progress.received.fractionCompleted ?? 0
        } completion: { result in
            label.text = (try? result.get().name) ?? ""
            outcomes.add(result)
        }
        #expect(try await outcomes.first().get().name == "Emily")
        #expect(label.text == "Emily")
        #expect(label.fraction == 1)
    }

    @Test @MainActor func everyCallHasAFormForTheMainActor() async throws {
        let transport = MockTransport { _ in .json(User(name: "Emily")) }
        let label = Label()
        let responses = Outcomes<HTTPResponseData>()
        transport.data(request, on: .main) { result in
            if case .success(let response) = result {
                label.text += "\(response.status.code)"
            }
            responses.add(result)
        }
        _ = try await responses.first()
        let users = Outcomes<User>()
        transport.callback(on: .main) {
            try await $0.value(Request<User>(request))
        } completion: { result in
            if case .success(let value) = result {
                label.text += value.body.name
            }
            users.add(result.map { $0.body })
        }
        _ = try await users.first()
        let others = Outcomes<User>()
        transport.callback(on: .main) {
            try await $0.value(request, as: User.self)
        } completion: { result in
            others.add(result.map { $0.body })
        }
        #expect(try await others.first().get().name == "Emily")
        let bodies = Outcomes<User>()
        transport.request(Request<User>(request), on: .main) { bodies.add($0) }
        #expect(try await bodies.first().get().name == "Emily")
        #expect(label.text == "200Emily")
    }

    // MARK: Transfers

    @Test func uploadsAndReportsTheProgress() async throws {
        let transport = MockTransport { _ in .json(User(name: "Emily")) }
        let sent = Locked<BytesSent?>(nil)
        let responses = Outcomes<HTTPResponseData>()
        transport.callback(queue: queue) {
            try await $0.upload(.data(Data(count: 7)), to: request, progress: $1)
        } progress: { progress in
            sent.withLock { $0 = progress.sent }
        } completion: { result in
            responses.add(result)
        }
        #expect(try await responses.first().get().status == .ok)
        #expect(sent.value == BytesSent(count: 7, expected: 7))
        #expect(transport.requests.first?.method == .post)
        let users = Outcomes<User>()
        transport.callback(queue: queue) {
            try await $0.upload(.data(Data()), to: Request<User>(request))
        } completion: { result in
            users.add(result.map { $0.body })
        }
        #expect(try await users.first().get().name == "Emily")
    }

    @Test func missingFileFailsTheUpload() async throws {
        let outcomes = Outcomes<HTTPResponseData>()
        let file = FileManager.default.temporaryDirectory.appending(path: "missing-\(UUID())")
        MockTransport { _ in .ok() }
            .callback(queue: queue) {
                try await $0.upload(.file(file), to: request)
            } completion: {
                outcomes.add($0)
            }
        #expect(try await outcomes.first().networkingError?.kind == .storage)
    }

    @Test func downloadsAFile() async throws {
        try await withTemporaryDirectory { (directory: URL) async throws -> Void in
            let place = directory.appending(path: "film")
            let transport = MockTransport { _ in .text("Hello") }
            let files = Outcomes<DownloadedFile>()
            transport.callback(queue: queue) {
                try await $0.download(request, to: place)
            } completion: {
                files.add($0)
            }
            #expect(try await files.first().get().byteCount == 5)
            #expect(try Data(contentsOf: place) == Data("Hello".utf8))
            // Nothing may exist at the destination.
            let refused = Outcomes<DownloadedFile>()
            transport.callback(queue: queue) {
                try await $0.download(request, to: .file(place))
            } completion: {
                refused.add($0)
            }
            #expect(try await refused.first().networkingError?.kind == .storage)
        }
    }

    @Test @MainActor func transfersHaveAFormForTheMainActor() async throws {
        let transport = MockTransport { _ in .json(User(name: "Emily")) }
        let label = Label()
        try await withTemporaryDirectory { directory in
            let files = Outcomes<DownloadedFile>()
            transport.callback(on: .main) {
                try await $0.download(request, to: directory.appending(path: "one"))
            } completion: { result in
                label.text += "1"
                files.add(result)
            }
            _ = try await files.first().get()
            let others = Outcomes<DownloadedFile>()
            transport.callback(on: .main) {
                try await $0.download(request, to: .file(directory.appending(path: "two")))
            } completion: { result in
                label.text += "2"
                others.add(result)
            }
            _ = try await others.first().get()
            let responses = Outcomes<HTTPResponseData>()
            transport.callback(on: .main) {
                try await $0.upload(.data(Data()), to: request)
            } completion: { result in
                label.text += "3"
                responses.add(result)
            }
            _ = try await responses.first().get()
            let users = Outcomes<User>()
            transport.callback(on: .main) {
                try await $0.upload(.data(Data()), to: Request<User>(request))
            } completion: { result in
                label.text += "4"
                users.add(result.map { $0.body })
            }
            _ = try await users.first().get()
        }
        #expect(label.text == "1234")
    }

    // MARK: Perform

    @Test func performPassesAnErrorForAStatusThatIsNotAccepted() async throws {
        let transport = MockTransport([.status(.noContent), .status(.notFound)])
        let responses = Outcomes<HTTPResponseData>()
        transport.callback(queue: queue) {
            try await $0.perform(request)
        } completion: {
            responses.add($0)
        }
        #expect(try await responses.first().get().status == .noContent)
        let failures = Outcomes<HTTPResponseData>()
        transport.callback(queue: queue) {
            try await $0.perform(request)
        } completion: {
            failures.add($0)
        }
        #expect(try await failures.first().networkingError?.kind == .status)
    }

    @Test @MainActor func performHasAFormForTheMainActor() async throws {
        let label = Label()
        let responses = Outcomes<HTTPResponseData>()
        MockTransport { _ in .text("Hello") }
            .callback(on: .main) {
                try await $0.data(request, progress: $1).checkedStatus()
            } progress: { progress in
                label.fraction = progress.received.fractionCompleted ?? 0
            } completion: { result in
                label.text = (try? result.get().text) ?? ""
                responses.add(result)
            }
        _ = try await responses.first()
        #expect(label.text == "Hello")
        #expect(label.fraction == 1)
    }
}
