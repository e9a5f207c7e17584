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

/// The stack of an app over each transport, relative to its client alone: calls a second and CPU time.
///
/// The server runs in another process. Each call has its own URL, so no call shares the exchange of another.
enum TransportRatio {
    /// The number of times that both clients are created.
    ///
    /// With several event loops it is chance which of them a connection uses, and the cost of a call depends on that.
    private static let clientsPerRow = 5

    static func measureAsyncHTTPClient() async throws -> [Row] {
        try await ChildProcess.withServer { server in
            // Both use the event loops that they use by default.
            try await measure("AsyncHTTPClient", HTTPClient(), AsyncHTTPClientTransport()) { transport, raw in
                cases(transport, raw, server)
            }
        }
    }

    /// Measures the stack and the transport alone over a server of HTTP/2.
    static func measureHTTP2(
        client: HTTPClient.Configuration,
        transport: HTTPClient.Configuration
    ) async throws -> [Row] {
        try await ChildProcess.withServer("serve-http2", scheme: "https") { server in
            try await measure(
                "HTTP/2",
                HTTPClient(configuration: client),
                AsyncHTTPClientTransport(configuration: transport)
            ) { transport, raw in
                cases(transport, raw, server)
                    .filter { $0.name.hasPrefix("app stack,") || $0.name.hasPrefix("transport alone") }
                    .map { row in
                        var row = row
                        row.gate = nil
                        return row
                    }
            }
        }
    }

    /// Measures cases with several clients and transports, which the arguments create.
    private static func measure(
        _ name: String,
        _ client: @autoclosure () -> HTTPClient,
        _ ownTransport: @autoclosure () -> AsyncHTTPClientTransport,
        _ cases: (AsyncHTTPClientTransport, HTTPClient) -> [Case]
    ) async throws -> [Row] {
        var pairs: [String: [CostPair]] = [:]
        var measured: [Case] = []
        for _ in 0..<clientsPerRow {
            let raw = client()
            let transport = ownTransport()
            measured = cases(transport, raw)
            for row in measured {
                pairs[row.name, default: []] += try await row.load.pairs(
                    rounds: row.rounds,
                    of: row.call,
                    to: row.reference
                )
            }
            try await transport.shutdown()
            try await raw.shutdown()
        }
        return measured.map { row in
            Comparison(of: pairs[row.name] ?? []).row("\(name): \(row.name)", gate: row.gate)
        }
    }

    /// A row of the report.
    private struct Case {
        let name: String
        let load: Load
        let rounds: Int
        var gate: Double?
        let call: @Sendable (Int) async throws -> Void
        let reference: @Sendable (Int) async throws -> Void
    }

    private static func cases(
        _ transport: AsyncHTTPClientTransport,
        _ raw: HTTPClient,
        _ server: URL
    ) -> [Case] {
        let base = server.absoluteString
        @Sendable func collect(_ path: String) async throws -> ByteBuffer {
            let response = try await raw.execute(HTTPClientRequest(url: base + path), timeout: .seconds(10))
            precondition(response.status == .ok)
            return try await response.body.collect(upTo: 64 << 20)
        }
        func get(
            _ name: String,
            over network: any NetworkingComponent,
            callers: Int,
            rounds: Int,
            gate: Double? = nil
        ) -> Case {
            Case(
                name: "\(name), \(callers) callers",
                load: Load(callers: callers, total: 1_536),
                rounds: rounds,
                gate: gate
            ) { number in
                let response = try await network.data(HTTPRequestData(path: "items/\(number)"))
                precondition(response.status == .ok)
            } reference: { number in
                _ = try await collect("/items/\(number)")
            }
        }
        let stack = transport.appStack(server)
        let unshared = transport.appStackWithoutSharing(server)
        let alone = transport.server(baseURL: server)
        var cases: [Case] = []
        for callers in [1, 16, 64, 256] {
            cases.append(get("app stack", over: stack, callers: callers, rounds: 4, gate: callers > 1 ? 0.75 : nil))
            cases.append(get("without deduplicated", over: unshared, callers: callers, rounds: 2))
            cases.append(get("transport alone", over: alone, callers: callers, rounds: 2))
        }
        cases += transport.parts(server).map { get($0.name, over: $0.network, callers: 64, rounds: 2) }
        cases.append(
            Case(
                name: "app stack, typed JSON, 16 callers",
                load: Load(callers: 16, total: 768),
                rounds: 4,
                gate: 0.9
            ) { number in
                let (users, _) = try await stack.value(Request<[User]>(HTTPRequestData(path: "json/\(number)")))
                precondition(users.count == User.samples.count)
            } reference: { number in
                let data = Data(try await collect("/json/\(number)").readableBytesView)
                let users = try JSONDecoder().decode([User].self, from: data)
                precondition(users.count == User.samples.count)
            }
        )
        return cases
    }

    static func measureURLSession() async throws -> [Row] {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        let raw = URLSession(configuration: configuration)
        defer { raw.invalidateAndCancel() }
        return try await ChildProcess.withServer { server in
            try await measure(URLSessionTransport(configuration: configuration), raw, server)
        }
    }

    private static func measure(
        _ transport: URLSessionTransport,
        _ raw: URLSession,
        _ server: URL
    ) async throws -> [Row] {
        let base = server.absoluteString
        @Sendable func collect(_ path: String) async throws -> Data {
            let (data, response) = try await raw.data(for: URLRequest(url: URL(string: base + path)!))
            precondition((response as? HTTPURLResponse)?.statusCode == 200)
            return data
        }
        func row(
            _ name: String,
            of network: any NetworkingComponent,
            callers: Int,
            total: Int = 512,
            path: String = "items",
            rounds: Int,
            gate: Double? = nil
        ) async throws -> Row {
            try await Load(callers: callers, total: total)
                .compare(rounds: rounds) { number in
                    let response = try await network.data(
                        HTTPRequestData(path: path == "items" ? "items/\(number)" : path)
                    )
                    precondition(response.status == .ok)
                } to: { number in
                    _ = try await collect(path == "items" ? "/items/\(number)" : "/\(path)")
                }
                .row("URLSession: \(name), \(callers) callers", gate: gate)
        }
        let stack = transport.appStack(server)
        let unshared = transport.appStackWithoutSharing(server)
        let alone = transport.server(baseURL: server)
        return [
            try await row("app stack", of: stack, callers: 1, rounds: 21, gate: 0.85),
            try await row("without deduplicated", of: unshared, callers: 1, rounds: 11),
            try await row("transport alone", of: alone, callers: 1, rounds: 11),
            try await row("app stack", of: stack, callers: 16, rounds: 21, gate: 0.9),
            try await row("without deduplicated", of: unshared, callers: 16, rounds: 11),
            try await row("transport alone", of: alone, callers: 16, rounds: 11),
            try await row("app stack", of: stack, callers: 64, rounds: 11),
            try await row("app stack", of: stack, callers: 256, rounds: 11),
            try await row(
                "app stack, 10 MiB",
                of: stack,
                callers: 1,
                total: 5,
                path: "large",
                rounds: 11,
                gate: 1.1
            ),
            try await Load(callers: 16, total: 512)
                .compare(rounds: 21) { number in
                    let (users, _) = try await stack.value(Request<[User]>(HTTPRequestData(path: "json/\(number)")))
                    precondition(users.count == User.samples.count)
                } to: { number in
                    let users = try JSONDecoder().decode([User].self, from: try await collect("/json/\(number)"))
                    precondition(users.count == User.samples.count)
                }
                .row("URLSession: app stack, typed JSON, 16 callers", gate: 0.9),
        ]
    }
}
#endif
