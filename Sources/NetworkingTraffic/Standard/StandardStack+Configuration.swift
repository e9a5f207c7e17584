#if Configuration
public import Configuration
public import FoundationForNetworking
import NetworkingCore

extension StandardStack {
    /// Returns the preset for an app with the numbers of a configuration.
    ///
    /// ```swift
    /// import Configuration
    ///
    /// let config = ConfigReader(provider: EnvironmentVariablesProvider())
    /// let network = URLSession.shared
    ///     .standard(try .app(from: config.scoped(to: "shop.http")))   // SHOP_HTTP_DEADLINE_SECONDS=20
    ///     .server(authority: "api.example.com")
    /// ```
    ///
    /// The page Standard stacks lists the keys, with their ranges. A key without a value leaves the number of
    /// ``StandardStack/app``, and a value for a number that only ``StandardStack/server`` has is an error. The values
    /// are read once. A reader does not list its keys, so an unknown or misspelled key is not reported.
    ///
    /// - Parameter config: The reader, scoped to the keys of the stack.
    /// - Returns: The preset, whose parts can be replaced as those of ``StandardStack/app``.
    /// - Throws: One ``ConfigurationError`` with all invalid values.
    public static func app(from config: ConfigReader) throws(ConfigurationError) -> StandardStack {
        let numbers = try StandardNumbers(config, over: .app)
        return StandardStack(description: ".app(from: config)", numbers: numbers)
    }

    /// Returns the preset for a server with the numbers of a configuration.
    ///
    /// A key without a value leaves the number of ``StandardStack/server``. Otherwise it works like ``app(from:)``.
    ///
    /// - Parameter config: The reader, scoped to the keys of the stack.
    /// - Returns: The preset, whose parts can be replaced as those of ``StandardStack/server``.
    /// - Throws: One ``ConfigurationError`` with all invalid values.
    public static func server(from config: ConfigReader) throws(ConfigurationError) -> StandardStack {
        let numbers = try StandardNumbers(config, over: .server)
        return StandardStack(description: ".server(from: config)", numbers: numbers)
    }

    /// The invalid values of a configuration.
    public struct ConfigurationError: Error, Hashable, CustomStringConvertible, LocalizedError {
        /// An invalid value.
        public struct Problem: Sendable, Hashable, CustomStringConvertible {
            /// The key, without the scope of the reader: `timeout.connectSeconds`.
            public let key: String
            /// The value: a number of less than a billion, or digits with a short unit: `"5s"`.
            ///
            /// Any other value is only described, as `a text` or `out of range`. It may be a secret in the wrong place.
            public let value: String
            /// The valid values: `a number from 0.001 to 86400`.
            public let expected: String

            /// The key, the value and the valid values: `deadline.seconds is 0, and must be a number from 0.001 to
            /// 86400`.
            public var description: String {
                "\(key) is \(value), and must be \(expected)"
            }
        }

        /// The problems, in the order of the keys on the page Standard stacks.
        public let problems: [Problem]

        /// All problems, a line each.
        public var description: String {
            problems.reduce("The configuration of the stack has invalid values:") { "\($0)\n- \($1)" }
        }

        /// The description, because it is an error for the operator and not for a user of the app.
        public var errorDescription: String? {
            description
        }
    }
}

extension StandardNumbers {
    /// Creates the numbers of a configuration.
    ///
    /// - Parameters:
    ///   - config: The reader, scoped to the keys of the stack.
    ///   - defaults: The numbers of the keys without a value.
    /// - Throws: One error with all invalid values.
    init(_ config: ConfigReader, over defaults: StandardNumbers) throws(StandardStack.ConfigurationError) {
        var reading = ConfiguredNumbers(config: config)
        self = reading.read(over: defaults)
        guard reading.problems.isEmpty else { throw StandardStack.ConfigurationError(problems: reading.problems) }
    }
}

/// Reads numbers from a configuration, and notes the invalid ones.
private struct ConfiguredNumbers {
    let config: ConfigReader
    private(set) var problems: [StandardStack.ConfigurationError.Problem] = []

