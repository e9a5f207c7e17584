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
        #expect(pool.giveBack("a").isEmpty)
        #expect(pool.giveBack("a").isEmpty)
        #expect(pool.borrow("a", make: make) == 1)
        #expect(pool.resources.sorted() == [1, 2])
    }

    @Test func resourceThatIsUnusedLongestIsRemoved() {
        var pool = KeyedPool<String, String>(maximumIdle: 2)
        for key in ["a", "b", "a", "c"] {
            _ = pool.borrow(key) { key }
            let surplus = pool.giveBack(key)
            #expect(surplus == (key == "c" ? ["b"] : []))
        }
        #expect(pool.resources.sorted() == ["a", "c"])
    }

    @Test func resourceInUseIsKept() {
        var pool = KeyedPool<String, String>(maximumIdle: 0)
        for key in ["a", "b", "a"] {
            _ = pool.borrow(key) { key }
        }
        #expect(pool.giveBack("a").isEmpty)
        #expect(pool.giveBack("b") == ["b"])
        #expect(pool.giveBack("a") == ["a"])
        #expect(pool.resources.isEmpty)
    }

    @Test func manyKeysInSequenceLeaveOnlyTheLast() {
        var pool = KeyedPool<Int, Int>(maximumIdle: 64)
        let removed = (0..<1_000)
            .flatMap { key in
                _ = pool.borrow(key) { key }
                return pool.giveBack(key)
            }
        #expect(removed == Array(0..<936))
        #expect(pool.resources.sorted() == Array(936..<1_000))
    }

    /// Each of the users may have left a connection.
    @Test func resourceCountsOnceForEachUserThatItHadAtTheSameTime() {
        var pool = KeyedPool<String, String>(maximumIdle: 4)
        func use(_ key: String, users: Int) -> [String] {
            for _ in 0..<users {
                _ = pool.borrow(key) { key }
            }
            return (0..<users).flatMap { _ in pool.giveBack(key) }
        }
        #expect(use("a", users: 2).isEmpty)
        #expect(use("b", users: 1).isEmpty)
        #expect(use("c", users: 2) == ["a"])
        // One that alone exceeds the maximum replaces all others, and is kept.
        #expect(Set(use("d", users: 9)) == ["b", "c"])
        #expect(use("d", users: 1).isEmpty)
        #expect(pool.resources == ["d"])
    }

    @Test func resourcesThatWereRemovedWhileInUseAreNotRemovedAgain() {
        var pool = KeyedPool<String, String>(maximumIdle: 0)
        _ = pool.borrow("a") { "a" }
        #expect(pool.removeAll() == ["a"])
        #expect(pool.giveBack("a").isEmpty)
        #expect(pool.removeAll().isEmpty)
        _ = pool.borrow("b") { "b" }
        #expect(pool.giveBack("b") == ["b"])
    }
}
