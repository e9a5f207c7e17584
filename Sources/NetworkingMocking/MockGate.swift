import NetworkingCore

/// Holds an answer in the middle of its body until a test lets it go on.
///
/// ```swift
/// let gate = MockGate()
/// let transport = MockTransport([.pieces(["first", .wait(for: gate), "second"])])
/// // … the first piece is there
/// gate.open()
/// ```
///
/// It opens once and stays open, for any number of answers. To hold one before its head, or to decide late what it is,
/// use a ``HeldAnswer``.
public final class MockGate: Sendable {
    private let isOpenNow = MockTally(false)

    /// Creates a closed gate.
    public init() {}

    /// Whether it was opened.
    public var isOpen: Bool {
        isOpenNow.read { $0 }
    }

    /// Opens it for everybody who waits or will; opening it again does nothing.
    public func open() {
        isOpenNow.update { $0 = true }
    }

    /// Waits until it is open.
    ///
    /// - Throws: `CancellationError` when the caller is cancelled first.
    public func wait() async throws {
        try await isOpenNow.wait { $0 }
    }
}
