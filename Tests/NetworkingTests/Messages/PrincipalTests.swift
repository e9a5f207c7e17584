import Networking
import NetworkingTesting
import Testing

@Suite
struct PrincipalTests {
    @Test func isComparedByItsID() {
        #expect(Principal(id: "a") == Principal(id: "a"))
        #expect(Principal(id: "a").hashValue == Principal(id: "a").hashValue)
        #expect(Principal(id: "a") != Principal(id: "b"))
    }

    @Test func doesNotShowWhoItIs() {
        #expect(!everyPrint(of: Principal(id: "emily@example.com")).contains("emily"))
    }
}
