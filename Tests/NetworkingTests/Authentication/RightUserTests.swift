import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

/// Work that began for Alice is sent for Alice or not at all, wherever it waits and however it is sent again.
@Suite(.timeLimit(.minutes(20)))
struct RightUserTests {
    @Test(arguments: Work.all, SignInChange.allCases)
    func workIsSentForTheUserForWhomItBegan(work: Work, change: SignInChange) async throws {
        let scene = Scene(change)
        let result = await Result { try await work.run(scene) }
        // Later requests of the same stack would show a request that is still underway.
        #expect(scene.hasChanged, "The work never waited.")
        #expect(scene.tokens.allSatisfy { !$0.contains("bob") }, "\(scene.tokens)")
        guard change.isOfSameUser else {
            #expect(scene.tokens.count == scene.countAtChange, "Sent after the change: \(scene.tokens)")
            guard work.fails else { return }
            #expect(throws: (any Error).self) { try result.get() }
            if change == .anotherUser, case .failure(let error as NetworkingError) = result {
                #expect(error.isOfAnotherUser)
                #expect(error.kind == .unauthorized)
            }
            return
        }
        #expect(throws: Never.self) { try result.get() }
        #expect(scene.tokens.count > scene.countAtChange, "Not sent after the change: \(scene.tokens)")
        #expect(scene.tokens.last == "Bearer \(change.rawValue)")
    }
}

/// A change of the user while work waits; the raw value is the new token.
enum SignInChange: String, CaseIterable {
    case anotherUser = "bob"
    case signOut = "none"
    case refresh = "alice-refreshed"
    case sameUserAgain = "alice-again"

    var isOfSameUser: Bool {
        self == .refresh || self == .sameUserAgain
    }

    func make(in store: TokenStore<Networking.Session>) {
        switch self {
        case .anotherUser: store.set(Networking.Session(userID: "bob", accessToken: rawValue))
        case .signOut: store.remove()
        case .refresh: store.update(Networking.Session(accessToken: rawValue))
        case .sameUserAgain: store.set(Networking.Session(userID: "alice", accessToken: rawValue))
        }
    }
}

/// A stack with Alice's credentials, and the change that happens once while work waits.
final class Scene: NetworkEventObserver {
    typealias Responder = @Sendable (_ number: Int, HTTPRequestData) -> MockResponse

    let store = TokenStore(Networking.Session(userID: "alice", accessToken: "alice"))
    let clock = ManualClock()
    private let change: SignInChange
    private let state = Mutex(State())

    private struct State {
        var tokens: [String] = []
        var countAtChange: Int?
    }

    init(_ change: SignInChange) {
        self.change = change
    }

    /// The tokens of the requests that have arrived; "" for one without.
    var tokens: [String] {
        state.withLock { $0.tokens }
    }

    var hasChanged: Bool {
        state.withLock { $0.countAtChange != nil }
    }

    var countAtChange: Int {
        state.withLock { $0.countAtChange ?? 0 }
    }

    /// Changes the user, the first time that it is called.
    func changeUser() {
        let isFirst = state.withLock { state in
            defer { state.countAtChange = state.countAtChange ?? state.tokens.count }
            return state.countAtChange == nil
        }
        if isFirst {
            change.make(in: store)
        }
    }

    /// A transport with the credentials of the store; the responder gets the number of the request, from 1 on.
    func network(_ respond: @escaping Responder = { _, _ in .ok() }) -> AnyNetworkingComponent {
        let transport = MockTransport { [self] request in
            let number = state.withLock { state in
                state.tokens.append(request.headerFields[.authorization] ?? "")
                return state.tokens.count
            }
            return respond(number, request)
        }
        return AnyNetworkingComponent(transport.authenticated(with: store, at: ["api.example.com"]))
    }

    /// A request that changes the user when it waits.
    var request: HTTPRequestData {
        var request = plainRequest
        request.addObserver(self)
        return request
    }

    var plainRequest: HTTPRequestData {
        HTTPRequestData(scheme: "https", authority: "api.example.com", path: "/orders")
    }

