import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

/// Connection-specific fields are not stored (RFC 9111, section 3.1).
@Suite(.timeLimit(.minutes(20)))
struct CachedConnectionFieldTests {
    private let clock = ManualClock()

    private static func name(_ name: String) -> HTTPField.Name {
        HTTPField.Name(name)!
    }

    /// Returns the fields of the stored response to the second of two requests.
    private func stored(_ fields: HTTPFields) async throws -> HTTPFields {
        var fields = fields
        fields[.cacheControl] = "max-age=600"
        let mock = MockResponse.ok(Data("body".utf8), headerFields: fields)
        let transport = MockTransport { _ in mock }
        let network = transport.cached().environment(\.clock, .manual(clock))
        try await network.data(.lawful)
        let response = try await network.data(.lawful)
        #expect(response.isCached)
        #expect(transport.requests.count == 1)
        return response.headerFields
    }

    @Test(arguments: [
        "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization",
        "Proxy-Connection", "TE", "Transfer-Encoding", "Upgrade",
    ])
    func hopByHopFieldIsNotStored(name: String) async throws {
        let fields = try await stored([Self.name(name): "value", Self.name("X-Kept"): "kept"])
        #expect(fields[Self.name(name)] == nil)
        #expect(fields[Self.name("X-Kept")] == "kept")
    }

    @Test(arguments: [["X-One, x-two"], ["x-one ,\tX-TWO,"], ["close, X-One", "X-Two"], [",,x-two", "", "x-one"]])
    func fieldThatConnectionNamesIsNotStored(connection: [String]) async throws {
        var fields: HTTPFields = [Self.name("X-One"): "1", Self.name("X-Two"): "2", Self.name("X-Three"): "3"]
        fields[values: .connection] = connection
        let kept = try await stored(fields)
        #expect(kept[.connection] == nil)
        #expect(kept[Self.name("X-One")] == nil)
        #expect(kept[Self.name("X-Two")] == nil)
        #expect(kept[Self.name("X-Three")] == "3")
    }

    /// The first caller receives the response unchanged.
    ///
    /// Only the stored copy lacks the fields.
    @Test func firstCallerGetsTheFields() async throws {
        let transport = MockTransport { _ in
            .ok(headerFields: [.cacheControl: "max-age=600", .connection: "X-One", Self.name("X-One"): "1"])
        }
        let response = try await transport.cached().environment(\.clock, .manual(clock)).data(.lawful)
        #expect(response.headerFields[Self.name("X-One")] == "1")
    }

    /// A field that the 304 names in `Connection` belongs to the connection of the 304.
    @Test func validationDoesNotStoreConnectionFields() async throws {
        let transport = MockTransport { request in
            guard request.headerFields[.ifNoneMatch] != nil else {
                return .ok(
                    Data("body".utf8),
                    headerFields: [
                        .cacheControl: "max-age=10", .eTag: "\"a\"", Self.name("X-One"): "stored",
                        Self.name("X-Two"): "stored",
                    ]
                )
            }
            return MockResponse(
                status: .notModified,
                headerFields: [
                    .cacheControl: "max-age=10", .eTag: "\"a\"", .connection: "x-one, Keep-Alive",
                    Self.name("Keep-Alive"): "timeout=5", Self.name("X-One"): "new", Self.name("X-Two"): "new",
                ]
            )
        }
        let network = transport.cached().environment(\.clock, .manual(clock))
        try await network.data(.lawful)
        clock.advance(by: .seconds(11))
        _ = try await network.data(.lawful)
        let response = try await network.data(.lawful)
        #expect(transport.requests.count == 2)
        #expect(response.isCached)
        #expect(response.headerFields[.connection] == nil)
        #expect(response.headerFields[Self.name("Keep-Alive")] == nil)
        #expect(response.headerFields[Self.name("X-One")] == "stored")
        #expect(response.headerFields[Self.name("X-Two")] == "new")
    }
}
