#if Valkey
import Crypto

/// The commands that the parts of NetworkingValkey send to a server of Valkey or Redis.
///
/// ``ValkeyClient`` sends them over a connection of its own. An app that already has a client of another library gives
/// it a ``ValkeyCommandSender``.
public protocol ValkeyCommands: Sendable {
    /// Returns the value of a key: `GET`.
    ///
    /// - Parameter key: The key.
    /// - Returns: The value; `nil` if there is none.
    /// - Throws: A ``ValkeyError``, or an error of another client; `CancellationError` if the caller is cancelled.
    func get(_ key: String) async throws -> [UInt8]?

    /// Sets the value of a key: `SET`.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - value: The value.
    ///   - options: The condition, and the time after which the server removes the key.
    /// - Returns: `false` if the condition was not met, so that the value is the one before.
    /// - Throws: A ``ValkeyError``, or an error of another client; `CancellationError` if the caller is cancelled.
    @discardableResult
    func set(_ key: String, to value: [UInt8], _ options: ValkeySetOptions) async throws -> Bool

    /// Runs a script in the server: `EVALSHA`, and `EVAL` if the server does not have the script yet.
    ///
    /// - Parameters:
    ///   - script: The script.
    ///   - keys: The keys that the script uses, all of one slot: `KEYS`.
    ///   - arguments: The arguments: `ARGV`.
    /// - Returns: The result of the script.
    /// - Throws: A ``ValkeyError``, also for an error that the script returns;
    ///   an error of another client; `CancellationError` if the caller is cancelled.
    func evaluate(_ script: ValkeyScript, keys: [String], arguments: [[UInt8]]) async throws -> ValkeyValue

    /// Receives the messages of a channel: `SUBSCRIBE`.
    ///
    /// The default implementation throws ``ValkeyError/Kind/unsupported``.
    ///
    /// - Parameter channel: The name of the channel.
    /// - Returns: The messages that are published after the server has confirmed the subscription. The sequence ends
    ///   with an error when the connection is lost, because messages may have been missed. The subscription ends when
    ///   the caller stops reading.
    /// - Throws: A ``ValkeyError``, or an error of another client; `CancellationError` if the caller is cancelled.
    func messages(on channel: String) async throws -> AsyncThrowingStream<[UInt8], any Error>
}

extension ValkeyCommands {
    /// Throws, because the client has no subscriptions.
    ///
    /// - Parameter channel: The name of the channel.
    /// - Returns: Never.
    /// - Throws: ``ValkeyError`` of the kind ``ValkeyError/Kind/unsupported``.
    public func messages(on channel: String) async throws -> AsyncThrowingStream<[UInt8], any Error> {
        throw ValkeyError(.unsupported)
    }
}

/// The condition and the expiry of a value that ``ValkeyCommands/set(_:to:_:)`` stores.
public struct ValkeySetOptions: Sendable, Hashable {
    /// Whether a value is stored, depending on the one that is there.
    @nonexhaustive
    public enum Condition: Sendable, Hashable, CaseIterable {
        /// The value is stored.
        case always
        /// The value is stored if the key has none: `NX`.
        case ifMissing
        /// The value is stored if the key has one: `XX`.
        case ifPresent
    }

    /// Whether the value is stored.
    public var condition: Condition
    /// The time after which the server removes the key, in whole milliseconds and at least one; `nil` for never: `PX`.
    public var expiry: Duration?

    /// Creates options.
    ///
    /// - Parameters:
    ///   - condition: Whether the value is stored.
    ///   - expiry: The time after which the server removes the key; `nil` for never.
    public init(_ condition: Condition = .always, expiry: Duration? = nil) {
        (self.condition, self.expiry) = (condition, expiry)
    }

    /// The words that follow the value in a command, for the adapter of another client: `NX`, `PX`, `5000`.
    public var words: [String] {
        let condition =
            switch condition {
            case .always: [String]()
            case .ifMissing: ["NX"]
            case .ifPresent: ["XX"]
            }
        return condition + (milliseconds.map { ["PX", String($0)] } ?? [])
    }

    private var milliseconds: Int64? {
        guard let expiry else { return nil }
        let (seconds, attoseconds) = expiry.components
        // The server adds its own clock to the number, and refuses a sum that overflows.
        let limit: Int64 = 100 * 365 * 86_400
        guard seconds < limit else { return limit * 1_000 }
        guard seconds >= 0 else { return 1 }
        return max(1, seconds * 1_000 + attoseconds / 1_000_000_000_000_000)
    }
}

/// A script in Lua that a server runs in one step.
public struct ValkeyScript: Sendable, Hashable {
    /// The text of the script.
    public let source: String
    /// The name under which a server stores the script: the SHA-1 of the text, in lowercase hexadecimal digits.
    public let sha1: String

    /// Creates a script, and computes its name.
    ///
    /// - Parameter source: The text of the script.
    public init(_ source: String) {
        self.source = source
        let digits = Array("0123456789abcdef".utf8)
        let digest = Insecure.SHA1.hash(data: Array(source.utf8))
        sha1 = String(decoding: digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// Returns whether the texts of two scripts are equal.
    public static func == (lhs: ValkeyScript, rhs: ValkeyScript) -> Bool {
        lhs.sha1 == rhs.sha1
    }

    /// Adds the name of the script to a hasher.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(sha1)
    }
}
#endif
