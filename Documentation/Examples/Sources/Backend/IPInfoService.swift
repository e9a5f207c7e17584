import Networking
import NetworkingTestServer

/// Simulates ipinfo.io: returns the location of an address to clients with a token.
package struct IPInfoService: Service {
    private let token: String

    package init(token: String) {
        self.token = token
    }

    package func script(_ server: TestServer) {
        server.route(.get, "/:address") { request in
            response(to: request, about: request.parameters["address"] ?? "")
        }
        // A later route takes precedence, and a parameter may be empty.
        server.route(.get, "/") { request in response(to: request, about: "203.0.113.7") }
    }

    private func response(to request: RecordedRequest, about address: String) -> TestResponse {
        guard request.headerFields[.authorization] == "Bearer \(token)" else {
            return .json(text: #"{"status": 403, "error": {"title": "Unknown token"}}"#, status: .forbidden)
        }
        // Browsers receive a page.
        guard request.headerFields[.accept] == "application/json" else { return .text("<html>…</html>") }
        return switch address {
        case "203.0.113.7":
            .json(text: #"{"ip": "203.0.113.7", "city": "Zürich", "country": "CH"}"#)
        case "8.8.8.8":
            .json(
                text: #"{"ip": "8.8.8.8", "hostname": "dns.google", "city": "Mountain View", "country": "US"}"#
            )
        default:
            .json(text: #"{"status": 404, "error": {"title": "Wrong ip"}}"#, status: .notFound)
        }
    }
}
