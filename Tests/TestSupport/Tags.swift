package import Testing

extension Tag {
    /// Tests of code that shares data between threads.
    ///
    /// CI runs them under the thread sanitizer too.
    @Tag package static var concurrency: Self

    /// Tests of code that uses pointers, or passes bytes to libraries in C.
    ///
    /// CI runs them under the address sanitizer too.
    @Tag package static var memory: Self
}