    init(config: ConfigReader) {
        self.config = config
    }

    /// Returns numbers with those of the configuration in their place.
    mutating func read(over defaults: StandardNumbers) -> StandardNumbers {
        var numbers = defaults
        read(&numbers.connect, "timeout.connectSeconds")
        read(&numbers.head, "timeout.headSeconds")
        read(&numbers.idle, "timeout.idleSeconds")
        read(&numbers.concurrency)
        read(&numbers.rateLimitWait, "rateLimit.maximumWaitSeconds", from: 0)
        read(&numbers.breaker)
        read(&numbers.maximumRetries, "retry.maximumRetries", in: 0...100)
        read(&numbers.firstDelay, "retry.firstDelaySeconds", from: 0)
        read(&numbers.maximumDelay, "retry.maximumDelaySeconds", from: 0)
        read(&numbers.retryRatio, "retry.budget.ratio", in: 0...1)
        read(&numbers.retryReserve, "retry.budget.reserve", in: 0...1_000_000)
        read(&numbers.retryWindow, "retry.budget.windowSeconds")
        read(&numbers.deadline, "deadline.seconds")
        // A contradiction between values that are invalid themselves says nothing.
        if problems.isEmpty { compare(numbers) }
        return numbers
    }

    private mutating func read(_ limit: inout StandardNumbers.Concurrency) {
        switch limit {
        case .perHost(var maximum):
            read(&maximum, "concurrencyLimit.maximumPerHost", in: 1...100_000)
            limit = .perHost(maximum)
            for name in ["minimum", "start", "maximum"] {
                refuse("concurrencyLimit.\(name)", of: ".server")
            }
        case .adaptive(var minimum, var start, var maximum):
            refuse("concurrencyLimit.maximumPerHost", of: ".app")
            read(&minimum, "concurrencyLimit.minimum", in: 1...100_000)
            read(&start, "concurrencyLimit.start", in: 1...100_000)
            read(&maximum, "concurrencyLimit.maximum", in: 1...100_000)
            limit = .adaptive(minimum: minimum, start: start, maximum: maximum)
        }
    }

    /// Notes the value of a number that only the other preset has, because it would have no effect.
    private mutating func refuse(_ key: String, of preset: String) {
        let expected = "left out, because only \(preset) has it"
        switch value(of: key) {
        case nil: return
        case .number(let found): note(key, shown(found), expected)
        case .other(let found): note(key, found, expected)
        }
    }

    private mutating func read(_ policy: inout CircuitBreaker.Policy) {
        let counts = 1...1_000_000
        read(&policy.failureRatio, "circuitBreaker.failureRatio", in: 0.001...1)
        read(&policy.minimumCalls, "circuitBreaker.minimumCalls", in: counts)
        if var failures = policy.connectionFailures {
            read(&failures, "circuitBreaker.connectionFailures", in: counts)
            policy.connectionFailures = failures
        }
        read(&policy.window, "circuitBreaker.windowSeconds")
        read(&policy.firstBreak, "circuitBreaker.firstBreakSeconds")
        read(&policy.maximumBreak, "circuitBreaker.maximumBreakSeconds")
        read(&policy.probes, "circuitBreaker.probes", in: counts)
        read(&policy.closesAfter, "circuitBreaker.closesAfter", in: counts)
    }

    // MARK: Comparisons

    /// Notes numbers that contradict each other, which `standard(_:)` or a part would stop the program for.
    private mutating func compare(_ numbers: StandardNumbers) {
        if case .adaptive(let minimum, let start, let maximum) = numbers.concurrency {
            if maximum < minimum {
                note("concurrencyLimit.maximum", "\(maximum)", "at least concurrencyLimit.minimum, which is \(minimum)")
            } else if !(minimum...maximum).contains(start) {
                note("concurrencyLimit.start", "\(start)", "from \(minimum) to \(maximum), the minimum and the maximum")
            }
        }
        let breaker = numbers.breaker
        compare("circuitBreaker.maximumBreakSeconds", breaker.maximumBreak, "the first break", breaker.firstBreak)
        let attempts = numbers.attempt * 2
        compare("circuitBreaker.windowSeconds", breaker.window, "twice the time limit of an attempt", attempts)
        compare("retry.maximumDelaySeconds", numbers.maximumDelay, "the first delay", numbers.firstDelay)
        compare("deadline.seconds", numbers.deadline, "the time limit of an attempt", numbers.attempt)
    }

