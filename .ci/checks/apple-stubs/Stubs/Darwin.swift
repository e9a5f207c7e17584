// The C library. Second declarations would be ambiguous with Glibc's, which Foundation exports on Linux. So the
// constants have Glibc's types here: `SHUT_RDWR` is an `Int`, but an `Int32` on Apple's platforms.

@_exported public import Glibc

extension stat {
    // swift-format-ignore: AlwaysUseLowerCamelCase
    /// The time of the last write to the file.
    ///
    /// Glibc calls it `st_mtim`.
    public var st_mtimespec: timespec { st_mtim }
}

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Returns the time of a clock, in nanoseconds.
public func clock_gettime_nsec_np(_ clock: clockid_t) -> UInt64 {
    0
}

/// Reads a value of the system by its name.
public func sysctlbyname(
    _ name: UnsafePointer<CChar>,
    _ oldp: UnsafeMutableRawPointer?,
    _ oldlenp: UnsafeMutablePointer<Int>?,
    _ newp: UnsafeMutableRawPointer?,
    _ newlen: Int
) -> CInt {
    -1
}

// swift-format-ignore: AlwaysUseLowerCamelCase
/// The `fcntl` command that makes the device write its cache to the medium.
public let F_FULLFSYNC: CInt = 51
