import FoundationForNetworking
import HTTPTypes
public import NetworkingCore

extension HTTPResponseData {
    /// The limits that the server reports in the header fields of the response.
    ///
    /// They are those of `RateLimit` and `RateLimit-Policy`, or else of the older fields `RateLimit-Remaining`,
    /// `X-RateLimit-Remaining` and `X-Rate-Limit-Remaining` with their siblings. A malformed field is ignored as a
    /// whole. The array is empty if there is no valid field, or if a cache has sent the response, as a positive `Age`
    /// or a hit in `Cache-Status` shows.
    public var serverLimits: [ServerLimit] {
        headerFields.serverLimits(now: NetworkEnvironment.current.clock.date)
    }
}

extension HTTPFields {
    /// The limits that a server reports.
    ///
    /// - Parameter now: The current date, for a response without `Date`.
    /// - Returns: The limits; empty if there are none or the fields do not count.
    func serverLimits(now: Date) -> [ServerLimit] {
        // Few servers send any of the fields.
        guard contains(where: { $0.name.isOfServerLimit }), !isFromCache else { return [] }
        let policies = items(.rateLimitPolicy).flatMap { try? $0.map(ServerLimit.init(policy:)) } ?? []
        guard let states = items(.rateLimit).flatMap({ try? $0.map(ServerLimit.init(state:)) }), !states.isEmpty else {
            return policies + namedLimits(now: now)
        }
        let reported = Self.strictest(states)
            .map { state in
                let policy = policies.first {
                    $0.policy == state.policy && ($0.partition == state.partition || $0.partition == nil)
                }
                return policy?.reporting(state) ?? state
            }
        return reported + policies.filter { policy in !states.contains { $0.policy == policy.policy } }
    }

    /// The members of a field that is a list; `nil` if the field is missing, malformed or unusually long.
    private func items(_ name: HTTPField.Name) -> [StructuredItem]? {
        guard let value = self[name], value.utf8.count <= 8_192, let items = StructuredItem.list(value) else {
            return nil
        }
        return items.count <= 16 ? items : nil
    }

    /// One limit for each policy and partition; of two, the lower number and the longer time.
    private static func strictest(_ states: [ServerLimit]) -> [ServerLimit] {
        var strictest: [ServerLimit] = []
        for state in states {
            let index = strictest.firstIndex { $0.policy == state.policy && $0.partition == state.partition }
            guard let index else {
                strictest.append(state)
                continue
            }
            let other = strictest[index]
            strictest[index] = ServerLimit(
                policy: state.policy,
                partition: state.partition,
                remaining: Swift.min(state.remaining ?? .max, other.remaining ?? .max),
                reset: [state.reset, other.reset].compactMap(\.self).max()
            )
        }
        return strictest
    }

    /// Whether a cache has sent the response, so that its fields describe another request.
    var isFromCache: Bool {
        guard contains(where: { $0.name == .age || $0.name == .cacheStatus }) else { return false }
        let ages = self[values: .age].flatMap { $0.split(separator: ",") }
        return ages.contains { (DecimalDigits.number($0.trimmed.utf8, limit: .max) ?? 0) > 0 }
            || items(.cacheStatus)?.contains { $0.parameters["hit"] == .boolean(true) } == true
    }

    // MARK: The older fields

    /// The limit in the fields with a number each.
    private func namedLimits(now: Date) -> [ServerLimit] {
        for fields in HTTPField.Name.namedLimits {
            guard let remaining = self[singleton: fields.remaining].flatMap({ Int(rateLimit: $0[...]) }) else {
                continue
            }
            // Earlier drafts append the windows: `100, 100;w=60`.
            let quota = self[fields.limit].flatMap { Int(rateLimit: $0.prefix { $0 != "," && $0 != ";" }) }
            return [ServerLimit(quota: quota, remaining: remaining, reset: reset(fields.reset, now: now))]
        }
        return []
    }

