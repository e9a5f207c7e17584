import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

extension NetworkingComponent {
    func brandedRequests() -> some NetworkingComponent {
        modified("Branded") { request, upstream in
            var request = request
            request.headerFields[.userAgent] = "Shop/2"
            return try await upstream.send(request)
        }
    }
}

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

struct FallingBack: NetworkingModifier {
    let data: Data

    func send(
        _ request: HTTPRequestData,
        upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        do {
            return try await upstream.send(request)
        } catch let error as NetworkingError where error.isOffline {
            return HTTPResponseData(request: request, data: data)
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
                reason: "The data plan is used up: \(plan.used) of \(allowance) bytes."
            )
        }
        let response = try await upstream.send(request)
        plan.use(response.body.count)
        request.emit(DataPlanEvent.used(response.body.count))
        return response
    }

    var description: String {
        "metered(allowance: \(allowance))"
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

extension Wait {
    static let courtesy = Wait("courtesy", isTimed: true)
}

struct Courteous: NetworkingModifier {
    let pause: Duration

    func send(
        _ request: HTTPRequestData,
        upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        try await request.wait(.courtesy, for: pause)
        return try await upstream.send(request)
    }
}

struct ReplyExpected: NetworkingModifier {
    let limit: Duration

    func send(
        _ request: HTTPRequestData,
        upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        let clock = NetworkEnvironment.current.clock
        return try await upstream.send(request, until: clock.now + limit, on: clock) { error in
            NetworkingError(
                .timeout,
                request: request,
                underlying: error,
                reason: "There was no reply within \(limit). Check the connection to the device."
            )
        }
    }
}

struct NumberedTrace: RequestTrace, NetworkEventObserver {
    let number: Int

    var id: (any CustomStringConvertible & Sendable)? { number }

    func startNewTrace(_ request: inout HTTPRequestData) {
        let trace = NumberedTrace(number: Int.random(in: 1...999_999))
        request.mark(asTracedBy: trace)
        request.addObserver(trace)
    }

    var observesEvents: Bool { false }

    func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {}

    func headerFields(forAttempt request: HTTPRequestData) -> HTTPFields {
        [HTTPField.Name("X-Trace")!: "\(number)"]
    }
}

struct NumberTraced: NetworkingModifier {
    let number: Int

    func send(
        _ request: HTTPRequestData,
        upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        guard request.trace == nil else { return try await upstream.send(request) }
        var traced = request
        let trace = NumberedTrace(number: number)
        traced.mark(asTracedBy: trace)
        traced.addObserver(trace)
        return try await upstream.send(traced)
    }
}

final class Line: Sendable {
    private let (replies, continuation) = AsyncStream<Data>.makeStream()

    func reply() async throws -> Data {
        for await reply in replies { return reply }
        throw CancellationError()
    }

    func hangUp() {
        continuation.finish()
    }
}

struct LineTransport: NetworkingTransport {
    let line: Line

    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        let alarm = request.exchangeLimit?.alarm { line.hangUp() }
        defer { alarm?.cancel() }
        return HTTPResponseData(request: request, data: try await line.reply())
    }

    func enforcesLimit(of request: HTTPRequestData) -> Bool {
        true
    }
}

struct Attested: UpstreamLimited {
    let attest: @Sendable () async throws -> String

    func send(
        _ request: HTTPRequestData,
        upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        var request = request
        let attestation =
            if let limit = request.exchangeLimit {
                try await limit.run { try await attest() }
            } else {
                try await attest()
            }
        try request.exchangeLimit?.check()
        request.headerFields[HTTPField.Name("X-Attestation")!] = attestation
        return try await upstream.send(request)
    }
}

extension StackRole {
    static let metering = StackRole("metering")
}

extension Metered {
    var stackPart: StackPart {
        StackPart(
            roles: [.metering],
            options: [.isUrgent],
            rules: [
                .notOutside(
                    .caching,
                    "is outside cached, so it counts cached responses. Put it inside."
                )
            ]
        )
    }
}

extension RequestOptionKey {
    static let isUrgent = RequestOption("isUrgent", default: false, affects: .nothing)
}

extension HTTPRequestData {
    var isUrgent: Bool {
        get { self[.isUrgent] }
        set { self[.isUrgent] = newValue }
    }
}

enum DataPlanEvent: NetworkEvent {
    case used(Int64)

    var record: EventRecord {
        switch self {
        case .used(let count):
            EventRecord(
                "dataPlanUsed",
                "\(count) bytes",
                attributes: ["shop.plan.bytes": .number(Double(count))]
            )
        }
    }
}

