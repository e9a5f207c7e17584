import Foundation
import Networking
import NetworkingTestServer

/// A transport that sends the requests for every host to one server on this machine, for clients with fixed URLs.
///
/// An app uses `URLSession.shared` instead.
package struct LocalInternet: NetworkingComponent {
    private let server: TestServer

    /// Creates the transport.
    ///
    /// - Parameter server: The server, which simulates every host.
    package init(_ server: TestServer) {
        self.server = server
    }

    package func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        var local = request
        local.scheme = "http"
        local.authority = server.authority
        let response = try await URLSession.shared.send(local)
        // The client must not notice the other host: it would not renew its tokens after a 401 of another server.
        return HTTPResponseData(request: request, http: response.http, body: response.body)
    }
}
