/// Runs a scenario again from its start if it fails for a reason that is outside of the test.
///
/// - Parameters:
///   - isExternal: Whether an error has such a reason. The tenth error is thrown in any case.
///   - scenario: The scenario.
/// - Returns: The result of the first scenario that succeeds.
/// - Throws: The first error with another reason, or the tenth error.
package func retrying<Result>(
    after isExternal: (any Error) -> Bool,
    _ scenario: () async throws -> Result
) async throws -> Result {
    for _ in 1..<10 {
        do {
            return try await scenario()
        } catch  where isExternal(error) {
            continue
        }
    }
    return try await scenario()
}
