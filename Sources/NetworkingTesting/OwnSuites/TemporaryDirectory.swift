#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// A directory of a test's own, which goes with its scope.
package func withTemporaryDirectory<Result>(
    _ body: nonisolated(nonsending) (URL) async throws -> Result
) async throws -> Result {
    let directory = FileManager.default.temporaryDirectory.appending(path: "networking-tests-\(UUID())")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    return try await body(directory)
}
