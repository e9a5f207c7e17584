import Foundation
import Networking
import NetworkingTestServer

/// Reads an event stream that loses its connection.
enum Events {
    static func show(_ server: TestServer) async throws {
        Terminal.title("14. An event stream reconnects after a lost connection")
        Terminal.code(
            """
            for try await event in try await network.events(HTTPRequestData(path: "news")) {
                print(event.id, event.data)
            }
            """
        )
        let network = URLSession.shared.timeout(.seconds(10)).instrument(Tour.instrument).server(baseURL: server.url)
        var count = 0
        for try await event in try await network.events(HTTPRequestData(path: "news")) {
            Terminal.say("event \(event.id): \(event.data)")
            count += 1
        }
        let connections = server.requests(for: .get, path: "/news").count
        Terminal.say("\(count) events over \(connections) connections. The last response ended the stream.")
        try Tour.expect(count == 3 && connections == 3, "the events continue after a reset")
    }
}
