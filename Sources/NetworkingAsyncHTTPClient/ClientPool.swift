#if AsyncHTTPClient
import AsyncHTTPClient
import NetworkingCore
import NetworkingTrust
import NIOCore
import NIOPosix
import Synchronization

/// The clients of a transport, which separate the connections of its users and of hosts with pins or identities.
///
/// Every client has its own connections, and there is no other way to choose one. A connection does not know the host
/// that it was made for, so the client of a host with pins makes connections to that host alone. All clients share the
/// event loops. The number of clients without a request is limited, and the least recently used ones are shut down.
final class ClientPool: Sendable {
    /// The maximum count of clients kept without a request in progress, each as many times as it had requests at the
    /// same time.
    static let maximumIdle = 64

    private let common: HTTPClient
    private let reuse: ConnectionReuse
    private let trust: ServerTrust?
    private let traits: ClientTraits
    private let configuration: HTTPClient.Configuration
    private let identities: [LoadedIdentity]
    private let group: any EventLoopGroup
    private let streams: OpenStreams
    private let multiplexed = MultiplexedServers()
    private let state = Mutex(State())

    /// The requests that may share connections.
    private struct Partition: Hashable {
        /// The user, if the transport separates users.
        let owner: ConnectionOwner?
        /// The pins and the identity of the host, if it has any.
        let host: HostTrust?
    }

    private struct State {
        var entries = KeyedPool<Partition, Entry>(maximumIdle: ClientPool.maximumIdle)
        var isShutDown = false
        /// The number of clients outside of the pool that are not shut down yet.
        var closing = 0
        /// The shutdown, which waits for these clients.
        var waiter: Suspension<Void>?
    }

    private struct Entry {
        let client: HTTPClient
        let reports: PinReports

        /// Makes one exchange, and reports the mismatches of pins to its listeners.
        func respond(
            to request: HTTPRequestData,
            as traits: ClientTraits,
            over connections: ClientConnections
        ) async throws -> HTTPResponseData {
            do {
                defer {
                    for mismatch in reports.take() {
                        request.emit(TrustEvent.mismatchReported(mismatch))
                    }
                }
                return try await client.respond(to: request, as: traits, over: connections)
            } catch let error as NetworkingError {
                if let mismatch = error.pinMismatch {
                    request.emit(TrustEvent.mismatchRefused(mismatch))
                }
                throw error
            }
        }
    }

    /// Creates the clients.
    ///
    /// - Parameters:
    ///   - configuration: The configuration of each client.
    ///   - reuse: Which requests may share connections.
    ///   - trust: The servers to trust; `nil` for those of the configuration.
    ///   - eventLoopGroup: The event loops of all clients.
    /// - Throws: `ServerTrustError` if this transport cannot enforce `trust`, or an identity cannot be read.
    convenience init(
        _ configuration: HTTPClient.Configuration,
        reuse: ConnectionReuse,
        trust: ServerTrust,
        eventLoopGroup: any EventLoopGroup
    ) throws(ServerTrustError) {
        guard ClientBootstrap(validatingGroup: eventLoopGroup) != nil else {
            throw ServerTrustError(
                "The event loops are those of Network.framework, which does not show the certificates of servers. Pass "
                    + "MultiThreadedEventLoopGroup.singleton."
            )
        }
        if let pins = trust.pins.first(where: { $0.scope == .validatedChain }) {
            throw ServerTrustError(
                "The pins of \(pins.host) have the scope validatedChain, but AsyncHTTPClient does not show the chain "
                    + "that it has validated. "
                    + "Pin the server's own key, or trust only its authority with roots: .only(_:)."
            )
        }
        let identities = try trust.clientIdentities.map { identity throws(ServerTrustError) in
            try LoadedIdentity(identity)
        }
        self.init(try configuration.applying(trust), reuse, trust, identities, eventLoopGroup)
    }

    /// Creates the clients of a transport without a `ServerTrust`.
    convenience init(
        _ configuration: HTTPClient.Configuration,
        reuse: ConnectionReuse,
        eventLoopGroup: any EventLoopGroup
    ) {
        self.init(configuration, reuse, nil, [], eventLoopGroup)
    }

    private init(
        _ configuration: HTTPClient.Configuration,
        _ reuse: ConnectionReuse,
        _ trust: ServerTrust?,
        _ identities: [LoadedIdentity],
        _ eventLoopGroup: any EventLoopGroup
    ) {
        self.reuse = reuse
        self.trust = trust
        traits = ClientTraits(ofOwnClientWith: configuration)
        self.configuration = configuration
        self.identities = identities
        group = eventLoopGroup
        streams = OpenStreams(limit: configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit)
        common = HTTPClient(eventLoopGroup: group, configuration: configuration)
    }

    /// The number of clients besides the common one.
    var separateCount: Int {
        state.withLock { $0.entries.resources.count }
    }

    // MARK: Exchanges

    /// Makes one exchange, over a connection that the request may use.
    func respond(to request: HTTPRequestData) async throws -> HTTPResponseData {
        let host = try trust?.hostTrust(for: request)
        let partition = Partition(owner: owner(of: request), host: host)
        let connections = ClientConnections(streams: streams, owner: partition.owner, multiplexed: multiplexed)
        guard reuse != .never else { return try await respondOnNewConnection(to: request, of: partition, connections) }
        guard partition.owner != nil || host != nil else {
            return try await common.respond(to: request, as: traits, over: connections)
        }
        guard let entry = borrow(partition) else { throw request.transportIsShutDown }
        defer { giveBack(partition) }
        return try await entry.respond(to: request, as: traits, over: connections)
    }

