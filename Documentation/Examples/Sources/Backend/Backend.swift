import Foundation
import Networking
import NetworkingTestServer

/// A service that an example talks to, such as an API or a file server.
package protocol Service: Sendable {
    /// Adds the routes of the service to a server.
    func script(_ server: TestServer)
}

/// Starts a service on a free port of this machine, runs an example against it, and stops it.
///
/// An error that the example throws, or a request that the service does not know, ends the process with exit code 1.
///
/// - Parameters:
///   - service: The service.
///   - example: The example, which receives the running server.
package func withBackend(
    _ service: some Service,
    _ example: nonisolated(nonsending) (TestServer) async throws -> Void
) async {
    do {
        try await withTestServer { server in
            service.script(server)
            try await example(server)
            try server.verifyAllScripted()
        }
    } catch {
        fail("\(error)")
    }
}

/// Ends the process with exit code 1 if a condition is false.
///
/// - Parameters:
///   - condition: The condition.
///   - expectation: The expected behaviour, for the message.
package func expect(_ condition: Bool, _ expectation: String) {
    if !condition {
        fail("Not as expected: \(expectation)")
    }
}

/// Creates a directory for temporary files, passes it to a closure, and removes it.
///
/// - Parameter body: The closure.
/// - Throws: The errors of the closure and of the file system.
package func withTemporaryDirectory(_ body: nonisolated(nonsending) (URL) async throws -> Void) async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "example-\(UUID())")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: directory) }
    try await body(directory)
}

private func fail(_ message: String) -> Never {
    FileHandle.standardError.write(Data("\(message)\n".utf8))
    exit(1)
}

extension TestResponse {
    /// Returns a JSON document.
    static func json(
        text: String,
        status: HTTPResponse.Status = .ok,
        headerFields: HTTPFields = [:]
    ) -> TestResponse {
        var headerFields = headerFields
        headerFields[.contentType] = "application/json"
        return TestResponse(status: status, headerFields: headerFields, body: .data(Data(text.utf8)))
    }
}

extension RecordedRequest {
    /// The fields of a form, from the body.
    var form: [String: String] {
        var components = URLComponents()
        components.percentEncodedQuery = text
        let items = components.queryItems ?? []
        return Dictionary(items.map { ($0.name, $0.value ?? "") }) { _, last in last }
    }

    /// The items of the query by name.
    var queryValues: [String: String] {
        Dictionary(queryItems.map { ($0.name, $0.value ?? "") }) { _, last in last }
    }
}
