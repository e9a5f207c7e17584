#if os(Linux)
import TestSupport
import Testing

@testable import NetworkingCore

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct SecureRandomBlockTests {
    @Test func concurrentDrawsGetDifferentBytes() async {
        let block = SecureRandomBlock()
        let drawn = await withTaskGroup(of: [[UInt8]].self) { group in
            for _ in 1...4 {
                group.addTask { (0..<2_000).map { block.bytes(8 + $0 % 57) } }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
        #expect(Set(drawn.map { $0.prefix(8) }).count == 8_000)
        #expect(drawn.map(\.count).max() == 64)
    }

    @Test func usedBytesAreErased() {
        let block = SecureRandomBlock()
        let first = block.bytes(40)
        let second = block.bytes(60)
        #expect(block.contents.prefix(100).allSatisfy { $0 == 0 })
        #expect(Set(block.contents.dropFirst(100)).count > 50)
        #expect(Set(first + second).count > 50)
    }
}
#endif
