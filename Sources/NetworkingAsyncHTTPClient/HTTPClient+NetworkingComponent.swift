#if AsyncHTTPClient
public import AsyncHTTPClient
public import NetworkingCore
import Synchronization

/// Makes an HTTPClient usable as a transport.
///
/// ```swift
/// let client = HTTPClient(configuration: .networking)
/// let network = client.logged()
/// ```
///
/// The caller owns the client and shuts it down. The client must neither follow redirects nor decode bodies, because
/// both would bypass the stack. A client that does, such as `HTTPClient.shared`, fails requests with
/// `NetworkingError.Kind.invalidRequest`. All users share the connections of a client, as with
/// `ConnectionReuse.always`. Use ``AsyncHTTPClientTransport`` if the app does not need its own client.
extension HTTPClient: NetworkingTransport {
    /// Makes one exchange over this client.
    ///
    /// - Parameter request: The request, resolved and checked.
    /// - Returns: The response, with its body collected or delivered to the request's sink.
    /// - Throws: The errors of ``AsyncHTTPClientTransport/exchange(_:)``.
    public func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        let traits = KnownClients.shared.traits(of: self)
        if let objection = traits.objection {
            throw NetworkingError(.invalidRequest, request: request, reason: objection)
        }
        return try await respond(to: request, as: traits)
    }
}

extension HTTPClient {
    /// The configuration, which only reflection can read; `nil` if that fails.
    fileprivate var readConfiguration: HTTPClient.Configuration? {
        Mirror(reflecting: self).descendant("configuration") as? HTTPClient.Configuration
    }

    /// The maximum number of consecutive connections that may turn out to be closed.
    private static let maximumClosed = 16

    /// Sends a request, whatever this client's configuration.
    ///
    /// If its connection was closed before anything was sent, the request goes to another connection.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - traits: What is known of this client.
    ///   - connections: What the exchange knows of its transport's connections; `nil` for a client of the app.
    /// - Returns: The response.
    /// - Throws: The errors of ``AsyncHTTPClientTransport/exchange(_:)``.
    func respond(
        to request: HTTPRequestData,
        as traits: ClientTraits,
        over connections: ClientConnections? = nil
    ) async throws -> HTTPResponseData {
        if traits.hasProxy {
            try request.refuseProxyOnLoopback(
                solution: "Use a transport without the proxy for this machine, or set allowsPlaintextCredentials if "
                    + "the proxy is trusted."
            )
        }
        var closed = 0
        while true {
            do {
                return try await ClientExchange.respond(
                    to: request,
                    over: self,
                    hasGuards: traits.hasGuards,
                    connections
                )
            } catch let failure as UnsentRequest {
                closed += 1
                guard closed < Self.maximumClosed else { throw failure.error }
            }
        }
    }
}

/// The parts of a client's configuration that decide which requests it can send.
struct ClientTraits: Sendable {
    /// The reason why the client cannot be a transport; `nil` if it can.
    var objection: String?
    /// Whether it sends its requests through a proxy.
    let hasProxy: Bool
    /// Whether its connections have the guards of `HTTPClient.Configuration.networking`.
    let hasGuards: Bool

    /// The traits of a client of this library.
    ///
    /// - Parameter configuration: The configuration, without the features that the stack provides.
    init(ofOwnClientWith configuration: HTTPClient.Configuration) {
        hasProxy = configuration.proxy != nil
        hasGuards = true
    }

    /// The traits of a client of the app, whose configuration only reflection can read.
    fileprivate init(of client: HTTPClient) {
        let configuration = client.readConfiguration
        hasProxy = configuration?.proxy != nil
        hasGuards =
            configuration?.http1_1ConnectionDebugInitializer != nil
            && configuration?.http2StreamChannelDebugInitializer != nil
        // A configuration that cannot be read counts as one that does both, because the mistake would go unnoticed.
        let redirects = configuration.flatMap { Mirror(reflecting: $0.redirectConfiguration).descendant("mode") }
        let followsRedirects = redirects.map { "\($0)" != "disallow" } ?? true
        let decodes =
            if case .disabled = configuration?.decompression { false } else { true }
        guard followsRedirects || decodes else { return }
        let deeds = [followsRedirects ? "follows redirects" : nil, decodes ? "decodes bodies" : nil].compactMap { $0 }
        objection =
            "This HTTPClient \(deeds.joined(separator: " and ")) by itself, which bypasses the stack. Create it "
            + "with HTTPClient(configuration: .networking), or use AsyncHTTPClientTransport(configuration:)."
    }
}

/// The traits of the app's clients.
///
/// One table serves the process, because a client cannot store them. The table does not retain clients, and removes
/// those that were released.
private final class KnownClients: Sendable {
    static let shared = KnownClients()

    private let known = Mutex<[ObjectIdentifier: Entry]>([:])

    private struct Entry {
        weak var client: HTTPClient?
        let traits: ClientTraits
    }

    func traits(of client: HTTPClient) -> ClientTraits {
        known.withLock { known in
            if let entry = known[ObjectIdentifier(client)], entry.client === client { return entry.traits }
            known = known.filter { $0.value.client != nil }
            let traits = ClientTraits(of: client)
            known[ObjectIdentifier(client)] = Entry(client: client, traits: traits)
            return traits
        }
    }
}

extension HTTPClient {
    /// The name of the type, and the rule that the client accepts no version of TLS before 1.2.
    public var stackPart: StackPart {
        StackPart(
            name: "HTTPClient",
            options: [.contentDecoders],
            rules: self.readConfiguration?.rulesOfTLS ?? []
        )
    }
}

extension HTTPClient {
    /// Returns `true`: this transport ends each exchange at its time limit itself.
    public func enforcesLimit(of request: HTTPRequestData) -> Bool {
        true
    }
}

extension AsyncHTTPClientTransport {
    /// Returns `true`: this transport ends each exchange at its time limit itself.
    public func enforcesLimit(of request: HTTPRequestData) -> Bool {
        true
    }
}
#endif
