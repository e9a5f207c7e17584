import Foundation
import Networking
import NetworkingTestServer
import Synchronization

/// Simulates the API of a vendor, which counts the requests of all machines and accepts each refresh token once.
package final class VendorService: Service {
    private let state = Mutex(State())

    private struct State {
        var orders = 0
        var rates = 0
        var token = 0
        var isRevoked = false
    }

    package init() {}

    /// The number of orders that have arrived.
    package var orders: Int {
        state.withLock { $0.orders }
    }

    /// The number of requests for the exchange rates.
    package var rates: Int {
        state.withLock { $0.rates }
    }

    /// The number of refreshes.
    package var refreshes: Int {
        state.withLock { $0.token }
    }

    /// Whether a refresh token has arrived twice, after which no token is valid.
    package var isRevoked: Bool {
        state.withLock { $0.isRevoked }
    }

    package func script(_ server: TestServer) {
        server.route(.post, "/orders") { [self] request in
            let isAccepted = state.withLock { state in
                state.orders += 1
                return !state.isRevoked && state.token > 0
                    && request.headerFields[.authorization] == "Bearer access-\(state.token)"
            }
            return .status(isAccepted ? .created : .unauthorized)
        }
        server.route(.get, "/rates") { [self] _ in
            state.withLock { $0.rates += 1 }
            return .json(text: #"{"EUR": 1.08}"#, headerFields: [.cacheControl: "max-age=60"])
        }
        server.route(.post, "/token") { [self] request in
            let token = try request.json(as: [String: String].self)["refreshToken"]
            let number: Int? = state.withLock { state in
                guard !state.isRevoked, token == "refresh-\(state.token)" else {
                    state.isRevoked = true
                    return nil
                }
                state.token += 1
                return state.token
            }
            guard let number else { return .status(.forbidden) }
            return try .json(["accessToken": "access-\(number)", "refreshToken": "refresh-\(number)"])
        }
    }
}
