#if Valkey
@testable import NetworkingValkey
import Testing

@Suite struct KeyNamespaceTests {
    @Test func keysWithOneTagAreInOneSlot() {
        let namespace = KeyNamespace("shop")
        #expect(namespace.key("emily", "session") == "{shop:emily}:session")
        let slots = ["session", "lock"].map { ClusterSlots.slot(of: namespace.key("emily", $0)) }
        #expect(slots[0] == slots[1])
    }

    @Test func namespaceThatEndsThePartThatSelectsTheSlotIsRefused() async {
        await #expect(processExitsWith: .failure) { _ = KeyNamespace("a}b") }
        await #expect(processExitsWith: .failure) { _ = KeyNamespace("a{b") }
        await #expect(processExitsWith: .failure) { _ = KeyNamespace("") }
    }
}
#endif
