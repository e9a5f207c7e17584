#if os(Linux) || os(macOS)
import Foundation
import NetworkingTestServer
import TestSupport

/// The HAR 1.2 schema of Node's tools, applied by Python's jsonschema.
enum HARSchema {
    private static let folder = "/usr/share/nodejs/har-schema/lib"

    static var isAvailable: Bool {
        get async {
            guard FileManager.default.fileExists(atPath: "\(folder)/har.json") else { return false }
            return await Python.has("jsonschema, referencing, rfc3339_validator, rfc3986_validator")
        }
    }

    /// Returns the schema violations of an archive, after a Python statement has changed its first entry.
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
