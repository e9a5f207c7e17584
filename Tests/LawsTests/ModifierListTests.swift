import Foundation
import TestSupport
import Testing

/// Three lists of the modifiers agree: the public functions in `Sources`, the laws' matrix, and the table in the
/// documentation.
@Suite
struct ModifierListTests {
    /// A function, identified by its name and the label of its first parameter.
    private struct Function: Hashable, CustomStringConvertible {
        let name: String
        /// `nil` if there is no parameter.
        let label: String?
        /// Whether a call may leave out the first parameter.
        var isOptional = false

        var description: String {
            "\(name)(\(label.map { "\($0):" } ?? ""))"
        }
    }

    /// The public functions of `NetworkingComponent` that return a component, one for each overload.
    private static func functions() throws -> [Function] {
        var functions: [Function] = []
        // Skips the replacements for functions with a disabled trait.
        for file in Repository.swiftFiles(in: "Sources") where file.lastPathComponent != "MissingTrait.swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            for declaration in text.components(separatedBy: "public func ").dropFirst() {
                // A declaration ends at the next documentation comment, because the default of a parameter may have
                // braces.
                let declaration = declaration.components(separatedBy: "///")[0]
                guard declaration.contains("-> some NetworkingComponent {"),
                    let match = declaration.firstMatch(of: /^(?<name>\w+)(?:<[^(]*>)?\((?<rest>[\s\S]*)/)
                else { continue }
                let parameters = String(match.rest).trimmingCharacters(in: .whitespacesAndNewlines)
                guard let first = parameters.firstMatch(of: /^(\w+)[^:)]*:/) else {
                    functions.append(Function(name: String(match.name), label: nil, isOptional: true))
                    continue
                }
                // The first parameter ends at a comma or at the end of the line, because no default has a comma.
                let parameter = parameters.prefix { $0 != "," && $0 != "\n" }
                functions.append(
                    Function(
                        name: String(match.name),
                        label: String(first.1),
                        isOptional: parameter.contains(" = ") || parameter.contains("...")
                    )
                )
            }
        }
        return functions
    }

    /// The calls in the first columns of the tables, as names and labels.
    private static func documented() throws -> [(name: String, labels: Substring)] {
        let page = try Repository.text(at: "Documentation/Modifiers.md")
        let section = page.components(separatedBy: "\n## ").first { $0.hasPrefix("All modifiers\n") }
        let rows = (section ?? "").split(separator: "\n").filter { $0.hasPrefix("| `.") }
        return rows.flatMap { row in
            (row.split(separator: "|").first ?? "").matches(of: /`\.(\w+)\(([^)`]*)\)`/)
                .map { (String($0.1), $0.2) }
        }
    }

    private static func documents(_ call: (name: String, labels: Substring), _ function: Function) -> Bool {
        guard call.name == function.name else { return false }
        if call.labels == "…" { return true }
        if call.labels.isEmpty { return function.isOptional }
        return call.labels.prefix { $0 != ":" } == function.label ?? ""
    }

    @Test func readsTheFunctionsInTheSources() throws {
        let functions = try Self.functions()
        let names = Set(functions.map(\.name))
        #expect(names.isSuperset(of: ["cached", "numbered", "retry", "server", "signed", "telemetry", "timeout"]))
        #expect(functions.contains(Function(name: "numbered", label: nil, isOptional: true)))
        #expect(functions.contains(Function(name: "cached", label: "in", isOptional: true)))
        #expect(functions.contains(Function(name: "cached", label: "in", isOptional: false)))
    }

    #if Crypto && Telemetry
    /// Each overload needs an entry.
    @Test func matrixHasEveryModifier() throws {
        let entries = Dictionary(grouping: LawfulModifier.all, by: \.function).mapValues(\.count)
        let overloads = Dictionary(grouping: try Self.functions(), by: \.description).mapValues(\.count)
        for (function, count) in overloads {
            #expect(entries[function] ?? 0 >= count, "LawfulModifier.all has too few entries for \(function)")
        }
        let unknown = Set(entries.keys).subtracting(overloads.keys)
        #expect(unknown == [], "LawfulModifier.all names functions that are not public")
        let names = LawfulModifier.all.map(\.testDescription)
        #expect(Set(names).count == names.count)
    }
    #endif

    @Test func tableHasEveryModifier() throws {
        let functions = try Set(Self.functions())
        let calls = try Self.documented()
        #expect(calls.count > 40)
        let missing = functions.filter { function in !calls.contains { Self.documents($0, function) } }
        #expect(missing.map(\.description).sorted() == [], "missing in Documentation/Modifiers.md")
        let unknown = calls.filter { call in !functions.contains { Self.documents(call, $0) } }
        #expect(unknown.map { "\($0.name)(\($0.labels))" } == [], "not public")
    }
}
