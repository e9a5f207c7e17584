#if AsyncHTTPClient
import Testing

@testable import NetworkingAsyncHTTPClient

@Suite struct UploadStrideTests {
    /// Returns the lengths of strides in units of 64 KiB, each of which takes the given time.
    private func lengths(after milliseconds: [Int]) -> [Int] {
        var now = ContinuousClock.now
        var stride = UploadStride(at: now)
        return milliseconds.map { time in
            var count = 0
            while !stride.isComplete {
                stride.add(64 << 10)
                count += 1
            }
            now += .milliseconds(time)
            stride.begin(at: now)
            return count
        }
    }

    @Test func fastConnectionGetsLongerStrides() {
        #expect(lengths(after: [1, 19, 0, 5, 5]) == [1, 2, 4, 8, 8])
    }

    @Test func slowConnectionGetsShortStrides() {
        #expect(lengths(after: [20, 500, 1, 1, 20, 1]) == [1, 1, 1, 2, 4, 1])
    }
}
#endif
