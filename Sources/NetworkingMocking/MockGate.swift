import NetworkingCore

/// A gate that holds a response in the middle of its body until a test opens it.
///
/// ```swift
/// let gate = MockGate()
/// let transport = MockTransport([.chunks(["first", .wait(for: gate), "second"])])
/// // … the first chunk has arrived
/// gate.open()
/// ```
///
/// A gate opens once and stays open, for any number of responses. To hold a response before its head, or to choose the
/// response later, use a ``HeldResponse``.
public final class MockGate: Sendable {
    private let isOpenNow = MockTally(false)

    /// Creates a closed gate.
    public init() {}

    /// Whether the gate is open.
    public var isOpen: Bool {
        isOpenNow.read { $0 }
    }

    /// Opens the gate for all current and later waiters; opening it again does nothing.
    public func open() {
        isOpenNow.update { $0 = true }
    }

    /// Waits until the gate is open.
    ///
    /// - Throws: `CancellationError` if the caller is cancelled first.
    public func wait() async throws {
        try await isOpenNow.wait { $0 }
    }
}
