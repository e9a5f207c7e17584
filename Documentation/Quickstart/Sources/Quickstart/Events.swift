import Foundation
import Networking
import NetworkingTestServer

/// A stream of events whose connection breaks.
enum Events {
    static func show(_ server: TestServer) async throws {
        Terminal.title("14. A stream of events goes on when its connection breaks")
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
        Terminal.say("\(count) events over \(connections) connections; the last said that there is no more.")
        try Tour.expect(count == 3 && connections == 3, "the events go on after a reset")
    }
}
