#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Opens a cassette for a scope, and finishes it at the end.
///
/// A scope that throws leaves the file as it was: half a recording would be taken for a whole one.
///
/// - Parameters:
///   - url: The file.
///   - mode: What the cassette does with requests.
///   - options: How it compares, hides, keeps and plays.
///   - body: The scope.
/// - Returns: What the scope returns.
/// - Throws: What the scope throws, and ``CassetteError`` of opening and ``Cassette/finish()``.
@discardableResult
public func withCassette<Result>(
    at url: URL,
    mode: Cassette.Mode,
    options: Cassette.Options = Cassette.Options(),
    _ body: nonisolated(nonsending) (Cassette) async throws -> Result
) async throws -> Result {
    let cassette = try Cassette(at: url, mode: mode, options: options)
    let result: Result
    do {
        result = try await body(cassette)
    } catch {
        cassette.discard()
        throw error
    }
    try cassette.finish()
    return result
}
