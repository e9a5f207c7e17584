import Testing

@testable import NetworkingCore

@Suite struct KeyedPoolTests {
    @Test func usersOfAKeyShareItsResource() {
        var pool = KeyedPool<String, Int>(maximumIdle: 2)
        var made = 0
        func make() -> Int {
            made += 1
            return made
        }
        #expect(pool.borrow("a", make: make) == 1)
        #expect(pool.borrow("a", make: make) == 1)
        #expect(pool.borrow("b", make: make) == 2)
        #expect(pool.giveBack("a") == nil)
        #expect(pool.giveBack("a") == nil)
        #expect(pool.borrow("a", make: make) == 1)
        #expect(pool.resources.sorted() == [1, 2])
    }

    @Test func resourceThatIsUnusedLongestIsRemoved() {
        var pool = KeyedPool<String, String>(maximumIdle: 2)
        for key in ["a", "b", "a", "c"] {
            _ = pool.borrow(key) { key }
            let surplus = pool.giveBack(key)
            #expect(surplus == (key == "c" ? "b" : nil))
        }
        #expect(pool.resources.sorted() == ["a", "c"])
    }

    @Test func resourceInUseIsKept() {
        var pool = KeyedPool<String, String>(maximumIdle: 0)
        for key in ["a", "b", "a"] {
            _ = pool.borrow(key) { key }
        }
        #expect(pool.giveBack("a") == nil)
        #expect(pool.giveBack("b") == "b")
        #expect(pool.giveBack("a") == "a")
        #expect(pool.resources.isEmpty)
    }

    @Test func manyKeysInSequenceLeaveOnlyTheLast() {
        var pool = KeyedPool<Int, Int>(maximumIdle: 64)
        let removed = (0..<1_000)
            .compactMap { key in
                _ = pool.borrow(key) { key }
                return pool.giveBack(key)
            }
        #expect(removed == Array(0..<936))
        #expect(pool.resources.sorted() == Array(936..<1_000))
    }

    @Test func resourcesThatWereRemovedWhileInUseAreNotRemovedAgain() {
        var pool = KeyedPool<String, String>(maximumIdle: 0)
        _ = pool.borrow("a") { "a" }
        #expect(pool.removeAll() == ["a"])
        #expect(pool.giveBack("a") == nil)
        #expect(pool.removeAll().isEmpty)
        _ = pool.borrow("b") { "b" }
        #expect(pool.giveBack("b") == "b")
    }
}