struct DemoTransport: NetworkingTransport {
    let documents: [String: String]

    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        guard let document = documents[request.path ?? "/"] else {
            return HTTPResponseData(request: request, status: .notFound)
        }
        return HTTPResponseData(
            request: request,
            headerFields: [.contentType: "application/json"],
            data: Data(document.utf8)
        )
    }
}

protocol SecureConnection: Sendable {
    /// The certificates of the server, its own first. The client of the transport has validated them.
    var certificates: [Certificate] { get }

    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData
}

struct PinnedTransport: NetworkingTransport {
    typealias Connect = @Sendable (HTTPRequestData, ClientIdentity?) async throws -> any SecureConnection

    let trust: ServerTrust
    let connect: Connect

    init(trust: ServerTrust, connect: @escaping Connect) throws(ServerTrustError) {
        guard trust.roots == .system, trust.minimumTLSVersion == .v12 else {
            throw ServerTrustError("PinnedTransport has the authorities of the system and TLS 1.2.")
        }
        self.trust = trust
        self.connect = connect
    }

    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        let host = try trust.hostTrust(for: request)
        let identity = host?.identityIndex.map { trust.clientIdentities[$0] }
        let connection = try await connect(request, identity)
        if let host, let mismatch = host.mismatch(with: connection.certificates) {
            guard host.pins?.mode == .reportOnly else {
                request.emit(TrustEvent.mismatchRefused(mismatch))
                throw NetworkingError(mismatch, request: request)
            }
            request.emit(TrustEvent.mismatchReported(mismatch))
        }
        return try await connection.exchange(request)
    }

    var stackPart: StackPart { StackPart(rules: trust.rules) }
}

struct DemoConnection: SecureConnection {
    let certificates: [Certificate]

    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        HTTPResponseData(request: request, data: Data("demo".utf8))
    }
}

final class SmallStore: CacheStore {
    let entryCostLimit = 64 << 10
    let maximumKeys: Int
    private let state = Mutex<[CacheKey: [CachedEntry]]>([:])

    init(maximumKeys: Int) {
        self.maximumKeys = maximumKeys
    }

    func entries(for key: CacheKey) -> [CachedEntry] {
        state.withLock { $0[key] ?? [] }
    }

    func store(_ entry: CachedEntry, for key: CacheKey) -> Int {
        state.withLock { entries in
            var evicted = 0
            let isFull = entries[key] == nil && entries.count >= maximumKeys
            if isFull, let other = entries.keys.first {
                evicted = entries.removeValue(forKey: other)?.count ?? 0
            }
            entries[key, default: []].removeAll { $0.id == entry.id }
            entries[key, default: []].append(entry)
            return evicted
        }
    }

    func remove(_ id: CachedEntry.ID?, for key: CacheKey) {
        state.withLock { entries in
            let kept = id == nil ? [] : (entries[key] ?? []).filter { $0.id != id }
            entries[key] = kept.isEmpty ? nil : kept
        }
    }

