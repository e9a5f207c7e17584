extension Result where Failure == any Error {
    /// Creates the result of an asynchronous closure.
    package init(catching body: nonisolated(nonsending) () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}
