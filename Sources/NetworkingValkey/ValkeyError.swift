#if Valkey
/// The reason why a command has no result.
///
/// The description contains no key, value, address or credential.
public struct ValkeyError: Error, Sendable, Hashable {
    /// A kind of failure.
    @nonexhaustive
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// There is no connection, and none could be made. The command was not sent.
        case unreachable
        /// The server takes longer than the time limit, and another command tests it. The command was not sent.
        case unresponsive
        /// The connection ended before the reply. The server may have run the command.
        case connectionLost
        /// The time limit passed before the reply. The server may have run the command, or may still run it.
        case timedOut
        /// As many commands as the limit allows have no reply yet. The command was not sent.
        case queueFull
        /// The server did not accept the user, the password or the TLS settings, or forbids the command.
        case accessDenied
        /// The server answered with an error; ``ValkeyError/code`` has its code.
        case reply
        /// The server sent bytes that are no reply, a reply above the limits, or one of an unexpected type.
        case malformedReply
        /// The client cannot send the command.
        case unsupported
        /// The client was shut down.
        case shutDown
    }

    /// The kind of failure.
    public let kind: Kind
    /// The code of the server's error, such as `OOM`.
    public let code: String?
    /// The server's text, which may quote arguments of the command; the description omits it.
    public let message: String?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - kind: The kind of failure.
    ///   - code: The code of the server's error.
    ///   - message: The server's text.
    public init(_ kind: Kind, code: String? = nil, message: String? = nil) {
        (self.kind, self.code, self.message) = (kind, code, message)
    }
}

extension ValkeyError.Kind {
    /// Whether the server may have run the command, because it was sent and its reply is missing or not readable.
    var mayHaveRun: Bool {
        switch self {
        case .connectionLost, .timedOut, .malformedReply: true
        case .unreachable, .unresponsive, .queueFull, .accessDenied, .reply, .unsupported, .shutDown: false
        }
    }
}

extension ValkeyError {
    /// Creates the error for a server's reply.
    ///
    /// - Parameter reply: The code, and a text.
    init(reply: String) {
        let text = reply.prefix(512)
        let word = text.prefix { !$0.isWhitespace }
        // Scripts may return errors without a code.
        let isCode = word.allSatisfy { $0.isASCII && ($0.isUppercase || $0.isNumber) }
        let code = isCode && !word.isEmpty && word.count <= 32 ? String(word) : "ERR"
        let isDenied = ["NOAUTH", "NOPERM", "WRONGPASS"].contains(code)
        self.init(isDenied ? .accessDenied : .reply, code: code, message: String(text))
    }
}

extension ValkeyError: CustomStringConvertible, CustomDebugStringConvertible {
    /// The kind, and the code of the server's error: `reply (OOM)`.
    public var description: String {
        code.map { "\(kind) (\($0))" } ?? "\(kind)"
    }

    /// The same as ``description``.
    public var debugDescription: String {
        description
    }
}

extension ValkeyError: CustomReflectable {
    /// The kind and the code.
    public var customMirror: Mirror {
        Mirror(self, children: ["kind": kind, "code": code as Any])
    }
}
#endif
