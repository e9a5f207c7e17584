#if URLSession && AsyncHTTPClient && SQLite
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOPosix
import Networking
import NetworkingAsyncHTTPClient

/// The nine-modifier stack over each transport against its client alone, in requests a second.
enum TransportRatio {
    static func measureURLSession() async throws -> [Row] {
        let server = try await LoopbackServer.start()
        let rows = try await measureURLSession(port: server.port)
        try await server.stop()
        return rows
    }

    static func measureAsyncHTTPClient() async throws -> [Row] {
        let server = try await LoopbackServer.start()
        let rows = try await measureAsyncHTTPClient(port: server.port)
        try await server.stop()
        return rows
    }

    private static func measureAsyncHTTPClient(port: Int) async throws -> [Row] {
        // One event loop for both: with several it is luck how often a request changes between them.
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let raw = HTTPClient(eventLoopGroup: group)
        let transport = AsyncHTTPClientTransport(eventLoopGroup: group)
        let url = "http://127.0.0.1:\(port)/small"
        let bare = transport.server(baseURL: URL(string: "http://127.0.0.1:\(port)")!)
        let nine = transport.stackOfNine(authority: "127.0.0.1:\(port)", scheme: "http")
        var rows: [Row] = []
        for (name, network, gate) in [("transport alone", bare as any NetworkingComponent, nil), ("nine", nine, 0.9)] {
            let measured = try await Measurement.ratio(rounds: 31) {
                try await run(callers: 16, count: 200) { _ = try await network.data(HTTPRequestData(path: "small")) }
            } to: {
                try await run(callers: 16, count: 200) {
                    let response = try await raw.execute(HTTPClientRequest(url: url), timeout: .seconds(10))
                    _ = try await response.body.collect(upTo: 64 << 20)
                }
            }
            rows.append(
                Row(name: "AsyncHTTPClient: \(name), 16 callers, 1 KiB", value: measured.median, unit: "x", gate: gate)
            )
        }
        try await transport.shutdown()
        try await raw.shutdown()
        try await group.shutdownGracefully()
        return rows
    }

    private static func measureURLSession(port: Int) async throws -> [Row] {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        let raw = URLSession(configuration: configuration)
        defer { raw.invalidateAndCancel() }
        let transport = URLSessionTransport(configuration: configuration)
        let bare = transport.server(baseURL: URL(string: "http://127.0.0.1:\(port)")!)
        let nine = transport.stackOfNine(authority: "127.0.0.1:\(port)", scheme: "http")

        func ratio(
            _ name: String,
            of network: any NetworkingComponent,
            callers: Int,
            count: Int,
            path: String,
            gate: Double? = nil
        ) async throws -> Row {
            let url = URL(string: "http://127.0.0.1:\(port)\(path)")!
            let measured = try await Measurement.ratio(rounds: 31) {
                try await run(callers: callers, count: count) {
                    _ = try await network.data(HTTPRequestData(path: path))
                }
            } to: {
                try await run(callers: callers, count: count) { _ = try await raw.data(for: URLRequest(url: url)) }
            }
            return Row(name: name, value: measured.median, unit: "x", gate: gate)
        }

        return [
            try await ratio("transport alone, 16 callers, 1 KiB", of: bare, callers: 16, count: 50, path: "/small"),
            try await ratio("transport alone, 1 caller, 1 KiB", of: bare, callers: 1, count: 300, path: "/small"),
            try await ratio("nine, 16 callers, 1 KiB", of: nine, callers: 16, count: 50, path: "/small", gate: 0.95),
            try await ratio("nine, 1 caller, 1 KiB", of: nine, callers: 1, count: 300, path: "/small", gate: 0.85),
            try await ratio("nine, 1 caller, 10 MiB", of: nine, callers: 1, count: 5, path: "/large", gate: 1.1),
        ]
    }

    /// Has some callers make a number of calls each.
    private static func run(
        callers: Int,
        count: Int,
        _ operation: @escaping @Sendable () async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup { group in
            for _ in 0..<callers {
                group.addTask {
                    for _ in 0..<count {
                        try await operation()
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
#endif
