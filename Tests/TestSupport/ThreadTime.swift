import Foundation

/// Whether a function takes linear time, compared at two sizes, the second 16 times the first.
///
/// The speed of the machine is unknown, so the times are compared with each other: in quadratic time, the larger size
/// takes 256 times as long. Only the time in which this thread runs counts, so that other work of the machine does not
/// matter. The best of several rounds counts, in turns, because the processor may be slower for a moment.
///
/// - Parameters:
///   - small: The smaller input.
///   - large: An input that is 16 times as long.
///   - function: The function, which must not wait.
/// - Returns: `true` if the larger input takes less than 64 times as long.
package func isLinear<Input>(_ small: Input, _ large: Input, _ function: (Input) -> Void) -> Bool {
    var (smallTime, largeTime) = (UInt64.max, UInt64.max)
    for _ in 0..<5 {
        smallTime = min(smallTime, threadTime { function(small) })
        largeTime = min(largeTime, threadTime { function(large) })
    }
    return largeTime < smallTime * 64
}

/// Returns the time in nanoseconds in which this thread has run a function.
private func threadTime(_ function: () -> Void) -> UInt64 {
    let start = nanoseconds(of: CLOCK_THREAD_CPUTIME_ID)
    function()
    return nanoseconds(of: CLOCK_THREAD_CPUTIME_ID) - start
}

private func nanoseconds(of clock: clockid_t) -> UInt64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