    /// The user for whom the connection of a request is kept; `nil` if all users may share it.
    private func owner(of request: HTTPRequestData) -> ConnectionOwner? {
        guard reuse == .sameCredentials, !multiplexed.contains(request) else { return nil }
        return ConnectionOwner(of: request)
    }

    private func respondOnNewConnection(
        to request: HTTPRequestData,
        of partition: Partition,
        _ connections: ClientConnections
    ) async throws -> HTTPResponseData {
        let entry = state.withLock { state -> Entry? in
            guard !state.isShutDown else { return nil }
            state.closing += 1
            return makeEntry(for: partition.host)
        }
        guard let entry else { throw request.transportIsShutDown }
        defer { close(entry) }
        return try await entry.respond(to: request, as: traits, over: connections)
    }

    /// Returns the reason why a request may have waited for a connection; `nil` if nothing is known.
    func connectionShortage(for request: HTTPRequestData) -> String? {
        streams.shortage(for: request, owner: owner(of: request))
    }

    // MARK: Clients

    /// Returns the client of a partition; `nil` after the shutdown.
    private func borrow(_ partition: Partition) -> Entry? {
        state.withLock { state in
            // An exchange that started before the shutdown must not create a client that is never shut down.
            guard !state.isShutDown else { return nil }
            return state.entries.borrow(partition) { makeEntry(for: partition.host) }
        }
    }

    private func makeEntry(for host: HostTrust?) -> Entry {
        var configuration = configuration
        if let index = host?.identityIndex {
            identities[index].apply(to: &configuration)
        }
        let reports = PinReports()
        if let host, host.pins != nil {
            configuration.checkPins(of: host) { reports.append($0) }
        }
        return Entry(client: HTTPClient(eventLoopGroup: group, configuration: configuration), reports: reports)
    }

    /// Ends the use of a client, and shuts clients down if too many are unused.
    private func giveBack(_ partition: Partition) {
        let surplus = state.withLock { state in
            let surplus = state.entries.giveBack(partition)
            state.closing += surplus.count
            return surplus
        }
        for entry in surplus {
            close(entry)
        }
    }

    /// Shuts down a client that is counted as closing.
    private func close(_ entry: Entry) {
        entry.client.shutdown { [self] _ in
            let waiter = state.withLock { state in
                state.closing -= 1
                return state.closing == 0 ? state.waiter : nil
            }
            waiter?.resume()
        }
    }

    // MARK: Shutdown

    /// Removes all clients, and lets no exchange create another one.
    private func removeAll() -> [HTTPClient] {
        [common]
            + state.withLock { state in
                state.isShutDown = true
                return state.entries.removeAll().map(\.client)
            }
    }

    /// Shuts all clients down, also if one of them fails.
    func shutdown() async throws {
        var failure: (any Error)?
        for client in removeAll() {
            do {
                try await client.shutdown()
            } catch {
                failure = failure ?? error
            }
        }
        let waiter = Suspension<Void>()
        let isClosing = state.withLock { state in
            state.waiter = waiter
            return state.closing > 0
        }
        if isClosing {
            try? await waiter.value(until: nil)
        }
        if let failure { throw failure }
    }

    /// Starts the shutdown of all clients without waiting for it.
    func beginShutdown() {
        for client in removeAll() {
            client.shutdown { _ in }
        }
    }
}

/// What an exchange knows of its transport's connections.
struct ClientConnections: Sendable {
    let streams: OpenStreams
    /// The user of the connection, if the transport separates users.
    let owner: ConnectionOwner?
    let multiplexed: MultiplexedServers

    /// Begins an exchange, and reports if it has to wait for a connection.
    func begin(_ request: HTTPRequestData) -> OpenStreams.Part? {
        streams.begin(request, owner: owner)
    }
}

/// The servers whose last response over TLS came over HTTP/2.
///
/// A connection of HTTP/2 serves all users, because each response there names its request. A separate connection for
/// each user would only cost a handshake.
final class MultiplexedServers: Sendable {
    /// More than a client is likely to use.
    private static let maximumCount = 1_000

    private let count = Atomic(0)
    private let servers = Mutex<Set<AuthorityKey>>([])

    /// Whether the server of a request has responded over HTTP/2.
    func contains(_ request: HTTPRequestData) -> Bool {
        guard count.load(ordering: .relaxed) > 0, request.scheme != "http", let key = request.authorityKey else {
            return false
        }
        return servers.withLock { $0.contains(key) }
    }

    /// Records the protocol of a response.
    func record(isMultiplexed: Bool, of request: HTTPRequestData) {
        guard isMultiplexed || count.load(ordering: .relaxed) > 0 else { return }
        guard request.scheme != "http", let key = request.authorityKey else { return }
        servers.withLock { servers in
            if !isMultiplexed {
                servers.remove(key)
            } else if servers.count < Self.maximumCount {
                servers.insert(key)
            }
            count.store(servers.count, ordering: .relaxed)
        }
    }
}
#endif
