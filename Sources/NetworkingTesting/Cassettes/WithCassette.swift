public import FoundationForNetworking

/// Opens a cassette for the duration of a closure and finishes it afterwards.
///
/// If the closure throws, the file stays unchanged: a partial recording would look like a complete one.
///
/// - Parameters:
///   - url: The file.
///   - mode: How the cassette handles requests.
///   - options: How the cassette matches, redacts, stores and replays.
///   - body: The closure that uses the cassette.
/// - Returns: The result of the closure.
/// - Throws: Errors from the closure, and ``CassetteError`` from opening the cassette and from ``Cassette/finish()``.
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
