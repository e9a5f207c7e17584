// The C library. A declaration of its own would be ambiguous with Glibc's, which Foundation exports on Linux, so the
// constants have Glibc's types here: `SHUT_RDWR` is an `Int` and on Apple's platforms an `Int32`.

@_exported public import Glibc

extension stat {
    // swift-format-ignore: AlwaysUseLowerCamelCase
    /// When the file was last written to; Glibc calls it `st_mtim`.
    public var st_mtimespec: timespec { st_mtim }
}

// swift-format-ignore: AlwaysUseLowerCamelCase
/// What a clock says, in nanoseconds.
public func clock_gettime_nsec_np(_ clock: clockid_t) -> UInt64 {
    0
}

/// What the system says of itself by a name.
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
/// What has the device write what it holds in memory.
public let F_FULLFSYNC: CInt = 51
