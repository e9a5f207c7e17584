#if os(Linux)
import NetworkingCore
import Testing

struct OpenFileTests {
    /// Linux returns at most a page of this file for each call.
    @Test(arguments: [nil, 100] as [Int64?])
    func shortReadIsNotTheEndOfAFile(position: Int64?) throws {
        let file = try OpenFile(reading: "/proc/self/smaps")
        #expect(try file.read(upTo: 20_000, at: position).count == 20_000)
    }
}
#endif
