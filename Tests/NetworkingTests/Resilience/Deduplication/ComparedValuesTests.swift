import Foundation
import HTTPTypes
import Logging
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingCore
@testable import NetworkingMocking
@testable import NetworkingResilience
@testable import NetworkingTraffic

/// Each option, setting, state and environment value of the library has a decision whether requests that differ in it
/// share a response.
@Suite
struct ComparedValuesTests {
    /// The effect of a value on requests that differ only in it.
    enum Effect {
        /// They share exchanges and stored responses.
        case none
        /// They share stored responses, but no exchanges.
        case sending
        /// They share neither.
        case responses
    }

    typealias Change = @Sendable (inout HTTPRequestData) -> Void

    private final class SilentWaitObserver: WaitObserver {
        func requestWaits() {}
    }

    /// The options, by their names; without a change if another module of tests has the test.
    private static let options: [String: (effect: Effect, change: Change?)] = [
        "acceptedStatuses": (.sending, { $0.acceptedStatuses = [404] }),
        "allowsFaults": (.sending, { $0.allowsFaults = false }),
        "allowsPostFallback": (.sending, { $0.allowsPostFallback = false }),
        "allowsPlaintextCredentials": (.sending, { $0.allowsPlaintextCredentials = true }),
        "assumesHTTP3": (.sending, { $0.assumesHTTP3 = true }),
        "attempt": (.none, { $0.attempt = 2 }),
        "retryTerms": (
            .none, { $0.retryTerms = .init(attemptsLeft: 1, budget: .unlimited, rules: .init(.immediate())) }
        ),
        "authenticationMethod": (.sending, { $0.authenticationMethod = .anonymous }),
        "cacheMode": (.sending, { $0.cacheMode = .reload }),
        "callsOfNext": (.none, nil),
        "client": (.responses, nil),
        "clockReading": (.none, nil),
        "connectTimeout": (.sending, { $0.connectTimeout = .seconds(1) }),
        "contentDecoders": (.sending, { $0.contentDecoders = [ContentCoding("br")] }),
        "cookieSession": (.none, { $0.cookieSession = "a" }),
        "deadline": (.sending, { $0.deadline = .seconds(1) }),
        "decompressionLimit": (.sending, { $0.decompressionLimit = .none }),
        "endpointVisits": (.none, { $0.endpointVisits = EndpointVisits() }),
        "fallsBack": (.sending, { $0.fallsBack = true }),
        "formerOrigins": (.sending, { $0.formerOrigins = [["https", "a.example"]] }),
        "headTimeout": (.sending, { $0.headTimeout = .seconds(1) }),
        "idleTimeout": (.sending, { $0.idleTimeout = .seconds(1) }),
        "isDeduplicated": (.none, { $0.isDeduplicated = false }),
        "isHedged": (.sending, { $0.isHedged = false }),
        "isIdempotent": (.sending, { $0.isIdempotent = true }),
        "isThrottled": (.sending, { $0.isThrottled = false }),
        "isTraceSampled": (.none, { $0.isTraceSampled = false }),
        "logDetail": (.none, { $0.logDetail = .off }),
        "maximumBufferedBytes": (.none, { $0.maximumBufferedBytes = 1 }),
        "maximumResponseBytes": (.sending, { $0.maximumResponseBytes = 1 }),
        "networkAccess": (.sending, { $0.allowsCellularAccess = false }),
        "offeredSchemes": (.sending, { $0.offer("digest") }),
        "offlinePolicy": (.sending, { $0.offlinePolicy = .fail }),
        "pathParameters": (.none, { $0.pathParameters = ["id": "1"] }),
        "priority": (.sending, { $0.priority = .high }),
        "rateLimitWeight": (.none, { $0.rateLimitWeight = 2 }),
        "refusedResponse": (.none, nil),
        "replacesQuery": (.sending, { $0.replacesQuery = true }),
        // The request itself is compared.
        "requestForFallback": (.none, nil),
        "requiresStoredResponse": (.sending, { $0.requiresStoredResponse = true }),
        "retryPolicy": (.sending, { $0.retryPolicy = .never }),
        "route": (.none, { $0.route = "/users/{id}" }),
        "serverMutations": (.sending, { $0.serverMutations = .disabled }),
        "spanningDeadline": (.none, nil),
        "timeout": (.sending, { $0.timeout = .seconds(1) }),
        "usesCookieJar": (.responses, { $0.usesCookieJar = false }),
        "waitObserver": (.none, { $0.waitObserver = SilentWaitObserver() }),
        "waitsForPermits": (.sending, { $0.waitsForPermits = false }),
        "withheldCredentials": (.none, { $0.withheldCredentials = ["Cookie"] }),
    ]