    private mutating func compare(_ key: String, _ value: Duration, _ name: String, _ minimum: Duration) {
        guard value < minimum else { return }
        note(key, (value / .seconds(1)).shown, "at least \(name), which is \((minimum / .seconds(1)).shown)")
    }

    // MARK: Values

    private mutating func read(_ duration: inout Duration, _ key: String, from minimum: Double = 0.001) {
        var seconds = duration / .seconds(1)
        let before = seconds
        read(&seconds, key, in: minimum...86_400)
        // To the nanosecond, so that 0.2 is 200 ms.
        if seconds != before { duration = .nanoseconds(Int64((seconds * 1e9).rounded())) }
    }

    private mutating func read(_ number: inout Double, _ key: String, in range: ClosedRange<Double>) {
        let expected = "a number from \(range.lowerBound.shown) to \(range.upperBound.shown)"
        switch value(of: key) {
        case nil: return
        case .number(let found) where range.contains(found): number = found
        case .number(let found): note(key, shown(found), expected)
        case .other(let found): note(key, found, expected)
        }
    }

    private mutating func read(_ count: inout Int, _ key: String, in range: ClosedRange<Int>) {
        let expected = "a whole number from \(range.lowerBound) to \(range.upperBound)"
        switch value(of: key) {
        case nil: return
        case .number(let found):
            let exact = Int(exactly: found).flatMap { range.contains($0) ? $0 : nil }
            guard let exact else { return note(key, shown(found), expected) }
            count = exact
        case .other(let found): note(key, found, expected)
        }
    }

    private enum Found {
        case number(Double)
        /// A value of another type, as an error shows it.
        case other(String)
    }

    /// Returns the value of a key; `nil` if there is none.
    ///
    /// A reader returns `nil` for a value of another type, too, so each type is tried.
    private func value(of key: String) -> Found? {
        let key = ConfigKey(key)
        if let number = config.int(forKey: key) { return .number(Double(number)) }
        if let number = config.double(forKey: key) { return .number(number) }
        if let text = config.string(forKey: key) { return .other(shown(text)) }
        if let value = config.bool(forKey: key) { return .other("\(value)") }
        let isArray =
            config.stringArray(forKey: key) != nil || config.intArray(forKey: key) != nil
            || config.doubleArray(forKey: key) != nil || config.boolArray(forKey: key) != nil
        return isArray ? .other("an array") : nil
    }

    /// Returns a number for an error.
    ///
    /// A long number may be a secret in the wrong place.
    private func shown(_ number: Double) -> String {
        abs(number) < 1e9 ? number.shown : "out of range"
    }

    /// Returns a text for an error, such as `"5s"`.
    ///
    /// Any other text than a number with a unit may be a secret in the wrong place.
    private func shown(_ text: String) -> String {
        guard !text.isEmpty else { return "empty" }
        let unsigned = text.utf8.first == UInt8(ascii: "-") ? text.utf8.dropFirst() : text.utf8[...]
        let number = unsigned.prefix { DecimalDigits.contains($0) || ".,_ ".utf8.contains($0) }
        let unit = unsigned[number.endIndex...]
        guard number.first.map(DecimalDigits.contains) == true, number.count <= 9, unit.count <= 3,
            unit.allSatisfy({ 0x21..<0x7F ~= $0 })
        else { return "a text" }
        return "\"\(text)\""
    }

    private mutating func note(_ key: String, _ value: String, _ expected: String) {
        problems.append(.init(key: key, value: value, expected: expected))
    }
}

extension Double {
    /// The number without a fraction of zero.
    fileprivate var shown: String {
        Int(exactly: self).map { "\($0)" } ?? "\(self)"
    }
}
#endif
