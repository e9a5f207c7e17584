public import FoundationForNetworking

/// Runs an operation with a temporary directory, which is removed afterwards with all of its content.
///
/// Use it for tests of downloads, cassettes and stores on disk:
///
/// ```swift
/// try await withTemporaryDirectory { directory in
///     let file = try await network.download(request, to: directory.appending(path: "report.pdf"))
/// }
/// ```
///
/// - Parameter body: The operation that uses the directory.
/// - Returns: The result of the operation.
/// - Throws: The error of the operation, or the file system's error if the directory cannot be created.
@discardableResult
public func withTemporaryDirectory<Result>(
    _ body: nonisolated(nonsending) (URL) async throws -> Result
) async throws -> Result {
    let directory = FileManager.default.temporaryDirectory.appending(path: "networking-tests-\(UUID())")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    return try await body(directory)
}