    /// The settings, by the names of the properties.
    private static let settings: [String: (effect: Effect, change: Change)] = [
        "allowedSilence": (.sending, { $0.allowedSilence = .seconds(300) }),
        "redirects": (.sending, { $0.redirects = .never }),
        "progressHandler": (.sending, { $0.progressHandler = { _ in } }),
        "sink": (.none, { $0.sink = CollectingSink() }),
        "decoder": (.none, { $0.decoder = nil }),
        "observers": (.sending, { $0.addObserver(EventRecorder()) }),
        "secretQueryItems": (.none, { $0.settings.secretQueryItems = ["a"] }),
        "secretValues": (.none, { $0.markSecret("secret") }),
        // The options.
        "custom": (.none, { $0.settings.custom = TypedValues() }),
        // The options of a stored request.
        "unread": (.responses, { $0.settings.unread["a"] = StoredOption(value: "1", affects: .responses) }),
    ]

    /// The states of a request's message, by their names.
    ///
    /// A request with such a segment or path is refused.
    private static let states: [String: (effect: Effect, state: HTTPRequestData.State)] = [
        "isChecked": (.none, .isChecked),
        "hasInvalidSegment": (.none, .hasInvalidSegment),
        "hasSchemeInPath": (.none, .hasSchemeInPath),
    ]

    /// The fields of the passage through a stack, by their names.
    private static let passage: [String: (effect: Effect, change: Change)] = [
        // `handledWorkIsComparedAsDecided` has the parts.
        "handled": (.sending, { $0.handle(.redirects) }),
        // The shared exchange has no limit of one caller.
        "limit": (.none, { $0.exchangeLimit = ExchangeLimit(until: .seconds(1), on: .immediate()) }),
        "permits": (.sending, { $0.heldLimits = HeldLimits() }),
        // Each caller's recorder receives the events of the shared exchange.
        "recorder": (.none, { $0.recorder = nil }),
        "observers": (.sending, { $0.openPassage.observers.append(EventRecorder()) }),
        "trace": (.none, { $0.openPassage.trace = nil }),
        "exchangeNumber": (.none, { $0.openPassage.exchangeNumber = 7 }),
        // Credentials are compared by their values and by the principal.
        "credentials": (.none, { $0.openPassage.credentials = StackCredentials(of: nil, [.cookie], [], after: nil) }),
        // Options have a table of their own.
        "options": (.none, { $0.openPassage.options = TypedValues() }),
    ]

    private static let handledWork: [(work: HandledWork, effect: Effect)] = [
        (.redirects, .sending),
        // The shared exchange has no time limit of one caller.
        (.silence, .none),
        (.authorization, .sending),
        (.cookies, .sending),
    ]

    typealias EnvironmentChange = @Sendable (inout NetworkEnvironment) -> Void

    /// The values of the environment, by the names of their properties or keys.
    private static let environment: [String: (effect: Effect, change: EnvironmentChange?)] = [
        "clock": (.none, { $0.clock = .immediate() }),
        "random": (.none, { $0.random = .seeded(1) }),
        "secureRandom": (.none, { $0.secureRandom = .system }),
        "logger": (.none, { $0.logger = LogRecorder().logger() }),
        "spanExit": (.none, { $0.spanExit = { $0() } }),
        "isThrottled": (.sending, { $0.isThrottled = false }),
        // The environment is not throttled then, which is compared.
        "limitExemptions": (.sending, nil),
        // The values of keys.
        "custom": (.none, { $0.tenant = "public" }),
        "ConnectivityKey": (.sending, { $0.connectivity = ManualConnectivity(.wifi) }),
        "RetryModeKey": (.sending, { $0.retries = .off }),
        "TraceContextKey": (.none, { $0.traceContext = TraceContext(headerFields: [:]) }),
        "RenewingStores": (.sending, nil),
        "SendingOutboxes": (.sending, nil),
    ]

    // MARK: Every value has a decision

    private static func declarations(of pattern: String) throws -> Set<String> {
        let expression = try Regex(pattern, as: (Substring, Substring).self)
        var names: Set<String> = []
        for file in Repository.swiftFiles(in: "Sources") {
            let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
            let code = lines.filter { !$0.contains("///") }.joined(separator: "\n")
            names.formUnion(code.matches(of: expression).map { String($0.output.1) })
        }
        return names
    }

