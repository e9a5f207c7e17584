package import NetworkingCore

extension Suspension {
    /// Waits for the result without a time limit, as the code of a test does.
    package func value(onCancel: @escaping @Sendable () -> Void = {}) async throws -> Value {
        try await value(until: nil, onEnd: onCancel)
    }
}
