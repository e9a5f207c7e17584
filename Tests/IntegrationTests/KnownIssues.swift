import Testing

/// The version of the Swift toolchain and its Foundation.
enum Toolchain: Comparable, Sendable {
    case swift62
    case swift63
    case later

    /// The version that has compiled the tests.
    static let current: Toolchain = {
        #if compiler(>=6.4)
        .later
        #elseif compiler(>=6.3)
        .swift63
        #else
        .swift62
        #endif
    }()
}

/// Runs a part of a test that fails because of an issue in a version of the toolchain or in an earlier one.
///
/// The test fails if the issue does not occur. With a later toolchain the issue is not expected, so that the first run
/// with a new toolchain shows which issues are left.
///
/// - Parameters:
///   - comment: The issue.
///   - last: The latest version with which the issue was seen.
///   - isIntermittent: Whether the issue depends on chance, so that a run without it is no failure.
///   - body: The part of the test.
/// - Throws: With a later toolchain, the error of the body.
func withKnownIssue(
    _ comment: Comment,
    upTo last: Toolchain,
    isIntermittent: Bool = false,
    _ body: nonisolated(nonsending) () async throws -> Void
) async throws {
    guard Toolchain.current <= last else { return try await body() }
    await withKnownIssue(comment, isIntermittent: isIntermittent) {
        try await body()
    }
}
