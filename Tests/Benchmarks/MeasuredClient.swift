#if URLSession && AsyncHTTPClient && SQLite && Telemetry
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Networking
import NetworkingAsyncHTTPClient

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A client alone, its transport, and the stack of an app over that transport.
///
/// Both clients have their default settings, with the exceptions that the functions name.
struct MeasuredClient: Sendable {
    typealias Call = @Sendable (_ number: Int) async throws -> Void

    enum Name: String, CaseIterable {
        case asyncHTTPClient = "AsyncHTTPClient"
        case urlSession = "URLSession"

        /// The first part of a name of ``CountedStacks``.
        var countedName: String {
            self == .asyncHTTPClient ? "http" : "urlsession"
        }
    }

    /// What makes a call.
    enum Side: String, CaseIterable {
        case app, transport, client
    }

    let server: URL
    let transport: any NetworkingComponent
    /// Gets a path of the server with the client alone, and reads the body.
    private let get: @Sendable (_ path: String) async throws -> Void
    /// Gets and decodes a list of users with the client alone.
    private let users: @Sendable (_ path: String) async throws -> [User]
    let end: @Sendable () async throws -> Void

    /// Creates a client for a server, which offers HTTP/2 if it uses TLS.
    ///
    /// - Parameters:
    ///   - name: The client.
    ///   - server: The server.
    ///   - connections: The maximum number of connections over HTTP/1.1; `nil` for the client's default.
    init(_ name: Name, _ server: URL, connections: Int? = nil) {
        switch name {
        case .asyncHTTPClient: self = .asyncHTTPClient(server, connections)
        case .urlSession: self = .urlSession(server, connections)
        }
    }

    private init(
        _ server: URL,
        _ transport: any NetworkingComponent,
        get: @escaping @Sendable (String) async throws -> Void,
        users: @escaping @Sendable (String) async throws -> [User],
        end: @escaping @Sendable () async throws -> Void
    ) {
        (self.server, self.transport) = (server, transport)
        (self.get, self.users, self.end) = (get, users, end)
    }

    /// Returns a call of one side for a path, which must differ from call to call so that none shares an exchange.
    func call(_ side: Side, _ path: @escaping @Sendable (_ number: Int) -> String) -> Call {
        if side == .client {
            return { number in try await get(path(number)) }
        }
        return Self.call(network(side), path)
    }

    /// Returns a call over a network for a path.
    static func call(_ network: any NetworkingComponent, _ path: @escaping @Sendable (_ number: Int) -> String) -> Call
    {
        { number in
            let response = try await network.data(HTTPRequestData(path: path(number)))
            precondition(response.status == .ok)
        }
    }

    /// Returns a call that decodes a list of users.
    func typedCall(_ side: Side) -> Call {
        if side == .client {
            return { number in
                let users = try await users("json/\(number)")
                precondition(users.count == User.samples.count)
            }
        }
        let network = network(side)
        return { number in
            let (users, _) = try await network.value(Request<[User]>(HTTPRequestData(path: "json/\(number)")))
            precondition(users.count == User.samples.count)
        }
    }

    private func network(_ side: Side) -> any NetworkingComponent {
        side == .app ? transport.appStack(server) : transport.server(baseURL: server)
    }

    private static func asyncHTTPClient(_ server: URL, _ connections: Int?) -> MeasuredClient {
        func configured(_ configuration: HTTPClient.Configuration) -> HTTPClient.Configuration {
            var configuration = configuration
            if let connections {
                configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connections
            }
            #if SecureTestServer
            if server.scheme == "https" {
                configuration.tlsConfiguration = HTTP2.client
            }
            #endif
            return configuration
        }
        // Both use the event loops that they use by default.
        let raw = HTTPClient(configuration: configured(HTTPClient.Configuration()))
        let transport = AsyncHTTPClientTransport(configuration: configured(.networking))
        let base = server.absoluteString
        @Sendable func body(_ path: String) async throws -> ByteBuffer {
            let response = try await raw.execute(HTTPClientRequest(url: "\(base)/\(path)"), timeout: .seconds(10))
            precondition(response.status == .ok)
            return try await response.body.collect(upTo: 64 << 20)
        }
        return MeasuredClient(server, transport) { path in
            _ = try await body(path)
        } users: { path in
            try JSONDecoder().decode([User].self, from: Data(try await body(path).readableBytesView))
        } end: {
            try await transport.shutdown()
            try await raw.shutdown()
        }
    }

    private static func urlSession(_ server: URL, _ connections: Int?) -> MeasuredClient {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        if let connections {
            configuration.httpMaximumConnectionsPerHost = connections
        }
        let raw = URLSession(configuration: configuration)
        let base = server.absoluteString
        @Sendable func body(_ path: String) async throws -> Data {
            let (data, response) = try await raw.data(for: URLRequest(url: URL(string: "\(base)/\(path)")!))
            precondition((response as? HTTPURLResponse)?.statusCode == 200)
            return data
        }
        return MeasuredClient(server, URLSessionTransport(configuration: configuration)) { path in
            _ = try await body(path)
        } users: { path in
            try JSONDecoder().decode([User].self, from: try await body(path))
        } end: {
            raw.invalidateAndCancel()
        }
    }
}

/// Calls under a load, which are measured in turns.
struct MeasuredCase: Sendable {
    let name: String
    let load: Load
    let rounds: Int
    let calls: @Sendable (MeasuredClient) -> [MeasuredClient.Call]

    /// The number of times that the clients are created.
    ///
    /// With several event loops it is chance which of them a connection uses, and the cost of a call depends on that.
    static let clients = 5

    /// Measures cases with several clients, one after the other.
    ///
    /// - Returns: For each case, its rounds: the costs of its calls.
    static func measure(
        _ cases: [MeasuredCase],
        clients: Int = clients,
        over client: () -> MeasuredClient
    ) async throws -> [[[Cost]]] {
        var rounds = [[[Cost]]](repeating: [], count: cases.count)
        for _ in 0..<clients {
            let client = client()
            for (index, measured) in cases.enumerated() {
                rounds[index] += try await measured.load.rounds(measured.rounds, of: measured.calls(client))
            }
            try await client.end()
        }
        return rounds
    }
}
#endif
