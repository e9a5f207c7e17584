#if os(Linux) || os(macOS)
import Foundation
import HTTPTypes
import Networking
import NetworkingAsyncHTTPClient
import NetworkingInspector
import NetworkingTestServer
import TestSupport
import Testing

/// Archives as other people's programs read them.
@Suite(.timeLimit(.minutes(5)))
struct ArchiveTests {
    // MARK: The schema

    @Suite(.requires(.harSchema))
    struct SchemaTests {
        @Test func everySortOfCallIsValid() async throws {
            let archive = try await InspectedSession.varied()
            let faults = try await HARSchema.faults(of: try archive.encoded())
            #expect(faults == [])
        }

        @Test func whatStrangersWroteIsValid() async throws {
            for archive in [try await HostileSession.sent(), try await InspectedSession.long(100)] {
                let faults = try await HARSchema.faults(of: try archive.encoded())
                #expect(faults == [])
            }
        }

        @Test func whatIsReadStaysValid() async throws {
            let archive = try HTTPArchive(try await InspectedSession.varied().encoded())
            let faults = try await HARSchema.faults(of: try archive.encoded())
            #expect(faults == [])
        }

        #if AsyncHTTPClient && TestServer
        @Test func exchangesOverSocketsAreValid() async throws {
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

        /// The schema, its formats included, does notice what is wrong.
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
        func whatIsWrongIsNoticed(change: String, fault: String) async throws {
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
            /// Of the parts, where TLS is a part of connecting.
            let sum: Double
            let start: Double
            let type: String
            let size: Int
        }

        @Test func haralyzerReadsEverySortOfCall() async throws {
            let archive = try await InspectedSession.varied()
            let output = try await Python.run(Self.program, on: try archive.encoded())
            let session = try JSONDecoder().decode(Session.self, from: output)

            #expect(session.version == "1.2")
            #expect(session.title == "Every sort of call")
            #expect(session.pages == ["session"])
            #expect(session.calls.count == archive.entryCount)
            // Three attempts each of what is tried again, two hops of what was moved, none of what is pending.
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
            def told(entry):
                parts = [time for name, time in entry.timings.items() if name != "ssl" and time > 0]
                return {"method": entry.request.method, "url": entry.request.url, "status": entry.response.status, "time": entry.time,
                    "sum": sum(parts), "start": entry.startTime.timestamp(), "type": entry.response.mimeType,
                    "size": entry.response.contentSize}
            print(json.dumps({"version": parser.version, "title": page.title, "pages": [each.page_id for each in parser.pages],
                "calls": [told(entry) for entry in page.entries], "posts": len(page.post_requests), "total": page.get_load_time()}))
            """
    }
}

/// The schema of HAR 1.2 that the tools of Node use, applied by Python's jsonschema.
enum HARSchema {
    private static let folder = "/usr/share/nodejs/har-schema/lib"

    static var isAvailable: Bool {
        get async {
            guard FileManager.default.fileExists(atPath: "\(folder)/har.json") else { return false }
            return await Python.has("jsonschema, referencing, rfc3339_validator, rfc3986_validator")
        }
    }

    /// What is wrong with an archive, after a statement of Python has changed its first entry.
    static func faults(of archive: Data, after change: String = "pass") async throws -> [String] {
        let constants = "FOLDER, CHANGE = \"\(folder)\", \"\(change)\"\n"
        let output = try await Python.run(constants + program, on: archive)
        return try JSONDecoder().decode([String].self, from: output)
    }

    private static let program = """
        import json, os, sys
        import jsonschema, referencing
        from referencing.jsonschema import DRAFT6

        # What the schema's authors meant: "min" is no keyword of JSON Schema, and "params" describes its elements as if they were
        # the list. And what only the text of HAR 1.2 says: others' fields begin with an underscore.
        def meant(schema):
            if isinstance(schema, list): return [meant(each) for each in schema]
            if not isinstance(schema, dict): return schema
            schema = {key: meant(value) for key, value in schema.items()}
            if "min" in schema: schema["minimum"] = schema.pop("min")
            if schema.get("type") == "array" and "items" not in schema:
                items = {"type": "object", "required": schema.pop("required"), "properties": schema.pop("properties")}
                schema["items"] = meant(items)
            elif isinstance(schema.get("properties"), dict):
                schema["patternProperties"], schema["additionalProperties"] = {"^_": {}}, False
            return schema

        def resource(name):
            with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
                schema = meant(json.load(file))
            del schema["$id"]
            return DRAFT6.create_resource(schema)

        formats = jsonschema.Draft6Validator.FORMAT_CHECKER
        assert {"date-time", "uri", "ipv4", "ipv6"} <= set(formats.checkers)
        registry = referencing.Registry(retrieve=resource)
        validator = jsonschema.Draft6Validator({"$ref": "har.json"}, registry=registry, format_checker=formats)
        archive = json.load(sys.stdin)
        exec(CHANGE, {"entry": archive["log"]["entries"][0]})
        faults = []
        for error in validator.iter_errors(archive):
            messages = [each.message[:300] for each in [error, *(error.context or [])]]
            faults.append("/".join(map(str, error.absolute_path)) + ": " + ", ".join(messages))
        pages = [page["id"] for page in archive["log"]["pages"]]
        faults += [f"{entry['pageref']}: no such page" for entry in archive["log"]["entries"] if entry["pageref"] not in pages]
        print(json.dumps(faults))
        """
}
#endif
