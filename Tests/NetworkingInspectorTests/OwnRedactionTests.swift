import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

@testable import NetworkingInspector

/// An app's own redaction rules, errors of archives, and connection timings.
@Suite(.timeLimit(.minutes(20)))
struct OwnRedactionTests {
    private let redaction = Redaction.standard.addingBodyFields("card")

    private func archive(of inspector: NetworkInspector) async throws -> String {
        let network = MockTransport { _ in .json(["card": "4111-1111"]) }.inspected(by: inspector)
        try await network.data(HTTPRequestData(scheme: "https", authority: "api.example.com", path: "/basket"))
        return String(decoding: try inspector.archive.encoded(), as: UTF8.self)
    }

    @Test func inspectorRedactsAdditionalFields() async throws {
        #expect(try await archive(of: NetworkInspector()).contains("4111-1111"))
        #expect(try await !archive(of: NetworkInspector(redaction: redaction)).contains("4111-1111"))
    }

    @Test func archiveRedactsAdditionalFields() async throws {
        let data = Data(try await archive(of: NetworkInspector()).utf8)
        func text(_ archive: HTTPArchive) throws -> String {
            String(decoding: try archive.encoded(), as: UTF8.self)
        }
        #expect(try text(HTTPArchive(data)).contains("4111-1111"))
        #expect(try !text(HTTPArchive(data, redaction: redaction)).contains("4111-1111"))
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "network.har")
            try data.write(to: file)
            #expect(try text(HTTPArchive(contentsOf: file)).contains("4111-1111"))
            #expect(try !text(HTTPArchive(contentsOf: file, redaction: redaction)).contains("4111-1111"))
        }
    }

    @Test func errorSaysWhyAnArchiveCannotBeRead() throws {
        let error = try #require(throws: HTTPArchiveError.self) { try HTTPArchive(Data("{".utf8)) }
        #expect(error.description == error.reason)
        let missing = URL(filePath: "/nowhere/network.har")
        let other = try #require(throws: HTTPArchiveError.self) { try HTTPArchive(contentsOf: missing) }
        #expect(other.description.contains("/nowhere/network.har"))
        #expect(other.localizedDescription == "The HTTP archive could not be read or written.")
    }

    private struct Measured: NetworkingTransport {
        func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
            var metrics = ConnectionMetrics()
            metrics.nameResolution = .milliseconds(5)
            metrics.connecting = .milliseconds(30)
            metrics.securing = .milliseconds(20)
            request.emit(ExchangeEvent.connectionMeasured(metrics))
            return HTTPResponseData(request: request)
        }
    }

    @Test func archiveContainsTheTLSTime() async throws {
        struct Archive: Decodable {
            struct Log: Decodable { let entries: [Entry] }
            struct Entry: Decodable { let timings: Timings }
            struct Timings: Decodable { let dns, connect, ssl: Double }
            let log: Log
        }
        let inspector = NetworkInspector()
        let network = Measured().inspected(by: inspector).environment(\.clock, .manual(ManualClock()))
        try await network.data(HTTPRequestData(scheme: "https", authority: "api.example.com"))
        let archive = try JSONDecoder().decode(Archive.self, from: try inspector.archive.encoded())
        let timings = try #require(archive.log.entries.first?.timings)
        #expect([timings.dns, timings.connect, timings.ssl] == [5, 30, 20])
    }
}
