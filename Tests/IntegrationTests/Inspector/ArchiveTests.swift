#if os(Linux) || os(macOS)
import Foundation
import HTTPTypes
import Networking
import NetworkingAsyncHTTPClient
import NetworkingInspector
import NetworkingTestServer
import TestSupport
import Testing

/// Archives as other programs read them.
@Suite(.timeLimit(.minutes(20)))
struct ArchiveTests {
    // MARK: The schema

    @Suite(.requires(.harSchema))
    struct SchemaTests {
        @Test func everyKindOfCallConformsToTheSchema() async throws {
            let archive = try await InspectedSession.varied()
            let faults = try await HARSchema.faults(of: try archive.encoded())
            #expect(faults == [])
        }

        @Test func hostileTextsConformToTheSchema() async throws {
            for archive in [try await HostileSession.sent(), try await InspectedSession.long(100)] {
                let faults = try await HARSchema.faults(of: try archive.encoded())
                #expect(faults == [])
            }
        }

        @Test func decodedArchiveConformsToTheSchema() async throws {
            let archive = try HTTPArchive(try await InspectedSession.varied().encoded())
            let faults = try await HARSchema.faults(of: try archive.encoded())
            #expect(faults == [])
        }

        #if AsyncHTTPClient && TestServer
        @Test func exchangesOverSocketsConformToTheSchema() async throws {
            let inspector = NetworkInspector()
            try await withTestServer { server in
                server.route(.get, "/old") { _ in .redirect(to: "/new") }
                server.route(.get, "/new") { _ in .text("moved") }
                let network = AsyncHTTPClientTransport().inspected(by: inspector).server(baseURL: server.url)
                _ = try await network.data(HTTPRequestData(path: "old"))
                _ = try await network.data(HTTPRequestData(method: .post, path: "new", body: .json([1])))
            }
            #expect(inspector.archive.entryCount == 3)
            let faults = try await HARSchema.faults(of: try inspector.archive.encoded())
            #expect(faults == [])
        }
        #endif

        /// Shows that the schema and its formats detect invalid archives.
        @Test(
            arguments: [
                ("entry['startedDateTime'] = '2026-02-30T10:00:00Z'", "date-time"),
                ("entry['request']['url'] = 'no url'", "uri"), ("entry['time'] = -1", "minimum"),
                ("entry['serverIPAddress'] = 'localhost'", "ipv4"), ("entry['response']['status'] = '200'", "integer"),
                ("entry['other'] = 1", "'other' does not match"),
                ("del entry['cache']", "'cache' is a required property"),
                ("entry['request']['postData'] = {'mimeType': '', 'params': [{}]}", "'name' is a required property"),
                ("entry['pageref'] = 'other'", "other: no such page"),
            ]
        )
        func schemaDetectsInvalidArchives(change: String, fault: String) async throws {
            let faults = try await HARSchema.faults(of: try await InspectedSession.varied().encoded(), after: change)
            #expect(faults.contains { $0.contains(fault) }, "\(faults)")
        }
    }

    // MARK: Another library

    @Suite(.requires(.haralyzer))
    struct ReaderTests {
        private struct Session: Decodable {
            let version: String
            let title: String
            let pages: [String]
            let calls: [Exchange]
            let posts: Int
            let total: Double
        }

        private struct Exchange: Decodable {
            let method: String
            let url: String
            let status: Int
            let time: Double
            /// The sum of the phases, where TLS is part of connecting.
            let sum: Double
            let start: Double
            let type: String
            let size: Int
        }

        @Test func haralyzerReadsEveryKindOfCall() async throws {
            let archive = try await InspectedSession.varied()
            let output = try await Python.run(Self.program, on: try archive.encoded())
            let session = try JSONDecoder().decode(Session.self, from: output)

            #expect(session.version == "1.2")
            #expect(session.title == "Every sort of call")
            #expect(session.pages == ["session"])
            #expect(session.calls.count == archive.entryCount)
            // Three attempts of each retried call, two hops of the redirected one, none of the pending one.
            let statuses = [
                "flaky": [503, 503, 200], "old": [301], "new": [200], "fresh": [200, 200], "validated": [200, 304],
                "broken": [0, 0, 0],
            ]
            for (path, statuses) in statuses {
                let calls = session.calls.filter { URL(string: $0.url)?.path == "/\(path)" }
                #expect(calls.map(\.status) == statuses, "\(path)")
            }
            #expect(session.posts == 5)
            #expect(session.calls.first { $0.url.hasSuffix("/binary") }?.size == 256)
            #expect(session.calls.first { $0.url.hasSuffix("/image") }?.type == "image/png")
            for call in session.calls {
                #expect(abs(call.time - call.sum) < 0.01, "\(call)")
            }
            #expect(session.calls.map(\.start) == session.calls.map(\.start).sorted())
            #expect(session.total > 0)
        }

        private static let program = """
            import json, sys
            from haralyzer import HarParser
            parser = HarParser(json.load(sys.stdin))
            page = parser.pages[0]
            def summary(entry):
                parts = [time for name, time in entry.timings.items() if name != "ssl" and time > 0]
                return {"method": entry.request.method, "url": entry.request.url, "status": entry.response.status, "time": entry.time,
                    "sum": sum(parts), "start": entry.startTime.timestamp(), "type": entry.response.mimeType,
                    "size": entry.response.contentSize}
            print(json.dumps({"version": parser.version, "title": page.title, "pages": [each.page_id for each in parser.pages],
                "calls": [summary(entry) for entry in page.entries], "posts": len(page.post_requests), "total": page.get_load_time()}))
            """
    }
}
#endif
