package import Testing

/// Waits until a condition is true, and fails the test if it does not become true in time.
///
/// ```swift
/// try await eventually("two calls are waiting") { inFlightRequests.waiting == 2 }
/// ```
///
/// The condition is checked at once, then after each of a few turns of the executor, and then once a millisecond.
///
/// - Parameters:
///   - expectation: A sentence that describes the condition. The issue quotes it.
///   - limit: The time after which the test fails. Only a test that fails takes that long.
///   - sourceLocation: The place that the issue names.
///   - condition: Returns whether the wait is over.
/// - Throws: The error of a failed expectation if the condition does not become true in time, the error of the
///   condition, or `CancellationError` if the test is cancelled. The time limit of a suite cancels its tests.
package func eventually(
    _ expectation: Comment,
    within limit: Duration = .seconds(120),
    sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: nonisolated(nonsending) () async throws -> Bool
) async throws {
    for _ in 0..<25 {
        if try await condition() { return }
        try Task.checkCancellation()
        await Task.yield()
    }
    // A busy machine may suspend the thread that the condition depends on, so turns of the executor do not suffice.
    let end = ContinuousClock.now + limit
    var isMet = try await condition()
    while !isMet, ContinuousClock.now < end {
        try await Task.sleep(for: .milliseconds(1))
        isMet = try await condition()
    }
    try #require(isMet, "Not within \(limit): \(expectation)", sourceLocation: sourceLocation)
}