    /// The time until a window ends: seconds, or a moment in seconds or milliseconds since 1970.
    ///
    /// A moment is compared with the response's own `Date`, so that a wrong clock does no harm.
    private func reset(_ name: HTTPField.Name, now: Date) -> Duration? {
        guard let text = self[singleton: name]?.trimmed else { return nil }
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard var seconds = DecimalDigits.number(parts[0].utf8, limit: 1 << 52) else { return nil }
        if parts.count == 2 {
            guard let fraction = DecimalDigits.number(parts[1].utf8, limit: .max) else { return nil }
            seconds += fraction > 0 ? 1 : 0
        }
        guard seconds > 1_000_000_000 else { return .seconds(seconds) }
        let moment = Double(seconds) / (seconds > 1_000_000_000_000 ? 1_000 : 1)
        let sent = self[singleton: .date].flatMap { Date(httpDate: $0.trimmed, now: now) } ?? now
        return .seconds(Swift.max(0, (moment - sent.timeIntervalSince1970).rounded(.up)))
    }
}

/// The error of a member with a missing parameter, or with one of a wrong type.
private struct MalformedMember: Error {}

extension ServerLimit {
    fileprivate init(policy item: StructuredItem) throws {
        var unit = Unit.requests
        switch item.parameters["qu"] {
        case nil: break
        case .string(let name): unit = Unit(name)
        default: throw MalformedMember()
        }
        guard let quota = try item.number("q") else { throw MalformedMember() }
        try self.init(
            policy: item.policy,
            partition: item.partition,
            unit: unit,
            quota: Int(clamping: quota),
            window: item.number("w").map { .seconds($0) }
        )
    }

    fileprivate init(state item: StructuredItem) throws {
        guard let remaining = try item.number("r") else { throw MalformedMember() }
        try self.init(
            policy: item.policy,
            partition: item.partition,
            remaining: Int(clamping: remaining),
            reset: item.number("t").map { .seconds($0) }
        )
    }
}

extension StructuredItem {
    fileprivate var policy: String {
        get throws {
            guard case .string(let name) = value else { throw MalformedMember() }
            return name
        }
    }

    fileprivate var partition: String? {
        get throws {
            switch parameters["pk"] {
            case nil: nil
            case .bytes(let key): Data(key).base64EncodedString()
            default: throw MalformedMember()
            }
        }
    }

    fileprivate func number(_ name: String) throws -> Int64? {
        guard let value = parameters[name] else { return nil }
        guard case .integer(let number) = value, number >= 0 else { throw MalformedMember() }
        return number
    }
}

extension Int {
    /// The number of one of the older fields, rounded down; `nil` if the text is no decimal number.
    fileprivate init?(rateLimit text: Substring) {
        let parts = text.trimmed.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let whole = parts.first, let number = DecimalDigits.number(whole.utf8, limit: .max),
            parts.count == 1 || DecimalDigits.number(parts[1].utf8, limit: .max) != nil
        else { return nil }
        self.init(clamping: number)
    }
}

extension HTTPField.Name {
    static let rateLimit = Self("RateLimit")!
    static let rateLimitPolicy = Self("RateLimit-Policy")!
    fileprivate static let cacheStatus = Self("Cache-Status")!

    fileprivate typealias Named = (limit: HTTPField.Name, remaining: HTTPField.Name, reset: HTTPField.Name)

    /// The older fields, the newest first.
    fileprivate static let namedLimits: [Named] = ["RateLimit", "X-RateLimit", "X-Rate-Limit"]
        .map { (Self("\($0)-Limit")!, Self("\($0)-Remaining")!, Self("\($0)-Reset")!) }

    /// Whether a limiter reads the field.
    fileprivate var isOfServerLimit: Bool {
        ["ratelimit", "x-ratelimit", "x-rate-limit"].contains { canonicalName.hasPrefix($0) }
    }
}
