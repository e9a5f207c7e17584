/// One server under one name, and the authorities of the machines that serve it.
///
/// A stack sees the name alone. A modifier near the transport replaces it by a member in each attempt, as
/// `server(endpoints:)` does. Credentials of the stack may go to the name and to each member, and to no other server.
///
/// ```swift
/// struct Nearest: NetworkingModifier {
///     let server = ServerMembers("api.example.com", members: ["eu.example.com", "us.example.com"])
///
///     func resolve(_ request: inout HTTPRequestData) {
///         request.setServer(server)
///     }
///
///     func send(
///         _ request: HTTPRequestData,
///         upstream: some NetworkingComponent
///     ) async throws -> HTTPResponseData {
///         var request = request
///         if request.isAddressed(to: server) {
///             request.authority = server.members[0]
///         }
///         return try await upstream.send(request)
///     }
/// }
/// ```
public final class ServerMembers: Sendable {
    /// The authority under which the stack knows the server: the host of URLs, cache keys and cookies.
    public let authority: String
    /// The authorities to which requests are sent.
    public let members: [String]
    /// The members, as requests over https and over plain http are compared with them.
    private let secureKeys: Set<AuthorityKey>
    private let plainKeys: Set<AuthorityKey>

    /// Creates a server.
    ///
    /// - Parameters:
    ///   - authority: The authority under which the stack knows the server. It may be that of a member.
    ///   - members: The authorities of the machines, at least one, each once.
    /// - Precondition: Each authority is a host with an optional port, and no two members are equal.
    public init(_ authority: String, members: [String]) {
        for text in [authority] + members {
            let fault = Authority(text).invalidity
            precondition(
                fault == nil,
                "\"\(Redaction.standard.authority(text))\" is not the authority of a server: \(fault ?? "")"
            )
        }
        self.authority = authority
        self.members = members
        secureKeys = Set(members.map { AuthorityKey($0) })
        plainKeys = Set(members.map { AuthorityKey($0, isPlain: true) })
        precondition(!members.isEmpty, "a server must have at least one member")
        precondition(
            secureKeys.count == members.count && plainKeys.count == members.count,
            "each member must be named once (are \(members.map { Redaction.standard.authority($0) }))"
        )
    }

    /// Returns whether an authority is that of a member, in any spelling.
    func contains(_ authority: String, isPlain: Bool) -> Bool {
        (isPlain ? plainKeys : secureKeys).contains(AuthorityKey(authority, isPlain: isPlain))
    }
}
