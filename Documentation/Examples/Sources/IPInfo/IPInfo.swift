import Backend
import Foundation
import NetworkClient
import NetworkClientLive
import Networking

/// A client for the API of ipinfo.io, over the stack that all API clients of the app share.
struct IPInfoClient: Sendable {
    private let network: any NetworkingComponent

    init(_ client: NetworkClient, token: String, scheme: String = "https", authority: String = "ipinfo.io") {
        network = client.network()
            .server(headerFields: [.authorization(bearer: token), .accept(.json)])
            .server(scheme: scheme)
            .server(authority: authority)
    }

    /// Returns the location of an address, or of the caller's own address for `nil`.
    func fetch(address: String? = nil) async throws -> Location {
        let path: RequestPath = if let address { "\(address)" } else { "/" }
        return try await network.request(.get(path), as: Location.self)
    }
}

struct Location: Decodable, Sendable {
    let ip: String
    let hostname: String?
    let city: String
    let country: String
}

/// The body of an error of ipinfo.io.
struct Problem: Decodable {
    let error: Details

    struct Details: Decodable {
        let title: String
    }
}

@main
enum IPInfo {
    static func main() async {
        await withBackend(IPInfoService(token: "example-token")) { server in
            // In an app: IPInfoClient(.live, token: token).
            let ipInfo = IPInfoClient(
                .live,
                token: "example-token",
                scheme: "http",
                authority: server.authority
            )

            let home = try await ipInfo.fetch()
            print("This machine is \(home.ip), in \(home.city), \(home.country).")
            expect(home.city == "Zürich", "without an address, the location is the caller's own")

            let resolver = try await ipInfo.fetch(address: "8.8.8.8")
            print("8.8.8.8 is \(resolver.hostname ?? "a host without a name"), in \(resolver.city).")
            expect(resolver.hostname == "dns.google", "the address has a host name")

            do {
                _ = try await ipInfo.fetch(address: "not/an address?")
                expect(false, "an invalid address is an error")
            } catch let error as NetworkingError where error.kind == .status {
                let problem = try error.decodeBody(as: Problem.self)
                print("The server refuses an invalid address: \(problem?.error.title ?? "no reason").")
                expect(problem?.error.title == "Wrong ip", "the error has the body of the response")
            }
            // The slash and the question mark are a part of the address, and not of the URL.
            expect(server.requests.last?.path == "/not%2Fan%20address%3F", "values in a path are escaped")
        }
    }
}
