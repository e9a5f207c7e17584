import Foundation
import Networking
import NetworkingTestServer
import Synchronization

/// Simulates a server of photos, which clients may keep for an hour.
///
/// The photos from number 100 on take half a minute.
package final class PhotoService: Service {
    private let slowRequests = Atomic(0)
    private let fourSlowRequests = Gate()

    package init() {}

    /// The number of requests for slow photos that have arrived.
    package var slowRequestCount: Int {
        slowRequests.load(ordering: .relaxed)
    }

    /// Waits until four requests for slow photos have arrived.
    package func waitForFourSlowRequests() async throws {
        try await fourSlowRequests.wait()
    }

    /// The bytes of a photo.
    package static func photo(_ number: Int) -> Data {
        Data([0xFF, 0xD8]) + Data(repeating: UInt8(number % 251), count: 20_000)
    }

    package func script(_ server: TestServer) {
        server.route(.get, "/photos/:number") { [self] request in
            let number = Int(request.parameters["number"] ?? "") ?? 0
            if number >= 100, slowRequests.add(1, ordering: .relaxed).newValue == 4 {
                fourSlowRequests.open()
            }
            try await Task.sleep(for: number >= 100 ? .seconds(30) : .milliseconds(15))
            return TestResponse(
                headerFields: [.contentType: "image/jpeg", .cacheControl: "max-age=3600"],
                body: .data(Self.photo(number))
            )
        }
    }
}
