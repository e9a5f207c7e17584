import Networking
import NetworkingTesting
import XCTest

final class ShopTests: XCTestCase {
    func testGetsAnItem() async throws {
        try await withMockTransport { transport in
            transport.on(.get, "/items/7", uses: .once, .json(Item(id: 7, name: "Lamp")))
            let item = try await Shop(over: transport).item(7)
            XCTAssertEqual(item.name, "Lamp")
        }
    }
}
