extension HTTPRequestData {
    /// Waits for a while, and tells the listeners.
    package func wait(_ wait: NetworkEvent.Wait, for duration: Duration, on clock: NetworkClock) async throws {
        try await waiting(wait, upTo: duration, on: clock) { try await clock.sleep(for: duration) }
    }

    /// Waits for something, and tells the listeners.
    package func waiting<Value>(
        _ wait: NetworkEvent.Wait,
        upTo limit: Duration? = nil,
        on clock: @autoclosure () -> NetworkClock,
        _ operation: nonisolated(nonsending) () async throws -> Value
    ) async rethrows -> Value {
        guard hasListeners else { return try await operation() }
        let clock = clock()
        emit(.waiting(wait, limit))
        let start = clock.now
        // However it ends: who counts those that wait must not count one that has left.
        defer { emit(.waited(wait, clock.now - start)) }
        return try await operation()
    }
}
