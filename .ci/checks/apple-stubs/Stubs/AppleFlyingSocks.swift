// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, TypeNamesShouldBeCapitalized

// The declarations of FlyingSocks under `#if canImport(Darwin)`, copied from FlyingFox 0.27.

@_exported public import FlyingSocks

/// The event queue of Apple's platforms.
public struct kQueue: EventQueue {
    public mutating func open() throws {}
    public mutating func stop() throws {}
    public mutating func close() throws {}
    public mutating func addEvents(_ events: Socket.Events, for socket: Socket.FileDescriptor) throws {}
    public mutating func removeEvents(_ events: Socket.Events, for socket: Socket.FileDescriptor) throws {}
    public func getNotifications() throws -> [EventNotification] { [] }
}

extension AsyncSocketPool where Self == SocketPool<kQueue> {
    /// Makes a pool with that queue.
    public static func kQueue(maxEvents limit: Int = 20, logger: some Logging = .disabled) -> SocketPool<kQueue> {
        fatalError()
    }
}

extension SocketOption where Self == BoolSocketOption {
    /// Whether a write to a broken connection raises no signal.
    public static var noSIGPIPE: Self { fatalError() }
}
