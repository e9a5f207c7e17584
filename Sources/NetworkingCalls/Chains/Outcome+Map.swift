import NetworkingCore

extension Outcome {
    /// Returns an outcome with a value that is computed once, from the value of this one.
    func map<New: Sendable>(_ transform: @escaping @Sendable (Value) throws -> New) -> Outcome<New> {
        let mapped = Outcome<New>()
        let observer: Observer = { result in
            mapped.end(with: Result<New, any Error> { try transform(result.get()) })
        }
        // One step checks for a result and adds the observer. With two steps, a call that ends in between would
        // transform the value on the caller's thread.
        if let result = add(observer) {
            // The caller may be on the main thread, and decoding may take long.
            _ = OwnedTask<Void>.detached { observer(result) }
        }
        return mapped
    }
}
