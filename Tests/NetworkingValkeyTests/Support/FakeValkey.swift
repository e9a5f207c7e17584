#if Valkey
import Networking
import NetworkingCore
import NetworkingValkey
import Synchronization

/// A server in memory.
///
/// Its time is that of a test's clock, and its scripts are closures.
final class FakeValkey: ValkeyCommands {
    /// The keys that have not expired.
    struct Keys: Sendable {
        private var entries: [String: (value: [UInt8], end: Duration?)] = [:]
        fileprivate var now = Duration.zero

        var names: [String] {
            entries.keys.filter { self[$0] != nil }.sorted()
        }

        subscript(key: String) -> [UInt8]? {
            guard let entry = entries[key], entry.end.map({ $0 > now }) ?? true else { return nil }
            return entry.value
        }

        /// The time until a key expires; `nil` for a key without an expiry.
        func lifetime(of key: String) -> Duration? {
            entries[key]?.end.map { $0 - now }
        }

        mutating func set(_ key: String, to value: [UInt8], expiry: Duration?) {
            entries[key] = (value, expiry.map { now + $0 })
        }

        /// Removes a key and returns whether there was one.
        mutating func remove(_ key: String) -> Bool {
            defer { entries[key] = nil }
            return self[key] != nil
        }
    }

    /// A script and the name under which ``commands`` lists it.
    struct Script: Sendable {
        let name: String
        let run: @Sendable (inout Keys, _ keys: [String], _ arguments: [[UInt8]]) throws -> ValkeyValue
    }

    enum Fault: Sendable {
        /// The command is not carried out.
        case failure(any Error)
        /// The command is carried out, and its reply does not arrive.
        case lostReply(any Error)
        /// The command is not carried out, and no reply arrives until the caller is cancelled.
        case silence
    }

    private struct State {
        var keys = Keys()
        var commands: [String] = []
        var fault: @Sendable (String) -> Fault? = { _ in nil }
    }

    private let clock: NetworkClock
    private let scripts: [ValkeyScript: Script]
    private let state = Mutex(State())

    init(on clock: NetworkClock, _ scripts: [ValkeyScript: Script]) {
        (self.clock, self.scripts) = (clock, scripts)
    }

    /// The commands so far, such as `GET {a:1}:lock`.
    var commands: [String] {
        state.withLock { $0.commands }
    }

    /// Reads or changes the keys.
    func withKeys<Result>(_ body: (inout Keys) throws -> Result) rethrows -> Result {
        let now = clock.now
        return try state.withLock { state in
            state.keys.now = now
            return try body(&state.keys)
        }
    }

    /// Replaces the values of the keys with an ending, or removes those keys.
    func replaceKeys(ending suffix: String, with value: [UInt8]? = nil, expiry: Duration? = nil) {
        withKeys { keys in
            for key in keys.names where key.hasSuffix(suffix) {
                _ = keys.remove(key)
                if let value { keys.set(key, to: value, expiry: expiry) }
            }
        }
    }

    /// Whether there is a key with an ending.
    func hasKey(ending suffix: String) -> Bool {
        withKeys { keys in keys.names.contains { $0.hasSuffix(suffix) } }
    }

    /// Sets the fault of the commands from now on.
    func fail(_ fault: @escaping @Sendable (_ command: String) -> Fault?) {
        state.withLock { $0.fault = fault }
    }

    /// Ends the fault.
    func recover() {
        fail { _ in nil }
    }

    func get(_ key: String) async throws -> [UInt8]? {
        try await run("GET \(key)") { $0[key] }
    }

    func set(_ key: String, to value: [UInt8], _ options: ValkeySetOptions) async throws -> Bool {
        try await run("SET \(key)") { keys in
            switch options.condition {
            case .ifMissing where keys[key] != nil, .ifPresent where keys[key] == nil: return false
            default: break
            }
            keys.set(key, to: value, expiry: options.expiry)
            return true
        }
    }

    func evaluate(_ script: ValkeyScript, keys: [String], arguments: [[UInt8]]) async throws -> ValkeyValue {
        guard let script = scripts[script] else { throw ValkeyError(.unsupported) }
        return try await run("\(script.name) \(keys.joined(separator: " "))") { try script.run(&$0, keys, arguments) }
    }

    private func run<Result: Sendable>(
        _ command: String,
        _ body: (inout Keys) throws -> Result
    ) async throws -> Result {
        let fault = state.withLock { state in
            state.commands.append(command)
            return state.fault(command)
        }
        switch fault {
        case .failure(let error):
            throw error
        case .silence:
            try await Suspension<Void>().value(until: nil)
            throw ValkeyError(.timedOut)
        case .lostReply(let error):
            _ = try withKeys(body)
            throw error
        case nil:
            return try withKeys(body)
        }
    }
}
#endif
