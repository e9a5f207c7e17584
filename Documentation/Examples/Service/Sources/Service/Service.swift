// A service with Hummingbird that calls two other services: it starts, answers, exports metrics, and stops in order.
// Documentation/Servers.md explains each part.
import Foundation
import Hummingbird
import Logging
import Metrics
import Networking
import NetworkingAsyncHTTPClient
import NetworkingTestServer
import ServiceLifecycle

@main
struct Service {
    static func main() async throws {
        let metrics = PrometheusRegistry()
        MetricsSystem.bootstrap(metrics)
        // In production, these servers are other services.
        try await withTestServer { inventory in
            try await withTestServer { prices in
                inventory.route(.get, "/items/:id", responses: TestResponse(status: .notFound))
                prices.route(.get, "/prices/:id", responses: TestResponse(status: .notFound))
                inventory.route(.get, "/items/1", responses: try .json(Item(name: "Teapot")))
                prices.route(.get, "/prices/1", responses: try .json(Price(cents: 1_900)))
                inventory.route(.get, "/items/2", responses: try .json(Item(name: "Cup")))
                prices.route(.get, "/prices/2", responses: TestResponse(status: .serviceUnavailable))
                try await run(inventory: inventory.url, prices: prices.url, metrics)
            }
        }
    }

    private static func run(inventory: URL, prices: URL, _ metrics: PrometheusRegistry) async throws {
        let logger = Logger(label: "shop")
        let shutdown = StackShutdown(within: .seconds(20))
        let upstreams = Upstreams(
            over: AsyncHTTPClientTransport(),
            inventory: inventory,
            prices: prices,
            until: shutdown
        )
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        var application = Application(
            router: router(upstreams, metrics),
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { port.yield($0.localAddress?.port ?? 0) },
            logger: logger
        )
        // Hummingbird stops its server first, then the client that its handlers use.
        application.addServices(shutdown)
        let group = ServiceGroup(services: [application], gracefulShutdownSignals: [.sigterm], logger: logger)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            guard let number = await ports.first(where: { _ in true }) else { return }
            try await visit(URL(string: "http://127.0.0.1:\(number)")!)
            // As on SIGTERM.
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }

    /// What callers of the service see.
    private static func visit(_ address: URL) async throws {
        let shutdown = StackShutdown()
        let service = AsyncHTTPClientTransport().drained(by: shutdown).server(baseURL: address)
        for id in 1...3 {
            let response = try await service.data(.get("offers/\(id)"))
            print("offers/\(id)", response.status.code, response.text ?? "")
        }
        let metrics = try await service.data(.get("metrics")).text ?? ""
        for line in metrics.split(separator: "\n") where line.hasPrefix("networking_client_call_duration_count") {
            print(line)
        }
        try await shutdown.drain()
    }
}
