import NetworkingCore

extension Outcome {
    /// Returns the outcome with a value that is computed from the value of this one, once.
    func map<New: Sendable>(_ transform: @escaping @Sendable (Value) throws -> New) -> Outcome<New> {
        let mapped = Outcome<New>()
        let observer: Observer = { result in
            mapped.end(with: Result<New, any Error> { try transform(result.get()) })
        }
        // In one step, so that the end of the call in between does not make the caller's thread transform the value.
        if let result = add(observer) {
            // The caller may be on the main thread, and decoding may take long.
            _ = OwnedTask<Void>.detached { observer(result) }
        }
        return mapped
    }
}