    func removeAll(where isUnwanted: @Sendable (CacheKey) -> Bool) {
        state.withLock { entries in
            entries = entries.filter { !isUnwanted($0.key) }
        }
    }
}

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct ExtendingGuide {
    @Test func keepsTheLaws() async throws {
        try await checkLaws(of: LanguageSet(language: "nl"))
        try await checkLaws(of: FallingBack(data: Data()))
        try await checkLaws(of: Metered(plan: DataPlan(), allowance: 1_000))
    }

    @Test func sendsUrgentRequestsWhenThePlanIsUsedUp() async throws {
        let transport = MockTransport([.text("twelve bytes"), .text("urgent")])
        let network = transport.modified(Metered(plan: DataPlan(), allowance: 10))
        let request = HTTPRequestData(authority: "api.example.com")
        var urgent = request
        urgent.isUrgent = true

        _ = try await network.data(request)
        let error = await #expect(throws: NetworkingError.self) {
            try await network.data(request)
        }
        #expect(error?.kind == .rejected)

        _ = try await network.data(urgent)
        #expect(transport.requests.count == 2)
    }

    @Test func reportsMeteredOutsideCached() {
        let metered = Metered(plan: DataPlan(), allowance: 1_000)
        let network = MockTransport().cached().modified(metered)
        #expect(network.diagnostics.map(\.modifier) == ["metered(allowance: 1000)"])
        #expect(MockTransport().modified(metered).cached().diagnostics.isEmpty)

        var request = HTTPRequestData(authority: "api.example.com")
        request.isUrgent = true
        #expect(network.diagnostics(for: request).isEmpty)
        #expect(MockTransport().diagnostics(for: request).map(\.option) == [.isUrgent])
    }

    @Test func reportsTheBytesOfTheDataPlan() async throws {
        let journal = Journal()
        let network = MockTransport([.text("twelve bytes")])
            .modified(Metered(plan: DataPlan(), allowance: 1_000))
            .observed { event, _ in
                if case DataPlanEvent.used(let count) = event {
                    journal.note("\(count) bytes")
                }
            }

        _ = try await network.data(HTTPRequestData(authority: "api.example.com"))
        #expect(journal.entries == ["12 bytes"])
    }

    @Test func demoTransportReturnsItsDocuments() async throws {
        let transport = DemoTransport(documents: ["/users/42": #"{"id":42}"#])
        let network = transport.checkedStatusCode().server(authority: "demo.example.com")

        let response = try await network.data(HTTPRequestData(path: "users/42"))
        #expect(response.data == Data(#"{"id":42}"#.utf8))
        await #expect(throws: NetworkingError.self) { try await network.data(HTTPRequestData(path: "users/1")) }

        try await checkLaws(of: transport, sending: HTTPRequestData(authority: "demo.example.com", path: "/users/42"))
    }

    @Test func sendsNothingToAServerWithAnotherKey() async throws {
        let pin: CertificatePin = "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
        let trust = ServerTrust(pins: [HostPins("api.example.com", pins: [pin])])
        let transport = try PinnedTransport(trust: trust) { _, _ in DemoConnection(certificates: []) }
        let network = transport.server(authority: "api.example.com")

        let error = await #expect(throws: NetworkingError.self) { try await network.data(.get("users/42")) }
        #expect(error?.pinMismatch?.expected == [pin])
        #expect(network.diagnostics.map(\.modifier) == ["PinnedTransport"])  // a single pin, without a backup

        let other = HTTPRequestData(authority: "other.example.com")
        #expect(try await transport.data(other).text == "demo")
    }

    @Test func pinnedTransportAcceptsItsPinsAndReportsOthers() async throws {
        let url = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Certificates/trusted.pem")
        let certificates = try Certificate.contents(of: url)
        let other: CertificatePin = "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
        let identity = ClientIdentity(pkcs12: Data(), password: "", for: "api.example.com")
        let pins = [
            HostPins("api.example.com", certificates: certificates),
            HostPins("reported.example.com", pins: [other], mode: .reportOnly),
        ]
        let presented = Journal()
        let reports = Journal()
        let transport = try PinnedTransport(trust: ServerTrust(pins: pins, clientIdentities: [identity])) {
            presented.note($1.map { "\($0.source)" } ?? "none")
            return DemoConnection(certificates: certificates)
        }
        let network = transport.observed { event, _ in
            if case TrustEvent.mismatchReported(let mismatch) = event {
                reports.note(mismatch.host)
            }
        }
        for host in ["api.example.com", "reported.example.com"] {
            #expect(try await network.data(HTTPRequestData(authority: host)).text == "demo")
        }
        #expect(presented.entries == ["pkcs12", "none"])
        #expect(reports.entries == ["reported.example.com"])
        #expect(throws: ServerTrustError.self) {
            try PinnedTransport(trust: ServerTrust(minimumTLSVersion: .v13)) { _, _ in DemoConnection(certificates: [])
            }
        }
    }

    @Test func smallStoreKeepsTheLastKeys() async throws {
        let transport = MockTransport { _ in .text("a day").headerFields([.cacheControl: "max-age=86400"]) }
        let network = transport.cached(in: SmallStore(maximumKeys: 1)).server(authority: "api.example.com")

        _ = try await network.data(HTTPRequestData(path: "users"))
        #expect(try await network.data(HTTPRequestData(path: "users")).isCached)

        _ = try await network.data(HTTPRequestData(path: "orders"))
        #expect(try await network.data(HTTPRequestData(path: "users")).isCached == false)
        #expect(transport.requests.count == 3)
    }

    @Test func brandsRequests() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = transport.brandedRequests()
        try await network.data(HTTPRequestData(authority: "api.example.com"))
        #expect(transport.requests.map { $0.headerFields[.userAgent] } == ["Shop/2"])
        #expect(network.outline.hasPrefix("Branded\n"))
    }

    @Test func setsTheLanguage() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = transport.languageSet(to: "nl")
        #expect(network.resolved(HTTPRequestData(path: "/")).headerFields[.acceptLanguage] == "nl")
    }

    @Test func fallsBackWithoutANetwork() async throws {
        let request = HTTPRequestData(authority: "api.example.com")
        let offline = MockTransport([.failure(NetworkingError(.offline, request: request))])
        let network = offline.modified(FallingBack(data: Data("from yesterday".utf8)))
        #expect(try await network.data(request).data.count == 14)
    }

    @Test func notesSlowCalls() async throws {
        try await checkLaws(of: SlowCallsNoted(limit: .seconds(1)))
        let transport = MockTransport([.ok().delayed(by: .seconds(2))])
        let notes = Notes()
        let network = transport.modified(SlowCallsNoted(limit: .seconds(1))).observed(by: notes)
            .environment(\.clock, .immediate())
        _ = try await network.data(HTTPRequestData(authority: "api.example.com"))
        #expect(notes.texts.count == 1)
        #expect(notes.texts.first?.hasPrefix("slow: 2") == true)
    }

    @Test func courteousReportsItsWait() async throws {
        let recorder = EventRecorder()
        let network = MockTransport { _ in .ok() }.modified(Courteous(pause: .seconds(2)))
            .observed(by: recorder)
            .environment(\.clock, .immediate())

        _ = try await network.data(HTTPRequestData(authority: "api.example.com"))
        let waits = recorder.events.filter { $0 is WaitEvent }
        #expect(waits.map(\.description) == ["waiting(courtesy, 2.0 seconds)", "waited(courtesy, 2.0 seconds)"])
    }

    @Test func replyExpectedEndsASilentExchange() async throws {
        let clock = ManualClock()
        let transport = MockTransport { _ in .never }
        let network = transport.modified(ReplyExpected(limit: .seconds(2))).environment(\.clock, .manual(clock))

        async let response = network.data(HTTPRequestData(authority: "api.example.com"))
        try await clock.advance(by: .seconds(2), afterSleepers: 1)
        do {
            _ = try await response
            Issue.record("The call returned a response after its time limit.")
        } catch let error as NetworkingError {
            #expect(error.kind == .timeout)
        }
        #expect(transport.cancelled == 1)
    }

    @Test func outermostTraceApplies() async throws {
        let transport = MockTransport([.status(.serviceUnavailable), .ok()])
        let network = transport.traced().retry(.immediate()).modified(NumberTraced(number: 7))

        _ = try await network.data(HTTPRequestData(authority: "api.example.com"))
        #expect(transport.requests.map { $0.headerFields[HTTPField.Name("X-Trace")!] } == ["7", "7"])
        #expect(transport.requests.allSatisfy { $0.headerFields[HTTPField.Name("traceparent")!] == nil })
    }

    @Test func lineTransportHangsUpAtItsTimeLimit() async throws {
        let clock = ManualClock()
        let network = LineTransport(line: Line()).timeout(.seconds(5)).environment(\.clock, .manual(clock))

        async let response = network.data(HTTPRequestData(authority: "api.example.com"))
        try await clock.advance(by: .seconds(5), afterSleepers: 1)
        do {
            _ = try await response
            Issue.record("The call returned a response after its time limit.")
        } catch let error as NetworkingError {
            #expect(error.kind == .timeout)
        }
    }

    @Test func attestationEndsAtTheTimeLimit() async throws {
        let clock = ManualClock()
        let attested = Attested {
            try await NetworkEnvironment.current.clock.sleep(for: .seconds(8))
            return "A1"
        }
        let transport = PromptTransport { request in
            #expect(request.headerFields[HTTPField.Name("X-Attestation")!] == "A1")
            return HTTPResponseData(request: request)
        }
        let network = transport.modified(attested).environment(\.clock, .manual(clock))
        let request = HTTPRequestData(authority: "api.example.com")

        let unlimited = Task { try await network.data(request) }
        try await clock.advance(by: .seconds(8), afterSleepers: 1)
        _ = try await unlimited.value
        let limited = network.timeout(.seconds(9)).environment(\.clock, .manual(clock))
        let prompt = Task { try await limited.data(request) }
        try await clock.advance(by: .seconds(8), afterSleepers: 2)
        _ = try await prompt.value
        let short = network.timeout(.seconds(5)).environment(\.clock, .manual(clock))
        let late = Task { try await short.data(request) }
        try await clock.advance(by: .seconds(5), afterSleepers: 2)
        let error = await #expect(throws: NetworkingError.self) { try await late.value }
        #expect(error?.kind == .timeout)
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
