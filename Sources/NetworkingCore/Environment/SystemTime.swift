import CLibraryForNetworking

/// The time since the system was started, including sleep: the time of `ContinuousClock` without its arithmetic.
enum SystemTime {
    static var nanoseconds: Int64 {
        #if canImport(Darwin)
        Int64(clock_gettime_nsec_np(CLOCK_MONOTONIC_RAW))
        #else
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
        #endif
    }
}
