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
    public static let system = SecureRandomSource { count in
        #if canImport(Glibc) || canImport(Musl)
        SecureRandomBlock.shared.bytes(count)
        #else
        SystemRandomNumberGenerator.bytes(count)
        #endif
    }

    /// Draws bytes.
    ///
    /// - Parameter count: The number of bytes.
    /// - Returns: The bytes.
    public func bytes(_ count: Int) -> [UInt8] {
        generator(count)
    }
}

#if canImport(Glibc) || canImport(Musl)
/// Random bytes of the system, drawn in blocks, because each draw is a call into the kernel.
///
/// A byte is erased when it is used. A child of `fork` draws its own block.
final class SecureRandomBlock: Sendable {
    static let shared = SecureRandomBlock()

    /// The most that `getentropy` returns.
    private static let size = 256
    /// Longer requests do not use the block, because they would waste the rest of it.
    private static let maximumCount = 64
    /// The number of forks since the first draw, of this process and its parents.
    private static let forks = Atomic<Int>(0)
    private static let countsForks = pthread_atfork(nil, nil) { forks.add(1, ordering: .relaxed) } == 0

    private let state = Mutex(State())

    private struct State {
        var bytes: [UInt8] = []
        private var used = 0
        private var forks = 0

        mutating func take(_ count: Int) -> [UInt8] {
            let forks = SecureRandomBlock.forks.load(ordering: .relaxed)
            if bytes.count - used < count || self.forks != forks {
                (bytes, used, self.forks) = (draw(size), 0, forks)
            }
            let range = used..<used + count
            let taken = Array(bytes[range])
            for index in range {
                bytes[index] = 0
            }
            used = range.upperBound
            return taken
        }
    }

    /// The bytes of the block; used bytes are zero.
    var contents: [UInt8] {
        state.withLock { $0.bytes }
    }

    func bytes(_ count: Int) -> [UInt8] {
        guard count <= Self.maximumCount, Self.countsForks else { return Self.draw(count) }
        // Another thread may have held the lock at a fork, so the lock is not waited for.
        return state.withLockIfAvailable { $0.take(count) } ?? Self.draw(count)
    }

    private static func draw(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        guard count <= size, getentropy(&bytes, count) == 0 else { return SystemRandomNumberGenerator.bytes(count) }
        return bytes
    }
}
#endif

extension SystemRandomNumberGenerator {
    /// Draws bytes, a word at a time.
    fileprivate static func bytes(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        while bytes.count < count {
            withUnsafeBytes(of: generator.next()) { bytes.append(contentsOf: $0.prefix(count - bytes.count)) }
        }
        return bytes
    }
}
