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
    defer { remove(directory) }
    return try await body(directory)
}

/// Removes a directory in which files may still disappear.
///
/// A released database closes on its own thread and removes its log. `removeItem` fails if a file that it has listed no
/// longer exists.
private func remove(_ directory: URL) {
    for _ in 1...100 {
        try? FileManager.default.removeItem(at: directory)
        guard FileManager.default.fileExists(atPath: directory.path) else { return }
    }
}
