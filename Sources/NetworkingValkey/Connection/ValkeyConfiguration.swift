#if Valkey
public import NetworkingCore
public import NIOSSL

/// The settings of a ``ValkeyClient``.
///
/// Descriptions and dumps do not contain the password.
public struct ValkeyConfiguration: Sendable {
    /// The settings of TLS; `nil` for a connection without TLS.
    ///
    /// The client checks the server's certificate for the host of the address.
    public var tls: TLSConfiguration?
    /// The name of the ACL user; `nil` for the default user.
    public var user: String?
    /// The password of the user; `nil` if the server needs none.
    public var password: String?
    /// The number of the database.
    ///
    /// A cluster has only the database 0.
    public var database: Int
    /// The time limit of a command, with the time that it waits for a connection.
    public var timeout: Duration
    /// The time limit for opening a connection, with TLS and the authentication.
    public var connectTimeout: Duration
    /// The delays between attempts to connect to a server that cannot be reached.
    public var backoff: Backoff
    /// The maximum number of commands without a reply for each server.
    ///
    /// They have at most 64 MiB.
    public var maximumPending: Int
    /// The maximum size of a reply in bytes.
    public var maximumReplySize: Int

    /// Creates settings.
    ///
    /// - Parameters:
    ///   - tls: The settings of TLS; `nil` for a connection without TLS.
    ///   - user: The name of the ACL user; `nil` for the default user.
    ///   - password: The password of the user; `nil` if the server needs none.
    ///   - database: The number of the database.
    ///   - timeout: The time limit of a command.
    ///   - connectTimeout: The time limit for opening a connection.
    ///   - backoff: The delays between attempts to connect.
    ///   - maximumPending: The maximum number of commands without a reply.
    ///   - maximumReplySize: The maximum size of a reply in bytes.
    public init(
        tls: TLSConfiguration? = nil,
        user: String? = nil,
        password: String? = nil,
        database: Int = 0,
        timeout: Duration = .milliseconds(50),
        connectTimeout: Duration = .seconds(1),
        backoff: Backoff = .exponential(base: .milliseconds(50), cap: .seconds(2), jitter: .equal),
        maximumPending: Int = 10_000,
        maximumReplySize: Int = 64 << 20
    ) {
        self.tls = tls
        self.user = user
        self.password = password
        self.database = database
        self.timeout = timeout
        self.connectTimeout = connectTimeout
        self.backoff = backoff
        self.maximumPending = maximumPending
        self.maximumReplySize = maximumReplySize
    }
}

extension ValkeyConfiguration: RedactedDescription {}
#endif
