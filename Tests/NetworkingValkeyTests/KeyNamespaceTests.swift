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

    @Test func namespaceThatEndsThePartThatSelectsTheSlotIsRefused() async throws {
        // An exit test captures nothing, so each namespace has its own.
        let results = await [
            #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { _ = KeyNamespace("a}b") },
            #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { _ = KeyNamespace("a{b") },
            #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { _ = KeyNamespace("") },
        ]
        for result in results {
            let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
            #expect(text.contains("namespace must not be empty"))
        }
    }
}
#endif
