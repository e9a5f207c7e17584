#if TestServer
import NetworkingTestServer

/// Runs a closure with a connection to a server and closes the connection afterwards.
func withClient<Result>(
    of server: TestServer,
    _ body: (inout RawClient) async throws -> Result
) async throws -> Result {
    var client = try await RawClient(to: server)
    do {
        let result = try await body(&client)
        await client.close()
        return result
    } catch {
        await client.close()
        throw error
    }
}

/// Sends one request on a new connection and returns the response as it is on the wire.
func response(of server: TestServer, to request: String) async throws -> String {
    try await withClient(of: server) { client in
        try await client.send(request)
        return try await client.receiveResponse()
    }
}

/// Returns a request without fields.
func get(_ target: String) -> String {
    "GET \(target) HTTP/1.1\r\n\r\n"
}
#endif