    @Test func eachOptionHasADecision() throws {
        let pattern = #"\bRequestOption(?:<[^\n]*>)?\(\s*"(\w+)""#
        #expect(try Self.declarations(of: pattern) == Set(Self.options.keys))
    }

    @Test func guideNamesEachOptionThatACallerSets() throws {
        let guide = try Repository.text(at: "Documentation/Modifiers.md")
        let names = try Self.declarations(of: #"public static let (\w+) = RequestOption\b"#)
        #expect(names.count > 15)
        #expect(names.filter { !guide.contains("`request.\($0)`") && !guide.contains("`.\($0)`") }.isEmpty)
    }

    @Test func guideNamesEachOptionThatAnOutboxKeeps() throws {
        let guide = try Repository.text(at: "Documentation/Offline.md")
        let pattern = #""(\w+)",\s*default: [^\n]*\s*affects: \.\w+,\s*stored: \.always"#
        let names = try Self.declarations(of: pattern).subtracting(["networkAccess"])
        #expect(names.count > 5)
        #expect(names.filter { !guide.contains("`\($0)`") }.isEmpty)
    }

    @Test func eachSettingHasADecision() {
        let labels = Mirror(reflecting: RequestSettings()).children.compactMap(\.label)
        #expect(Set(labels) == Set(Self.settings.keys))
    }

    @Test func eachStateHasADecision() throws {
        let pattern = #"static let (\w+) = State\(rawValue"#
        #expect(try Self.declarations(of: pattern) == Set(Self.states.keys))
    }

    @Test func eachFieldOfThePassageHasADecision() {
        let labels = Mirror(reflecting: Passage.none).children.compactMap(\.label)
        #expect(Set(labels) == Set(Self.passage.keys))
    }

    @Test func eachHandledWorkHasADecision() {
        #expect(Self.handledWork.map(\.work) == HandledWork.allCases)
    }

    @Test func eachValueOfTheEnvironmentHasADecision() throws {
        let labels = Mirror(reflecting: NetworkEnvironment.Values()).children.compactMap(\.label)
        let keys = try Self.declarations(of: #"(?:enum|struct) (\w+): NetworkEnvironmentKey\b"#)
        #expect(keys.union(labels) == Set(Self.environment.keys))
    }

    // MARK: Decisions hold

    private func effect(of change: Change) -> Effect {
        let plain = HTTPRequestData.lawful
        let changed = plain.with(change)
        let keys = [plain, changed].map { DeduplicationKey($0, principal: nil, excluding: []) }
        let responses = [plain, changed].map { $0.optionIdentities?.affectingResponses }
        guard responses[0] == responses[1], responses[1] != nil else { return .responses }
        return keys[0] == keys[1] ? .none : .sending
    }

    @Test(arguments: options.keys.sorted()) func optionIsComparedAsDecided(name: String) throws {
        let option = try #require(Self.options[name])
        guard let change = option.change else { return }
        #expect(effect(of: change) == option.effect)
    }

    @Test(arguments: settings.keys.sorted()) func settingIsComparedAsDecided(name: String) throws {
        let setting = try #require(Self.settings[name])
        #expect(effect(of: setting.change) == setting.effect)
    }

    @Test(arguments: states.keys.sorted()) func stateIsComparedAsDecided(name: String) throws {
        let state = try #require(Self.states[name])
        #expect(effect { $0.state.insert(state.state) } == state.effect)
    }

    @Test(arguments: passage.keys.sorted()) func fieldOfThePassageIsComparedAsDecided(name: String) throws {
        let field = try #require(Self.passage[name])
        #expect(effect(of: field.change) == field.effect)
    }

    @Test(arguments: handledWork.indices) func handledWorkIsComparedAsDecided(index: Int) {
        let (work, expected) = Self.handledWork[index]
        #expect(effect { $0.handle(work) } == expected)
    }

    @Test(arguments: environment.keys.sorted()) func environmentIsComparedAsDecided(name: String) throws {
        let value = try #require(Self.environment[name])
        guard let change = value.change else { return }
        var environment = NetworkEnvironment()
        change(&environment)
        let keys = [NetworkEnvironment(), environment]
            .map { environment in
                NetworkEnvironment.$current.withValue(environment) {
                    DeduplicationKey(.lawful, principal: nil, excluding: [])
                }
            }
        let responses = environment.identities.affectingResponses.isEmpty
        #expect((keys[0] == keys[1] ? Effect.none : responses ? .sending : .responses) == value.effect)
    }
}
