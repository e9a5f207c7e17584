import CLibraryForNetworking
import Synchronization

/// A source of secure random bytes for states, verifiers, nonces, boundaries and identifiers.
public struct SecureRandomSource: Sendable {
    private let generator: @Sendable (Int) -> [UInt8]

    /// Creates a source, for tests that need known bytes.
    ///
    /// - Parameter generator: Returns the given number of bytes; called from any thread.
    public init(_ generator: @escaping @Sendable (Int) -> [UInt8]) {
        self.generator = generator
    }

    /// The system's generator.
    public static let system = SecureRandomSource { SecureRandomBlock.shared.bytes($0) }

    /// Draws bytes.
    ///
    /// - Parameter count: The number of bytes.
    /// - Returns: The bytes.
    public func bytes(_ count: Int) -> [UInt8] {
        generator(count)
    }
}

/// Random bytes of the system, drawn in blocks: on Linux, each draw is a call into the kernel.
///
/// A byte is erased when it is used. A child of `fork` would get the same bytes as its parent, but neither Dispatch nor
/// the concurrency runtime works in such a child.
final class SecureRandomBlock: Sendable {
    static let shared = SecureRandomBlock()

    /// The most that `getentropy` returns.
    private static let size = 256
    /// Longer requests do not use the block, because they would waste the rest of it.
    private static let maximumCount = 64

    private let state = Mutex(State())

    private struct State {
        var bytes: [UInt8] = []
        var used = 0
    }

    /// The bytes of the block: zeros for those that were used.
    var contents: [UInt8] {
        state.withLock { $0.bytes }
    }

    func bytes(_ count: Int) -> [UInt8] {
        guard count <= Self.maximumCount else { return Self.draw(count) }
        return state.withLock { state in
            if state.bytes.count - state.used < count {
                state.bytes = Self.draw(Self.size)
                state.used = 0
            }
            let range = state.used..<state.used + count
            let bytes = Array(state.bytes[range])
            for index in range {
                state.bytes[index] = 0
            }
            state.used = range.upperBound
            return bytes
        }
    }

    private static func draw(_ count: Int) -> [UInt8] {
        #if canImport(Glibc) || canImport(Musl)
        var bytes = [UInt8](repeating: 0, count: count)
        if count <= size, getentropy(&bytes, count) == 0 { return bytes }
        bytes = []
        #else
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        #endif
        var generator = SystemRandomNumberGenerator()
        while bytes.count < count {
            withUnsafeBytes(of: generator.next()) { bytes.append(contentsOf: $0.prefix(count - bytes.count)) }
        }
        return bytes
    }
}
