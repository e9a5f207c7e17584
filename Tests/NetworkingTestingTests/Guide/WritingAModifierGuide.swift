import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

struct LanguageSet: NetworkingModifier {
    let language: String

    func resolve(_ request: inout HTTPRequestData) {
        request.headerFields[.acceptLanguage] = language
    }
}

extension NetworkingComponent {
    func languageSet(to language: String) -> some NetworkingComponent {
        modified(LanguageSet(language: language))
    }
}

struct FallingBack<Fallback: NetworkingComponent>: NetworkingModifier {
    let fallback: Fallback

    func send(
        _ request: HTTPRequestData,
        upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        do {
            return try await upstream.send(request)
        } catch let error as NetworkingError where error.isOffline {
            return try await fallback.send(request)
        }
    }
}

final class DataPlan: Sendable {
    private let state = Mutex<Int64>(0)

    var used: Int64 {
        state.withLock { $0 }
    }

    func use(_ count: Int64) {
        state.withLock { $0 += count }
    }
}

struct Metered: NetworkingModifier, CustomStringConvertible {
    let plan: DataPlan
    let allowance: Int64

    func send(
        _ request: HTTPRequestData,
        upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        guard request.isUrgent || plan.used < allowance else {
            throw NetworkingError(
                .rejected,
                request: request,
                reason: "The data plan is used up: \(plan.used) of \(allowance) bytes. Mark it urgent, or wait."
            )
        }
        let response = try await upstream.send(request)
        plan.use(response.body.count)
        return response
    }

    var description: String {
        "metered(allowance: \(allowance))"
    }
}

enum Urgency: RequestOption {
    static let defaultValue = false
}

extension HTTPRequestData {
    var isUrgent: Bool {
        get { self[option: Urgency.self] }
        set { self[option: Urgency.self] = newValue }
    }
}

struct SlowCallsNoted: NetworkingModifier {
    let limit: Duration

    func send(
        _ request: HTTPRequestData,
        upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        let clock = NetworkEnvironment.current.clock
        let start = clock.now
        let response = try await upstream.send(request)
        if clock.now - start > limit {
            request.emit(NetworkNote("slow: \(clock.now - start)"))
        }
        return response
    }
}

extension StackRole {
    static let metering = StackRole("metering")
}

extension Metered {
    var roles: Set<StackRole> { [.metering] }
    var requestOptions: Set<RequestOptionKey> { [RequestOptionKey(Urgency.self)] }

    func diagnostics(in stack: StackPlace) -> [StackDiagnostic] {
        guard stack.isOutside(.caching) else { return [] }
        return [
            StackDiagnostic("\(self) is outside cached, so it counts cached responses. Put it inside.", about: self)
        ]
    }
}

@Suite(.tags(.concurrency), .timeLimit(.minutes(5)))
struct WritingAModifierGuide {
    @Test func keepsTheLaws() async throws {
        try await checkLaws(of: LanguageSet(language: "nl"))
        try await checkLaws(of: FallingBack(fallback: UnimplementedTransport()))
        try await checkLaws(of: Metered(plan: DataPlan(), allowance: 1_000))
        try await checkLaws(of: SlowCallsNoted(limit: .seconds(1)))
    }

    @Test func aPlanThatIsUsedUpLetsUrgentRequestsThrough() async throws {
        let transport = MockTransport([.text("twelve bytes"), .text("urgent")])
        let network = transport.modified(Metered(plan: DataPlan(), allowance: 10))
        let request = HTTPRequestData(authority: "api.example.com")
        var urgent = request
        urgent.isUrgent = true

        _ = try await network.data(request)
        let error = await #expect(throws: NetworkingError.self) { try await network.data(request) }
        #expect(error?.kind == .rejected)

        _ = try await network.data(urgent)
        #expect(transport.requests.count == 2)
    }

    @Test func reportsAPlaceOutsideACache() {
        let metered = Metered(plan: DataPlan(), allowance: 1_000)
        let network = MockTransport().cached().modified(metered)
        #expect(network.diagnostics.map(\.modifier) == ["metered(allowance: 1000)"])
        #expect(MockTransport().modified(metered).cached().diagnostics.isEmpty)

        var request = HTTPRequestData(authority: "api.example.com")
        request.isUrgent = true
        #expect(network.diagnostics(for: request).isEmpty)
        #expect(MockTransport().diagnostics(for: request).map(\.option) == [RequestOptionKey(Urgency.self)])
    }

    @Test func rewritesWhatItSays() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = transport.languageSet(to: "nl")
        #expect(network.resolved(HTTPRequestData(path: "/")).headerFields[.acceptLanguage] == "nl")
    }

    @Test func fallsBackWhereThereIsNoNetwork() async throws {
        let request = HTTPRequestData(authority: "api.example.com")
        let offline = MockTransport([.failure(NetworkingError(.offline, request: request))])
        let fallback = MockTransport([.text("from yesterday")])
        let network = offline.modified(FallingBack(fallback: fallback))
        #expect(try await network.data(request).data.count == 14)
    }

    @Test func notesWhatIsSlow() async throws {
        let transport = MockTransport([.ok().delayed(by: .seconds(2))])
        let notes = Notes()
        let network = transport.modified(SlowCallsNoted(limit: .seconds(1))).observed(by: notes)
            .environment(\.clock, .immediate())
        _ = try await network.data(HTTPRequestData(authority: "api.example.com"))
        #expect(notes.texts.count == 1)
        #expect(notes.texts.first?.hasPrefix("slow: 2") == true)
    }
}

private final class Notes: NetworkEventObserver {
    private let state = Mutex<[String]>([])

    var texts: [String] {
        state.withLock { $0 }
    }

    func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {
        guard let note = event as? NetworkNote else { return }
        state.withLock { $0.append(note.text) }
    }
}
