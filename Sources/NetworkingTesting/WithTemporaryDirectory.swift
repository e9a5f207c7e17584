#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Runs an operation with a directory of its own, which is removed at the end with all that is in it.
///
/// For tests of downloads, cassettes and stores on disk:
///
/// ```swift
/// try await withTemporaryDirectory { directory in
///     let file = try await network.download(request, to: directory.appending(path: "report.pdf"))
/// }
/// ```
///
/// - Parameter body: Uses the directory.
/// - Returns: What the operation returns.
/// - Throws: What the operation throws, and the file system's error when there can be no directory.
@discardableResult
public func withTemporaryDirectory<Result>(
    _ body: nonisolated(nonsending) (URL) async throws -> Result
) async throws -> Result {
    let directory = FileManager.default.temporaryDirectory.appending(path: "networking-tests-\(UUID())")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    return try await body(directory)
}
