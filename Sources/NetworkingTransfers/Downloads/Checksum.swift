public import FoundationForNetworking
import NetworkingCore

/// The checksum that a complete file must have, and the function that computes it.
///
/// With the trait `Crypto` there are `sha256`, `sha384` and `sha512`. Any other function takes a few lines:
///
/// ```swift
/// struct Sum: ChecksumFunction {
///     private var sum: UInt32 = 0
///
///     mutating func update(_ bytes: Data) {
///         for byte in bytes { sum &+= UInt32(byte) }
///     }
///
///     func finish() -> Data {
///         withUnsafeBytes(of: sum.bigEndian) { Data($0) }
///     }
/// }
///
/// let checksum = Checksum(expected: Data([0x37, 0x6d, 0xb2, 0x7a])) { Sum() }
/// ```
public struct Checksum: Sendable {
    let expected: Data
    /// The reason why the given digits cannot be a checksum of this function; `nil` if they can.
    private(set) var flaw: String?
    let makeFunction: @Sendable () -> any ChecksumFunction

    /// Creates a checksum.
    ///
    /// - Parameters:
    ///   - expected: The checksum that the file must have.
    ///   - makeFunction: Returns a new function that has not received any bytes.
    public init(expected: Data, _ makeFunction: @escaping @Sendable () -> any ChecksumFunction) {
        self.expected = expected
        self.makeFunction = makeFunction
    }

    /// Creates a checksum from hexadecimal digits.
    ///
    /// The digits may come from an untrusted source: invalid ones make the download fail before it starts.
    init(hex: String, byteCount: Int, of name: String, _ makeFunction: @escaping @Sendable () -> any ChecksumFunction) {
        let bytes = Hexadecimal.bytes(hex).flatMap { $0.count == byteCount ? $0 : nil }
        expected = Data(bytes ?? [])
        flaw =
            bytes != nil
            ? nil
            : "The checksum of \(name) must consist of \(byteCount * 2) hexadecimal digits."
        self.makeFunction = makeFunction
    }
}

/// A checksum function that receives bytes in chunks.
public protocol ChecksumFunction {
    /// Takes the next bytes.
    ///
    /// - Parameter bytes: The bytes.
    mutating func update(_ bytes: Data)

    /// Returns the checksum of all bytes received so far.
    func finish() -> Data
}