    func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {
        if case WaitEvent.waiting = event {
            changeUser()
        }
    }
}

/// Work that waits or sends several requests.
struct Work: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Whether the work fails if its user is no longer signed in; otherwise it returns the response that it has.
    var fails = true
    let run: @Sendable (Scene) async throws -> Void

    init(_ name: String, fails: Bool = true, _ run: @escaping @Sendable (Scene) async throws -> Void) {
        testDescription = name
        self.fails = fails
        self.run = run
    }

    static let all = waits + repetitions + sequences + handles

    // MARK: First attempts that wait

    private static let waits = [
        Work("delayed(by:)") { scene in
            try await scene.network().delayed(by: .seconds(1)).immediate.data(scene.request)
        },
        Work("rateLimited(to:per:)") { scene in
            let network = scene.network().rateLimited(to: 1, per: .seconds(1)).timed(by: scene.clock)
            try await network.data(scene.plainRequest)
            try await scene.sendOnceTimePasses(over: network)
        },
        Work("throttled(max:)") { scene in
            let held = HeldResponse()
            let network = scene.network { number, _ in number == 1 ? .held(by: held) : .ok() }.throttled(max: 1)
            async let slow = network.data(scene.plainRequest)
            try await held.waitForRequests()
            let waiting = Task { try await network.data(scene.request) }
            try await eventually("the request waits") { scene.hasChanged }
            held.respond()
            _ = try await slow
            _ = try await waiting.value
        },
        Work("whenOffline(_:)") { scene in
            let connectivity = ManualConnectivity(.offline)
            let network = scene.network().whenOffline(.wait(upTo: .seconds(60)))
                .environment(\.connectivity, connectivity)
            let waiting = Task { try await network.data(scene.request) }
            try await eventually("the request waits") { scene.hasChanged }
            connectivity.update(.wifi)
            _ = try await waiting.value
        },
        Work("intercepted(by:)") { scene in
            try await scene.network().intercepted(by: Hesitating(scene: scene)).data(scene.request)
        },
        Work("intercepted(by:), a new request") { scene in
            try await scene.network().intercepted(by: Hesitating(scene: scene, isNew: true)).data(scene.request)
        },
        Work("a modifier of the app") { scene in
            let network = scene.network()
                .modified(
                    Sending { request, upstream in
                        scene.changeUser()
                        return try await upstream.send(request)
                    }
                )
            try await network.data(scene.request)
        },
        Work("deduplicated() around a wait") { scene in
            let network = scene.network().delayed(by: .seconds(1)).deduplicated().timed(by: scene.clock)
            async let first = network.data(scene.plainRequest)
            try await scene.clock.waitForSleepers()
            // It joins the exchange of the first, which both wait for.
            async let second = network.data(scene.request)
            try await eventually("the second request waits") { scene.hasChanged }
            scene.clock.advance(by: .seconds(1))
            _ = try await (first, second)
        },
        Work("typed value") { scene in
            let network = scene.network { _, _ in .json(text: "[1]") }.delayed(by: .seconds(1)).immediate
            _ = try await network.value(scene.request, as: [Int].self)
        },
        Work("a resolved request") { scene in
            let network = scene.network().delayed(by: .seconds(1)).immediate
            try await network.data(network.resolved(scene.request))
        },
    ]

    private struct Hesitating: RequestInterceptor {
        let scene: Scene
        var isNew = false

        func adapt(_ request: HTTPRequestData) async throws -> HTTPRequestData {
            scene.changeUser()
            return isNew ? scene.plainRequest : request
        }
    }

    // MARK: Requests that are sent again

    private static let repetitions = [
        Work("retry()", fails: false) { scene in
            let network = scene.network { number, _ in number == 1 ? .status(.serviceUnavailable) : .ok() }
            try await network.retry().immediate.data(scene.request)
        },
        Work("retry() around a limit that waits", fails: false) { scene in
            let network = scene.network { number, _ in number == 1 ? .status(.serviceUnavailable) : .ok() }
            let limited = network.rateLimited(to: 1, per: .seconds(1)).retry(.immediate()).timed(by: scene.clock)
            try await scene.sendOnceTimePasses(over: limited)
        },
        Work("retry() after an error of the app") { scene in
            struct AppError: Error {}
            let strategy = RetryAlways()
            let network = scene.network { number, _ in number == 1 ? .failure(AppError()) : .ok() }
                .rateLimited(to: 1, per: .seconds(1)).retry(.immediate().deciding(by: strategy)).timed(by: scene.clock)
            do {
                try await scene.sendOnceTimePasses(over: network)
            } catch is AppError {
                throw scene.plainRequest.isOfAnotherUser
            }
        },
        Work("redirected(_:)", fails: false) { scene in
            let network = scene.network { number, _ in
                guard number == 1 else { return .ok() }
                scene.changeUser()
                return .redirect(to: "/there")
            }
            try await network.redirected().data(scene.request)
        },
        Work("redirected(_:) around a limit that waits") { scene in
            let network = scene.network { number, _ in number == 1 ? .redirect(to: "/there") : .ok() }
            let limited = network.rateLimited(to: 1, per: .seconds(1)).redirected().timed(by: scene.clock)
            try await scene.sendOnceTimePasses(over: limited)
        },
        Work("authenticated(with:) after a 401", fails: false) { scene in
            let network = scene.network { number, _ in
                guard number == 1 else { return .ok() }
                scene.changeUser()
                return .status(.unauthorized)
            }
            try await network.data(scene.request)
        },
        Work("cached(in:), a validation in the background", fails: false) { scene in
            let gate = HeldResponse()
            let network =
                scene.network { number, request in
                    if request.path == "/slow" { return .held(by: gate) }
                    return .text("fresh").headerFields([.cacheControl: "max-age=1, stale-while-revalidate=60"])
                }
                .throttled(max: 1).cached().timed(by: scene.clock)
            try await network.data(scene.plainRequest)
            scene.clock.advance(by: .seconds(2))
            async let slow = network.data(scene.plainRequest.with(\.path, "/slow"))
            try await gate.waitForRequests()
            // The stored response is returned at once, and its validation waits for the permit.
            try await network.data(scene.plainRequest)
            scene.changeUser()
            gate.respond()
            _ = try await slow
            // The permit is free again when the validation has ended.
            _ = try? await network.data(scene.anonymousRequest)
            scene.forgetAnonymous()
        },
    ]

    private struct RetryAlways: RetryStrategy {
        func decide(about request: HTTPRequestData, after attempts: [Attempt]) async -> RetryDecision {
            attempts.count == 1 ? .retry : .giveUp
        }
    }

    // MARK: Sequences

    private static let sequences = [
        Work("events(_:), a later connection") { scene in
            let network =
                scene.network { number, _ in
                    number == 1 ? .events("id: 7\ndata: a\n\n") : .status(.noContent)
                }
                .immediate
            for try await _ in try await network.events(scene.request) {}
        },
        Work("pages(_:)") { scene in
            let network = scene.network { _, _ in .json(text: "[1]") }
            for try await page in scene.pages(over: network).responses where page.number == 1 {
                scene.changeUser()
            }
        },
        Work("pages(_:), of a rule with a new request") { scene in
            let network = scene.network { _, _ in .json(text: "[1]") }
            let rule = PageRule<[Int]>
                .custom { _, response, _ in
                    let next = HTTPRequestData(scheme: "https", authority: "api.example.com", path: "/orders/2")
                    return response.url?.path == "/orders" ? next : nil
                }
            for try await _ in network.pages(Request<[Int]>(scene.plainRequest), next: rule) {
                scene.changeUser()
            }
        },
        Work("elements(_:)") { scene in
            let network = scene.network { _, _ in .json(text: "[1, 2]") }
            for try await _ in scene.pages(over: network).elements({ $0 }) {
                scene.changeUser()
            }
        },
        Work("download(_:), a part after another", fails: false) { scene in
            let body = Data("0123456789".utf8)
            let network = scene.network { number, request in
                guard number > 1 else {
                    scene.changeUser()
                    return .chunks(
                        ["0123", .failure(NetworkingError(.connectionLost, request: request))],
                        headerFields: [.eTag: "\"1\"", .contentLength: "10"]
                    )
                }
                return MockResponse(
                    status: .partialContent,
                    data: body.dropFirst(4),
                    headerFields: [.eTag: "\"1\"", .contentRange: "bytes 4-9/10"]
                )
            }
            try await withTemporaryDirectory { directory in
                do {
                    try await network.retry().immediate
                        .download(scene.request, to: directory.appending(path: "file"))
                } catch let error as NetworkingError where error.retryRefusal == .anotherUser {
                    // The file is not complete.
                    #expect(!FileManager.default.fileExists(atPath: directory.appending(path: "file").path))
                }
            }
        },
        Work("download(_:), small parts") { scene in
            let body = Data("0123456789".utf8)
            let network = scene.network { number, request in
                guard number > 1 else {
                    return .chunks(
                        ["0123", .failure(NetworkingError(.connectionLost, request: request))],
                        headerFields: [.eTag: "\"1\"", .contentLength: "10"]
                    )
                }
                if number == 2 { scene.changeUser() }
                let range = number == 2 ? 4..<7 : 7..<10
                return MockResponse(
                    status: .partialContent,
                    data: body[range],
                    headerFields: [
                        .eTag: "\"1\"", .contentRange: "bytes \(range.lowerBound)-\(range.upperBound - 1)/10",
                    ]
                )
            }
            try await withTemporaryDirectory { directory in
                let file = directory.appending(path: "file")
                _ = try? await network.download(scene.plainRequest, to: file)
                try await network.download(scene.plainRequest, to: file)
            }
        },
        Work("storedThenFresh(_:)") { scene in
            let network =
                scene.network { number, _ in
                    .text("\(number)").headerFields([.cacheControl: "max-age=60"])
                }
                .cached()
            try await network.data(scene.plainRequest)
            for try await response in network.storedThenFresh(scene.plainRequest) where response.isCached {
                scene.changeUser()
            }
        },
        Work("storedThenFresh(_:), typed") { scene in
            let network =
                scene.network { number, _ in
                    .json(text: "[\(number)]").headerFields([.cacheControl: "max-age=60"])
                }
                .cached()
            try await network.data(scene.plainRequest)
            let request = Request<[Int]>(scene.plainRequest)
            for try await (_, response) in network.storedThenFresh(request) where response.isCached {
                scene.changeUser()
            }
        },
        Work("a list of the app") { scene in
            let network = scene.network()
            let first = network.notingUsers(of: scene.plainRequest)
            try await network.data(first)
            scene.changeUser()
            try await network.data(scene.plainRequest.with(path: "orders/2").keepingUsers(of: first))
        },
    ]

    // MARK: Handles

    private static let handles = [
        Work("prepare(_:)") { scene in
            let call = scene.network().prepare(scene.request)
            scene.changeUser()
            _ = try await call.value
        },
        Work("transfer(_:)") { scene in
            let transfer = scene.network().delayed(by: .seconds(1)).immediate.transfer(scene.request)
            _ = try await transfer.value
        },
        Work("transfer(downloading:), after a pause") { scene in
            let gate = MockGate()
            let network = scene.network { number, _ in
                number == 1 ? .chunks(["01234", .wait(for: gate), "56789"]) : .ok(Data("0123456789".utf8))
            }
            try await withTemporaryDirectory { directory in
                let file = directory.appending(path: "file")
                let transfer = network.transfer(downloading: scene.plainRequest, to: file)
                try await eventually("the request is sent") { !scene.tokens.isEmpty }
                await transfer.pause()
                scene.changeUser()
                transfer.resume()
                _ = try await transfer.value
            }
        },
        Work("data(_:queue:)") { scene in
            let network = scene.network().delayed(by: .seconds(1)).immediate
            _ = try await withCheckedThrowingContinuation { continuation in
                _ = network.callback(queue: .global()) {
                    try await $0.data(scene.request)
                } completion: {
                    continuation.resume(with: $0)
                }
            }
        },
        Work("Outbox", fails: false) { scene in
            let network = scene.network()
                .modified(
                    Sending { request, upstream in
                        scene.changeUser()
                        return try await upstream.send(request)
                    }
                )
            try await scene.sendFromAnOutbox(over: network, with: ManualConnectivity())
        },
        Work("Outbox, a 401 after the change", fails: false) { scene in
            let network = scene.network { number, _ in
                guard number == 1 else { return .ok() }
                scene.changeUser()
                return .status(.unauthorized)
            }
            try await scene.sendFromAnOutbox(over: network, with: ManualConnectivity())
        },
        Work("Outbox, an error of the app after the change", fails: false) { scene in
            struct NotSignedIn: Error {}
            let network = scene.network()
                .modified(
                    Sending { request, upstream in
                        scene.changeUser()
                        do {
                            return try await upstream.send(request)
                        } catch is NetworkingError {
                            throw NotSignedIn()
                        }
                    }
                )
            try await scene.sendFromAnOutbox(over: network, with: ManualConnectivity())
        },
        Work("Outbox, during the check of the network", fails: false) { scene in
            try await scene.sendFromAnOutbox(over: scene.network(), with: ChangingConnectivity(scene: scene))
        },
    ]

    private struct ChangingConnectivity: Connectivity {
        let scene: Scene

        var status: ConnectivityStatus? {
            scene.changeUser()
            return .wifi
        }

        var changes: AsyncStream<ConnectivityStatus> {
            AsyncStream { $0.finish() }
        }
    }
}

