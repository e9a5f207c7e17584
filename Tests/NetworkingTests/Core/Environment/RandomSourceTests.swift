import Foundation
import Networking
import Testing

@testable import NetworkingCore

@Suite(.timeLimit(.minutes(20)))
struct RandomSourceTests {
    /// The reference outputs of SplitMix64.
    @Test(
        arguments: [
            (0, [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4, 0x06C4_5D18_8009_454F]),
            (
                1_234_567,
                [
                    6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423,
                    4_593_380_528_125_082_431, 16_408_922_859_458_223_821,
                ]
            ),
        ] as [(UInt64, [UInt64])]
    )
    func seededSequenceIsSplitMix64(seed: UInt64, expected: [UInt64]) {
        let random = RandomSource.seeded(seed)

        #expect(expected.map { _ in random.next() } == expected)
    }

    @Test func copiesOfASeededSourceDrawFromOneSequence() {
        let first = RandomSource.seeded(7)
        let second = first
        let reference = RandomSource.seeded(7)

        let drawn = [first.next(), second.next(), first.next()]

        #expect(drawn == [reference.next(), reference.next(), reference.next()])
    }

    @Test func canBeUsedByTheStandardLibrary() {
        var random = RandomSource { .max }

        #expect(Int.random(in: 3...9, using: &random) == 9)
    }

    @Test func concurrentTasksDrawDifferentNumbers() async {
        let random = RandomSource.seeded(1)
        let drawn = await withTaskGroup(of: UInt64.self) { group in
            for _ in 0..<2_000 {
                group.addTask { random.next() }
            }
            return await group.reduce(into: Set<UInt64>()) { $0.insert($1) }
        }

        #expect(drawn.count == 2_000)
    }

    @Test func systemSourcesDrawDifferentNumbers() {
        #expect(RandomSource.system.next() != RandomSource.system.next())
        #expect(SecureRandomSource.system.bytes(16) != SecureRandomSource.system.bytes(16))
    }

    @Test(arguments: [0, 1, 7, 64])
    func secureSourceReturnsTheRequestedNumberOfBytes(count: Int) {
        #expect(SecureRandomSource.system.bytes(count).count == count)
        #expect(SecureRandomSource { Array(repeating: 1, count: $0) }.bytes(count).count == count)
    }

    // MARK: The block

    #if os(Linux)
    @Test func forkedProcessDrawsOtherBytes() throws {
        // Swift marks `fork` as unavailable, but a library in C may call it.
        let fork = try #require(dlsym(nil, "fork"))
        let block = SecureRandomBlock()
        _ = block.bytes(8)
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        let child = unsafeBitCast(fork, to: (@convention(c) () -> pid_t).self)()
        if child == 0 {
            _ = block.bytes(16).withUnsafeBytes { write(ends[1], $0.baseAddress, 16) }
            _exit(0)
        }
        // Otherwise a read would wait forever for a child that has crashed.
        close(ends[1])
        defer { close(ends[0]) }
        var theirs = [UInt8](repeating: 0, count: 16)
        #expect(read(ends[0], &theirs, 16) == 16)
        #expect(waitpid(child, nil, 0) == child)
        #expect(block.bytes(16) != theirs)
    }
    #endif
}
