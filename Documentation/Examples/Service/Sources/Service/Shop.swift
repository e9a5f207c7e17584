import Foundation
import Hummingbird
import Networking
import NetworkingTelemetry

/// What the service answers: an item of one service, with the price of another.
struct Offer: Codable {
    let name: String
    let cents: Int?
}

struct Item: Codable {
    let name: String
}

struct Price: Codable {
    let cents: Int?
}

/// The services that this one calls.
///
/// Create it once, because limits, circuits and connections belong to it.
struct Upstreams: Sendable {
    private let inventory, prices: any NetworkingComponent

    init(
        over transport: some NetworkingComponent,
        inventory: URL,
        prices: URL,
        until shutdown: StackShutdown
    ) {
        let service =
            transport
            .standard(.server)
            .checkedStatusCode()
            .drained(by: shutdown)
            .logged()
            .telemetry()
        self.inventory = service.server(baseURL: inventory)
        // An offer without a price is better than none.
        self.prices =
            service
            .fallback { request, _ in HTTPResponseData(request: request, data: Data("{}".utf8)) }
            .server(baseURL: prices)
    }

    func offer(_ id: Int) async throws -> Offer {
        async let item: Item = inventory.request(.get("items/\(id)").with(\.route, "/items/{id}"))
        async let price: Price = prices.request(.get("prices/\(id)").with(\.route, "/prices/{id}"))
        return try await Offer(name: item.name, cents: price.cents)
    }
}

extension Offer: ResponseEncodable {}

/// The routes of the service.
func router(_ upstreams: Upstreams, _ metrics: PrometheusRegistry) -> Router<BasicRequestContext> {
    let router = Router()
    router.get("offers/:id") { _, context in
        let id = try context.parameters.require("id", as: Int.self)
        do {
            return try await upstreams.offer(id)
        } catch let error as NetworkingError where error.status == .notFound {
            throw HTTPError(.notFound)
        } catch  where error.isCancelled {
            throw error
        } catch {
            // The log has the reason. The caller learns only that another service failed.
            context.logger.warning("no offer", metadata: ["item": "\(id)", "error": "\(error)"])
            throw HTTPError(.badGateway)
        }
    }
    router.get("metrics") { _, _ in metrics.text }
    return router
}
