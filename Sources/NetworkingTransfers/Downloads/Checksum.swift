import NetworkingCore

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// What the bytes of a file must come to, by some function.
///
/// With the trait `Crypto` there are `sha256`, `sha384` and `sha512`. Any other function takes a few lines:
///
/// ```swift
/// struct CRC32: ChecksumFunction { … }
/// let checksum = Checksum(expected: Data([0x37, 0x6d, 0xb2, 0x7a])) { CRC32() }
/// ```
public struct Checksum: Sendable {
    let expected: Data
    /// What is wrong with what was given, where it cannot be what the function comes to.
    private(set) var flaw: String?
    let makeFunction: @Sendable () -> any ChecksumFunction

    /// Creates a checksum.
    ///
    /// - Parameters:
    ///   - expected: What the function must come to.
    ///   - makeFunction: Makes one that has seen nothing.
    public init(expected: Data, _ makeFunction: @escaping @Sendable () -> any ChecksumFunction) {
        self.expected = expected
        self.makeFunction = makeFunction
    }

    /// Creates a checksum from hexadecimal digits, which may come from anywhere: wrong ones fail the download before it
    /// begins.
    init(hex: String, byteCount: Int, of name: String, _ makeFunction: @escaping @Sendable () -> any ChecksumFunction) {
        let bytes = Hexadecimal.bytes(hex).flatMap { $0.count == byteCount ? $0 : nil }
        expected = Data(bytes ?? [])
        flaw =
            bytes != nil
            ? nil
            : "The checksum of \(name) has \(byteCount * 2) hexadecimal digits, and this has other characters or another length."
        self.makeFunction = makeFunction
    }
}

/// A function that is fed with bytes and comes to a few.
public protocol ChecksumFunction {
    /// Takes the next bytes.
    ///
    /// - Parameter bytes: The bytes.
    mutating func update(_ bytes: Data)

    /// What all bytes so far come to.
    func finish() -> Data
}
