#if Configuration
import Configuration
import Foundation
import Networking
@testable import NetworkingResilience
@testable import NetworkingTraffic
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20)))
struct StandardConfigurationTests {
    private func reader(_ values: [AbsoluteConfigKey: ConfigValue]) -> ConfigReader {
        ConfigReader(provider: InMemoryProvider(values: values))
    }

    private func problems(_ values: [AbsoluteConfigKey: ConfigValue]) -> [String] {
        problems { _ = try StandardStack.server(from: reader(values)) }
    }

    private func problems(_ read: () throws -> Void) -> [String] {
        let error = #expect(throws: StandardStack.ConfigurationError.self, performing: read)
        return error?.problems.map(\.description) ?? []
    }

    @Test func emptyConfigurationIsThePreset() throws {
        let outline = { (stack: StandardStack) in
            MockTransport().standard(stack).outline.split(separator: "\n").dropFirst()
        }
        #expect(outline(try .app(from: reader([:]))) == outline(.app))
        #expect(outline(try .server(from: reader([:]))) == outline(.server))
        #expect("\(try StandardStack.app(from: reader([:])).removing(.retry))" == ".app(from: config).removing(.retry)")
    }

    @Test func everyNumberOfThePresetForAnAppIsRead() throws {
        let stack = try StandardStack.app(
            from: reader([
                "timeout.connectSeconds": 1, "timeout.headSeconds": 2.5, "timeout.idleSeconds": 3,
                "concurrencyLimit.maximumPerHost": 12, "rateLimit.maximumWaitSeconds": 0,
                "circuitBreaker.failureRatio": 0.25, "circuitBreaker.minimumCalls": 20,
                "circuitBreaker.connectionFailures": 3, "circuitBreaker.windowSeconds": 15,
                "circuitBreaker.firstBreakSeconds": 1, "circuitBreaker.maximumBreakSeconds": 9,
                "circuitBreaker.probes": 2, "circuitBreaker.closesAfter": 2, "retry.maximumRetries": 4,
                "retry.firstDelaySeconds": 0.1, "retry.maximumDelaySeconds": 5, "retry.budget.ratio": 1,
                "retry.budget.reserve": 7, "retry.budget.windowSeconds": 30, "deadline.seconds": 12,
            ])
        )
        #expect(
            MockTransport().standard(stack).outline == """
                standard(.app(from: config))
                ├─ deadline(12.0 seconds, exemptsTransfers: true)
                ├─ deduplicated()
                ├─ retry(up to 4 times, backoff: 0.1 seconds to 5.0 seconds, full jitter, budget: 1.0 of the calls \
                of 30.0 seconds, and 7)
                ├─ circuitBreaker(25.0% of at least 20 calls in 15.0 seconds, or 3 connection failures, for 1.0 \
                seconds to 9.0 seconds)
                ├─ rateLimited(by: ServerRateLimiter(), maximumWait: 0.0 seconds)
                ├─ throttled(maxPerHost: 12)
                └─ timeout(connect: 1.0 seconds, head: 2.5 seconds, idle: 3.0 seconds, exemptsStreams: true)
                MockTransport
                """
        )
    }

    /// The outline does not show all of these.
    @Test func everyNumberOfThePresetForAServerIsReadIntoItsPlace() throws {
        let values: [AbsoluteConfigKey: ConfigValue] = [
            "timeout.connectSeconds": 1, "timeout.headSeconds": 2.5, "timeout.idleSeconds": 3,
            "concurrencyLimit.minimum": 2, "concurrencyLimit.start": 3, "concurrencyLimit.maximum": 50,
            "rateLimit.maximumWaitSeconds": 4, "circuitBreaker.failureRatio": 0.25, "circuitBreaker.minimumCalls": 21,
            "circuitBreaker.connectionFailures": 8, "circuitBreaker.windowSeconds": 15,
            "circuitBreaker.firstBreakSeconds": 1.5, "circuitBreaker.maximumBreakSeconds": 9,
            "circuitBreaker.probes": 22, "circuitBreaker.closesAfter": 23, "retry.maximumRetries": 24,
            "retry.firstDelaySeconds": 0.1, "retry.maximumDelaySeconds": 5, "retry.budget.ratio": 0.75,
            "retry.budget.reserve": 7, "retry.budget.windowSeconds": 33, "deadline.seconds": 12,
        ]
        let numbers = try StandardNumbers(reader(values), over: .server)
        #expect(numbers == Self.others)
    }

    /// Numbers that differ from those of both presets.
    private static let others = {
        var breaker = CircuitBreaker.Policy.server
        (breaker.failureRatio, breaker.minimumCalls, breaker.connectionFailures) = (0.25, 21, 8)
        (breaker.window, breaker.firstBreak, breaker.maximumBreak) = (.seconds(15), .milliseconds(1_500), .seconds(9))
        (breaker.probes, breaker.closesAfter) = (22, 23)
        return StandardNumbers(
            connect: .seconds(1),
            head: .milliseconds(2_500),
            idle: .seconds(3),
            concurrency: .adaptive(minimum: 2, start: 3, maximum: 50),
            rateLimitWait: .seconds(4),
            breaker: breaker,
            maximumRetries: 24,
            firstDelay: .milliseconds(100),
            maximumDelay: .seconds(5),
            retryRatio: 0.75,
            retryReserve: 7,
            retryWindow: .seconds(33),
            deadline: .seconds(12)
        )
    }()

    /// The names are those of the page, and a variable has text.
    @Test func environmentVariablesOfAScopeAreRead() throws {
        let variables = [
            "SHOP_HTTP_DEADLINE_SECONDS": "20", "SHOP_HTTP_CONCURRENCY_LIMIT_MINIMUM": "2",
            "SHOP_HTTP_CONCURRENCY_LIMIT_START": "3", "SHOP_HTTP_CONCURRENCY_LIMIT_MAXIMUM": "50",
            "SHOP_HTTP_TIMEOUT_CONNECT_SECONDS": "0.5", "DEADLINE_SECONDS": "1",
        ]
        let config = ConfigReader(provider: EnvironmentVariablesProvider(environmentVariables: variables))
        let outline = MockTransport().standard(try .server(from: config.scoped(to: "shop.http"))).outline
        #expect(outline.contains("deadline(20.0 seconds"))
        #expect(outline.contains("adaptiveLimit(2...50)"))
        #expect(outline.contains("timeout(connect: 0.5 seconds"))
    }

    @Test func oneErrorListsAllInvalidValues() throws {
        let values: [AbsoluteConfigKey: ConfigValue] = [
            "timeout.connectSeconds": 0, "timeout.headSeconds": "5s", "timeout.idleSeconds": true,
            "concurrencyLimit.minimum": 0, "concurrencyLimit.start": 1.5, "rateLimit.maximumWaitSeconds": -1,
            "circuitBreaker.failureRatio": 1.5, "circuitBreaker.probes": "hunter2", "retry.maximumRetries": 101,
            "retry.budget.ratio": "", "retry.budget.reserve": .init(.intArray([1]), isSecret: false),
            "deadline.seconds": 86_401,
        ]
        let seconds = "and must be a number from 0.001 to 86400"
        #expect(
            problems(values) == [
                "timeout.connectSeconds is 0, \(seconds)", "timeout.headSeconds is \"5s\", \(seconds)",
                "timeout.idleSeconds is true, \(seconds)",
                "concurrencyLimit.minimum is 0, and must be a whole number from 1 to 100000",
                "concurrencyLimit.start is 1.5, and must be a whole number from 1 to 100000",
                "rateLimit.maximumWaitSeconds is -1, and must be a number from 0 to 86400",
                "circuitBreaker.failureRatio is 1.5, and must be a number from 0.001 to 1",
                "circuitBreaker.probes is a text, and must be a whole number from 1 to 1000000",
                "retry.maximumRetries is 101, and must be a whole number from 0 to 100",
                "retry.budget.ratio is empty, and must be a number from 0 to 1",
                "retry.budget.reserve is an array, and must be a whole number from 0 to 1000000",
                "deadline.seconds is 86401, \(seconds)",
            ]
        )
        let error = #expect(throws: StandardStack.ConfigurationError.self) {
            try StandardStack.server(from: reader(values))
        }
        let text = "The configuration of the stack has invalid values:\n- timeout.connectSeconds is 0, \(seconds)\n- "
        #expect(error?.description.hasPrefix(text) == true)
        #expect(error?.errorDescription == error?.description)
    }

    @Test(arguments: ["nan", "inf", "-inf", "1e400", "99999999999999999999", "-0.0001"])
    func hostileNumbersAreInvalid(text: String) {
        let variables = ["DEADLINE_SECONDS": text, "RETRY_MAXIMUM_RETRIES": text]
        let config = ConfigReader(provider: EnvironmentVariablesProvider(environmentVariables: variables))
        #expect(problems { _ = try StandardStack.app(from: config) }.count == 2)
    }

    @Test(arguments: [
        "hunter2", "-hunter2", "4f9c2e71", "9e107d9d372bb682", "sk_live_51H", "12345678901", "1234567890s", "5 s3cret",
        "5\n6", "٣٤",
    ])
    func errorShowsNoTextThatMayBeASecret(text: String) {
        let variables = ["DEADLINE_SECONDS": text, "RETRY_MAXIMUM_RETRIES": text, "CONCURRENCY_LIMIT_START": text]
        let config = ConfigReader(provider: EnvironmentVariablesProvider(environmentVariables: variables))
        let problems = problems { _ = try StandardStack.app(from: config) }
        #expect(problems.count == 3)
        #expect(problems.allSatisfy { !$0.contains(text) })
    }

    @Test(arguments: ["5s", "-5s", "1,5", "10 ms", "50%", "0x5"])
    func errorShowsANumberWithAUnit(text: String) {
        #expect(
            problems(["deadline.seconds": ConfigValue(.string(text), isSecret: false)]) == [
                "deadline.seconds is \"\(text)\", and must be a number from 0.001 to 86400"
            ]
        )
    }

    /// Such a value would have no effect.
    @Test func numberOfTheOtherPresetIsAProblem() {
        #expect(
            problems(["concurrencyLimit.maximumPerHost": 12]) == [
                "concurrencyLimit.maximumPerHost is 12, and must be left out, because only .app has it"
            ]
        )
        let values: [AbsoluteConfigKey: ConfigValue] = [
            "concurrencyLimit.minimum": 2, "concurrencyLimit.maximum": "many",
        ]
        #expect(
            problems { _ = try StandardStack.app(from: reader(values)) } == [
                "concurrencyLimit.minimum is 2, and must be left out, because only .server has it",
                "concurrencyLimit.maximum is a text, and must be left out, because only .server has it",
            ]
        )
    }

    /// These would stop the program where the stack is built.
    @Test func contradictionsAreProblems() {
        #expect(
            problems([
                "timeout.headSeconds": 20, "concurrencyLimit.minimum": 10, "circuitBreaker.firstBreakSeconds": 90,
                "retry.firstDelaySeconds": 30,
            ]) == [
                "concurrencyLimit.start is 6, and must be from 10 to 200, the minimum and the maximum",
                "circuitBreaker.maximumBreakSeconds is 60, and must be at least the first break, which is 90",
                "circuitBreaker.windowSeconds is 30, and must be at least twice the time limit of an attempt, "
                    + "which is 40",
                "retry.maximumDelaySeconds is 20, and must be at least the first delay, which is 30",
                "deadline.seconds is 10, and must be at least the time limit of an attempt, which is 20",
            ]
        )
        #expect(
            problems(["concurrencyLimit.maximum": 5, "concurrencyLimit.minimum": 9]) == [
                "concurrencyLimit.maximum is 5, and must be at least concurrencyLimit.minimum, which is 9"
            ]
        )
    }

    @Test func boundsOfTheRangesBuildAStack() throws {
        let lowest: [AbsoluteConfigKey: ConfigValue] = [
            "timeout.connectSeconds": 0.001, "timeout.headSeconds": 0.001, "timeout.idleSeconds": 0.001,
            "concurrencyLimit.minimum": 1, "concurrencyLimit.start": 1, "concurrencyLimit.maximum": 1,
            "rateLimit.maximumWaitSeconds": 0, "circuitBreaker.failureRatio": 0.001, "circuitBreaker.minimumCalls": 1,
            "circuitBreaker.connectionFailures": 1, "circuitBreaker.windowSeconds": 0.002,
            "circuitBreaker.firstBreakSeconds": 0.001, "circuitBreaker.maximumBreakSeconds": 0.001,
            "circuitBreaker.probes": 1, "circuitBreaker.closesAfter": 1, "retry.maximumRetries": 0,
            "retry.firstDelaySeconds": 0, "retry.maximumDelaySeconds": 0, "retry.budget.ratio": 0,
            "retry.budget.reserve": 0, "retry.budget.windowSeconds": 0.001, "deadline.seconds": 0.001,
        ]
        let highest: [AbsoluteConfigKey: ConfigValue] = [
            "timeout.connectSeconds": 43_200, "timeout.headSeconds": 43_200, "timeout.idleSeconds": 86_400,
            "concurrencyLimit.minimum": 100_000, "concurrencyLimit.start": 100_000,
            "concurrencyLimit.maximum": 100_000, "rateLimit.maximumWaitSeconds": 86_400,
            "circuitBreaker.failureRatio": 1, "circuitBreaker.minimumCalls": 1_000_000,
            "circuitBreaker.connectionFailures": 1_000_000, "circuitBreaker.windowSeconds": 86_400,
            "circuitBreaker.firstBreakSeconds": 86_400, "circuitBreaker.maximumBreakSeconds": 86_400,
            "circuitBreaker.probes": 1_000_000, "circuitBreaker.closesAfter": 1_000_000, "retry.maximumRetries": 100,
            "retry.firstDelaySeconds": 86_400, "retry.maximumDelaySeconds": 86_400, "retry.budget.ratio": 1,
            "retry.budget.reserve": 1_000_000, "retry.budget.windowSeconds": 86_400, "deadline.seconds": 86_400,
        ]
        for values in [lowest, highest] {
            #expect(MockTransport().standard(try .server(from: reader(values))).modifiers.count > 6)
        }
    }

    // MARK: The page

    /// A row of the table of keys on the page Standard stacks.
    private struct Row {
        let key: String
        let valid: String
        /// The number of the preset; `–` if it does not have the key.
        let app, server: String

        static func all() throws -> [Row] {
            let page = try Repository.text(at: "Documentation/StandardStacks.md")
            return page.split(separator: "\n")
                .compactMap { line in
                    let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
                    guard cells.count == 4, cells[0].hasPrefix("`"), cells[0].contains(".") else { return nil }
                    return Row(
                        key: cells[0].trimmingCharacters(in: ["`"]),
                        valid: cells[1],
                        app: cells[2],
                        server: cells[3]
                    )
                }
        }
    }

    /// Records the keys that are read.
    private final class ReadKeys: AccessReporter {
        private let keys = Mutex<Set<String>>([])

        var all: Set<String> {
            keys.withLock { $0 }
        }

        func report(_ event: AccessEvent) {
            let key = event.metadata.key.components.joined(separator: ".")
            keys.withLock { _ = $0.insert(key) }
        }
    }

    @Test func pageListsTheKeysThatAreRead() throws {
        let keys = try Row.all().map(\.key)
        for defaults in [StandardNumbers.app, .server] {
            let reporter = ReadKeys()
            let config = ConfigReader(provider: InMemoryProvider(values: [:]), accessReporter: reporter)
            _ = try StandardNumbers(config, over: defaults)
            #expect(Set(keys) == reporter.all)
        }
        // In the environment, a dot and the start of a word both become an underscore.
        let variables = keys.map { key in
            key.map { $0 == "." ? "_" : $0.isUppercase ? "_\($0.lowercased())" : "\($0)" }.joined()
        }
        #expect(Set(variables).count == keys.count)
    }

    /// Returns the value and the key of a row for a reader.
    private static func value(_ number: Double, of row: Row) -> (AbsoluteConfigKey, ConfigValue) {
        let content = Int(exactly: number).map { ConfigContent.int($0) } ?? .double(number)
        let key = AbsoluteConfigKey(row.key.split(separator: ".").map(String.init))
        return (key, ConfigValue(content, isSecret: false))
    }

    @Test func pageHasTheNumbersOfThePresets() throws {
        let rows = try Row.all()
        for isServer in [false, true] {
            var values: [AbsoluteConfigKey: ConfigValue] = [:]
            for row in rows {
                let text = isServer ? row.server : row.app
                guard text != "–" else { continue }
                let (key, value) = Self.value(try #require(Double(text)), of: row)
                values[key] = value
            }
            var others = Self.others
            if !isServer { others.concurrency = .perHost(1) }
            let numbers = try StandardNumbers(reader(values), over: others)
            #expect(numbers == (isServer ? .server : .app))
        }
    }

    @Test func pageHasTheRangesOfTheKeys() throws {
        for row in try Row.all() {
            let match = try /^(whole, )?([0-9.]+) to ([0-9.]+)/.firstMatch(in: row.valid)
            let (_, whole, lowest, highest) = try #require(match).output
            let expected = "a \(whole == nil ? "" : "whole ")number from \(lowest) to \(highest)"
            for outside in [try #require(Double(lowest)) - 1, try #require(Double(highest)) + 1] {
                let (key, value) = Self.value(outside, of: row)
                let config = reader([key: value])
                let error = #expect(throws: StandardStack.ConfigurationError.self) {
                    _ = try StandardNumbers(config, over: row.app == "–" ? .server : .app)
                }
                #expect(error?.problems.map(\.key) == [row.key])
                #expect(error?.problems.first?.expected == expected)
            }
        }
    }
}
#endif
