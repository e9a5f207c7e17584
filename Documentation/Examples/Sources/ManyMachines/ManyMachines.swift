import Backend
import Crypto
import Foundation
import Networking
import NetworkingValkey

/// A machine of a service that sends orders to a vendor: all machines share the vendor's limit, the session and the
/// cached responses.
struct Machine: Sendable {
    private let network: any NetworkingComponent
    private let valkey: ValkeyClient

    /// Creates the machine.
    ///
    /// - Parameters:
    ///   - vendor: The URL of the vendor's API.
    ///   - socket: The socket of the server that the machines share; in production it is
    ///     `.host("valkey.internal")`, with TLS and a password in its configuration.
    ///   - secret: The secret of all machines, with which the server's contents are encrypted.
    /// - Throws: An error if the session cannot be read.
    init(vendor: URL, socket: String, secret: SymmetricKey) async throws {
        valkey = ValkeyClient(.unixSocket(socket), configuration: ValkeyConfiguration(timeout: .seconds(1)))
        let limits = ValkeyRateLimit(valkey, namespace: "shop")
        // While the server cannot be used, each of the three machines uses its share of the limit.
        let sharing = RateLimiter.Sharing(in: limits, as: "vendor", localShare: 1 / 3, timeout: .seconds(1))
        let key = SessionSealingKey(id: "2026-11", secret)
        let sessions = ValkeySessionStorage(valkey, namespace: "shop", keys: [key])
        let tokens = try await TokenStore(for: "shop", sharing: sessions, delegate: Renewal(url: vendor))
        network = URLSession.shared
            .timeout(.seconds(10))
            .rateLimited(by: RateLimiter(50, per: .seconds(1), burst: 5, sharing: sharing))
            .authenticated(with: tokens)
            .cached(in: ValkeyCacheStore(valkey, namespace: "shop", key: secret, timeout: .seconds(1)))
            .server(baseURL: vendor)
    }

    /// Returns the exchange rate, which another machine may have fetched.
    func rate() async throws -> Double? {
        let request = HTTPRequestData.get("rates").with(\.authenticationMethod, .anonymous)
        return try await network.request(request, as: [String: Double].self)["EUR"]
    }

    /// Sends orders at the same time.
    func send(orders: Int) async throws {
        let rate = try await rate() ?? 1
        try await withThrowingTaskGroup(of: HTTPResponse.Status.self) { group in
            for number in 1...orders {
                let order = ["number": Double(number), "rate": rate]
                group.addTask { try await network.data(.post("orders", body: .json(order))).status }
            }
            for try await status in group {
                expect(status == .created, "the vendor accepts an order")
            }
        }
        await valkey.shutdown()
    }
}

/// Renews the session with its refresh token, which the vendor accepts once.
struct Renewal: AuthenticationDelegate {
    let url: URL

    func refresh(
        _ session: Session,
        after response: HTTPResponseData?,
        over network: any NetworkingComponent
    ) async throws -> Session {
        let body = ["refreshToken": session.refreshToken]
        let request = HTTPRequestData(method: .post, url: url.appending(path: "token"), body: .json(body))
        let new = try await network.request(request, as: Session.self)
        return session.renewed(accessToken: new.accessToken, refreshToken: new.refreshToken)
    }
}

@main
enum ManyMachines {
    static func main() async throws {
        let arguments = CommandLine.arguments
        // The program starts itself for each machine.
        if arguments.count == 3, let vendor = URL(string: arguments[1]) {
            ChildProcess.endWithParent()
            let secret = ProcessInfo.processInfo.environment["SHARED_SECRET"] ?? ""
            let key = SymmetricKey(data: Data(secret.utf8))
            let machine = try await Machine(vendor: vendor, socket: arguments[2], secret: key)
            return try await machine.send(orders: 70)
        }
        guard let program = SharedServer.program else {
            return print("This example needs redis-server: apt-get install redis-server, or brew install redis.")
        }
        let service = VendorService()
        await withBackend(service) { backend in
            try await withTemporaryDirectory { directory in
                let server = try SharedServer(program, in: directory)
                try await share(service, at: backend.url, server.socket)
                await server.end()
            }
        }
    }

    /// Signs in and fetches the rate, runs three machines, and prints what they have shared.
    private static func share(_ service: VendorService, at vendor: URL, _ socket: String) async throws {
        let secret = UUID().uuidString
        let key = SymmetricKey(data: Data(secret.utf8))
        try await signIn(socket, SessionSealingKey(id: "2026-11", key))
        _ = try await Machine(vendor: vendor, socket: socket, secret: key).rate()

        let start = ContinuousClock.now
        let arguments = [vendor.absoluteString, socket]
        let machines = try (1...3)
            .map { _ in
                // Other users can read the arguments of a process, so the secret is in its environment.
                try ChildProcess(CommandLine.arguments[0], arguments, environment: ["SHARED_SECRET": secret])
            }
        for machine in machines {
            expect(await machine.exitCode() == 0, "all orders are accepted")
        }
        let seconds = (ContinuousClock.now - start) / .seconds(1)

        print("Three processes have sent \(service.orders) orders in \(Int(seconds.rounded())) seconds.")
        print("The limit is 50 per second for all, so no 210 orders take less than 4 seconds.")
        expect(service.orders == 210 && seconds >= 4, "the machines share the limit")
        print("Their session had expired; one of them has refreshed it. Refreshes: \(service.refreshes)")
        expect(service.refreshes == 1 && !service.isRevoked, "one machine refreshes the session for all")
        print("Each has used the exchange rate that another process had cached. Fetched: \(service.rates) time")
        expect(service.rates == 1, "the machines share the cached responses")
    }

    /// Stores a session that has expired, as soon as the server has started.
    private static func signIn(_ socket: String, _ key: SessionSealingKey) async throws {
        let valkey = ValkeyClient(.unixSocket(socket), configuration: ValkeyConfiguration(timeout: .seconds(1)))
        let session = Session(userID: "shop", accessToken: "access-0", refreshToken: "refresh-0", expirationDate: .now)
        let storage = ValkeySessionStorage(valkey, namespace: "shop", keys: [key])
        for _ in 1...100 where (try? await storage.save(session)) == nil {
            try await Task.sleep(for: .milliseconds(50))
        }
        expect(try await storage.session(for: "shop") == session, "the server has started")
        await valkey.shutdown()
    }
}
