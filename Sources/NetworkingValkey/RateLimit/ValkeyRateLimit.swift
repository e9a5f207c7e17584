#if Valkey
import Crypto
import NetworkingCore
public import NetworkingTraffic

/// Stores the state of rate limits in Valkey or Redis, so that the machines of a service share them.
///
/// ```swift
/// let store = ValkeyRateLimit(valkey, namespace: "shop")
/// let sharing = RateLimiter.Sharing(in: store, as: "payments", localShare: 1 / 20)   // 20 machines
/// let limiter = RateLimiter(100, per: .seconds(1), burst: 10, sharing: sharing)
/// ```
///
/// A decision is one script, which runs in the server in one step and reads the server's clock. A key has the form
/// `{namespace:digest}:rate`, so a limit is in one slot of a cluster. It contains a digest instead of the name and the
/// group of the limit, and the server removes it when the limit is as if it had never been used.
public struct ValkeyRateLimit: RateLimitStore {
    private let commands: any ValkeyCommands
    private let namespace: KeyNamespace

    /// Creates a store.
    ///
    /// - Parameters:
    ///   - commands: The client of the server.
    ///   - namespace: The start of all keys, which separates services that use one server.
    /// - Precondition: `namespace` is not empty and contains no brace.
    public init(_ commands: any ValkeyCommands, namespace: String) {
        (self.commands, self.namespace) = (commands, KeyNamespace(namespace))
    }

    /// Takes permits of a limit, after it has given back permits that were not used.
    ///
    /// - Parameter demand: The limit, and the numbers of permits.
    /// - Returns: The permits, or the time after which the process should ask again.
    /// - Throws: The error of the client, or a ``ValkeyError`` of the kind ``ValkeyError/Kind/malformedReply``.
    public func take(_ demand: RateLimitDemand) async throws -> RateLimitGrant {
        let result = try await commands.evaluate(
            Self.script,
            keys: [key(of: demand)],
            arguments: [Self.argument(of: demand)]
        )
        guard let values = result.array, values.count == 2, let permits = values[0].integer,
            let wait = values[1].integer
        else { throw ValkeyError(.malformedReply) }
        // The limiter checks the range.
        return RateLimitGrant(permits: Int(clamping: permits), wait: .nanoseconds(wait))
    }

    /// Returns the key of a limit.
    func key(of demand: RateLimitDemand) -> String {
        let digest = SHA256.hash(data: Array(demand.key.utf8)).prefix(16)
        return namespace.key(digest.hexadecimal, "rate")
    }

    /// Returns the argument of the script: seven numbers of eight bytes, which the server reads faster than digits.
    static func argument(of demand: RateLimitDemand) -> [UInt8] {
        let times = [demand.interval, demand.tolerance, demand.lead, RateLimitDemand.longestTurn]
        let counts = [demand.permits, demand.spare, demand.returned]
        var bytes: [UInt8] = []
        bytes.reserveCapacity(56)
        for number in times.map({ Double($0.nanoseconds) }) + counts.map({ Double($0) }) {
            withUnsafeBytes(of: number.bitPattern.littleEndian) { bytes.append(contentsOf: $0) }
        }
        return bytes
    }

    /// The same arithmetic as that of ``RateLimitState``, in nanoseconds.
    ///
    /// A value has four numbers: the version of its format, the moment of the last decision in microseconds, and two
    /// times from then on: until all permits are available, and until the turn of the last client that waits. Each is
    /// below 2^53, up to which Lua's numbers are exact. A damaged one may be no number, which `max(0, …)` replaces.
    static let script = ValkeyScript(
        """
        local call, pack, unpack = redis.call, struct.pack, struct.unpack
        local min, max, floor = math.min, math.max, math.floor
        local interval, tolerance, lead, longest, permits, spare, returned = unpack('<ddddddd', ARGV[1])
        local time = call('TIME')
        local now = time[1] * 1000000 + time[2]
        local reserved, turns = 0, 0
        local state = call('GET', KEYS[1])
        if state and #state == 32 then
            local version, moment, r, t = unpack('<dddd', state)
            if version == 1 then
                local elapsed = max(0, now - moment) * 1000
                reserved = min(max(0, r - elapsed), tolerance + lead + interval)
                turns = min(max(0, t - elapsed), interval + longest)
            end
        end
        reserved = max(0, reserved - interval * returned)
        local count, wait = 0, 0
        if permits > 0 then
            local room = tolerance + lead - reserved
            if room >= 0 then
                count = min(permits, floor(room / interval) + 1)
                reserved = reserved + interval * count
                if spare > 0 and count == permits and reserved <= tolerance then
                    spare = min(spare, floor((floor((tolerance - reserved) / interval) + 1) / 2))
                    reserved = reserved + interval * spare
                    count = count + spare
                end
                wait = max(0, reserved - interval - tolerance)
            else
                local start, limit = max(-room, turns), longest - room
                local extra = min(interval * (permits - 1), floor(lead / 4))
                turns = min(start + interval * (floor(extra / interval) + 1), limit)
                wait = min(start + extra, limit)
            end
        end
        local expiry = floor(max(reserved, turns) / 1000000) + 2
        call('PSETEX', KEYS[1], expiry, pack('<dddd', 1, now, reserved, turns))
        return {count, wait}
        """
    )
}
#endif
