#if Valkey
/// The commands of NetworkingValkey over a client of another library, which sends words and returns the reply.
///
/// The commands themselves come from it:
///
/// ```swift
/// struct OtherClientCommands: ValkeyCommandSender {
///     let client: OtherClient
///
///     func send(_ words: [[UInt8]], keys: [String]) async throws -> ValkeyValue {
///         try await value(of: client.send(words))
///     }
/// }
/// ```
///
/// The time limit, the reconnection and the protection of a slow server are those of the other client.
public protocol ValkeyCommandSender: ValkeyCommands {
    /// Sends a command, and returns its reply.
    ///
    /// - Parameters:
    ///   - words: The name of the command, and its arguments.
    ///   - keys: The keys among the arguments, for a client that looks for the server of a key.
    /// - Returns: The reply; ``ValkeyValue/error(_:)`` with the server's code and text if that is an error.
    /// - Throws: The error of a command without a reply.
    func send(_ words: [[UInt8]], keys: [String]) async throws -> ValkeyValue
}

extension ValkeyCommandSender {
    /// Returns the value of a key: `GET`.
    ///
    /// - Parameter key: The key.
    /// - Returns: The value; `nil` if there is none.
    /// - Throws: A ``ValkeyError``, or the error of the client.
    public func get(_ key: String) async throws -> [UInt8]? {
        try await reply(to: ["GET", key], keys: [key]).bytes
    }

    /// Sets the value of a key: `SET`.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - value: The value.
    ///   - options: The condition, and the time after which the server removes the key.
    /// - Returns: `false` if the condition was not met, so that the value is the one before.
    /// - Throws: A ``ValkeyError``, or the error of the client.
    @discardableResult
    public func set(_ key: String, to value: [UInt8], _ options: ValkeySetOptions) async throws -> Bool {
        let rest = [value] + options.words.map { Array($0.utf8) }
        return try await reply(to: ["SET", key], rest, keys: [key]) != .null
    }

    /// Runs a script in the server: `EVALSHA`, and `EVAL` if the server does not have the script yet.
    ///
    /// - Parameters:
    ///   - script: The script.
    ///   - keys: The keys that the script uses, all of one slot.
    ///   - arguments: The arguments.
    /// - Returns: The result of the script.
    /// - Throws: A ``ValkeyError``, or the error of the client.
    public func evaluate(
        _ script: ValkeyScript,
        keys: [String],
        arguments: [[UInt8]]
    ) async throws -> ValkeyValue {
        let count = String(keys.count)
        do {
            return try await reply(to: ["EVALSHA", script.sha1, count] + keys, arguments, keys: keys)
        } catch let error as ValkeyError where error.code == "NOSCRIPT" {
            return try await reply(to: ["EVAL", script.source, count] + keys, arguments, keys: keys)
        }
    }

    private func reply(to texts: [String], _ rest: [[UInt8]] = [], keys: [String]) async throws -> ValkeyValue {
        let value = try await send(texts.map { Array($0.utf8) } + rest, keys: keys)
        if case .error(let text) = value { throw ValkeyError(reply: text) }
        return value
    }
}
#endif
