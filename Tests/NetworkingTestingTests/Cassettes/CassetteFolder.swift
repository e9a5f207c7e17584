import Foundation
import Networking
import NetworkingTesting
import Testing

/// Runs a closure with a temporary folder for a cassette and removes the folder afterwards.
func withCassetteFolder<Result>(
    _ body: nonisolated(nonsending) (CassetteFolder) async throws -> Result
) async throws -> Result {
    let url = FileManager.default.temporaryDirectory.appending(path: "networking-cassettes-\(UUID())")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: url) }
    return try await body(CassetteFolder(url: url))
}

struct CassetteFolder: Sendable {
    let url: URL

    var cassette: URL {
        url.appending(path: "test.har")
    }

    /// The names of the files in the folder.
    var names: [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: url.path).sorted()) ?? []
    }

    var text: String {
        (try? String(contentsOf: cassette, encoding: .utf8)) ?? ""
    }

    func write(_ text: String) throws {
        try Data(text.utf8).write(to: cassette)
    }

    /// Records the requests that a closure sends.
    func record(
        from transport: some NetworkingComponent,
        mode: Cassette.Mode = .once,
        _ options: Cassette.Options = Cassette.Options(),
        _ body: nonisolated(nonsending) (AnyNetworkingComponent) async throws -> Void
    ) async throws {
        try await withCassette(at: cassette, mode: mode, options: options) { cassette in
            let network = transport.cassette(cassette).server(authority: "api.example")
                .environment(\.clock, .manual(ManualClock()))
            try await body(AnyNetworkingComponent(network))
        }
    }

    /// Replays the cassette for the requests of a closure.
    ///
    /// Nothing is sent.
    func replay(
        mode: Cassette.Mode = .none,
        _ options: Cassette.Options = Cassette.Options(),
        _ body: nonisolated(nonsending) (AnyNetworkingComponent) async throws -> Void
    ) async throws {
        let transport = MockTransport()
        try await withCassette(at: cassette, mode: mode, options: options) { cassette in
            let network = transport.cassette(cassette).server(authority: "api.example")
                .environment(\.clock, .manual(ManualClock()))
            try await body(AnyNetworkingComponent(network))
        }
        precondition(transport.requests.isEmpty, "A replay has sent \(transport.requests)")
    }
}

extension NetworkingComponent {
    /// Sends a GET request and checks the text of its response.
    @discardableResult
    func get(
        _ path: String,
        expecting text: String? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> HTTPResponseData {
        let response = try await data(HTTPRequestData(path: path))
        if let text {
            #expect(String(data: response.data, encoding: .utf8) == text, sourceLocation: sourceLocation)
        }
        return response
    }
}

extension Cassette.Options {
    /// Returns options with changes, so that a test can use a constant.
    static func with(_ change: (inout Cassette.Options) -> Void) -> Cassette.Options {
        var options = Cassette.Options()
        change(&options)
        return options
    }
}

extension CassetteFolder {
    /// Returns the reason that an operation fails with, or `nil` if it succeeds.
    static func reason(_ body: nonisolated(nonsending) () async throws -> Void) async -> String? {
        do {
            try await body()
            return nil
        } catch let error as NetworkingError {
            return error.reason
        } catch {
            return "\(error)"
        }
    }
}