extension NetworkingComponent {
    fileprivate func timed(by clock: ManualClock) -> AnyNetworkingComponent {
        AnyNetworkingComponent(environment(\.clock, .manual(clock)))
    }

    fileprivate var immediate: AnyNetworkingComponent {
        AnyNetworkingComponent(environment(\.clock, .immediate()))
    }
}

extension Scene {
    /// Sends a request that changes the user when it waits, and ends that wait.
    fileprivate func sendOnceTimePasses(over network: some NetworkingComponent) async throws {
        async let response = network.data(request)
        try await eventually("the request waits") { hasChanged && clock.nextDeadline != nil }
        clock.advance(by: .seconds(1))
        _ = try await response
    }

    fileprivate func sendFromAnOutbox(
        over network: some NetworkingComponent,
        with connectivity: some Connectivity
    ) async throws {
        let outbox = Outbox(in: MemoryOutboxStore(), over: network)
        var environment = NetworkEnvironment.current
        environment.connectivity = connectivity
        try await withEnvironment(environment) {
            try await outbox.enqueue(plainRequest.with(\.method, .post))
            _ = try await outbox.flush()
        }
        let entries = try await outbox.entries()
        if tokens.count == countAtChange {
            // The entry waits for its user.
            #expect(entries.map(\.progress.isDead) == [false])
            // The attempt says nothing about the entry.
            #expect(entries.map(\.progress.attempts) == [0])
            #expect(entries.map(\.progress.lastFailure) == [nil])
        } else {
            #expect(entries.isEmpty)
        }
    }

    fileprivate func pages(over network: some NetworkingComponent) -> PageSequence<[Int]> {
        let rule = PageRule<[Int]>
            .custom { _, _, request in
                request.path == "/orders" ? request.with(path: "orders/2") : nil
            }
        return network.pages(Request<[Int]>(plainRequest), next: rule)
    }

    fileprivate var anonymousRequest: HTTPRequestData {
        plainRequest.with(\.path, "/other").with(\.authenticationMethod, .anonymous)
    }

    /// Removes the request of a test that was sent without credentials on purpose.
    fileprivate func forgetAnonymous() {
        state.withLock { $0.tokens.removeAll { $0.isEmpty } }
    }
}
