import Foundation
import HTTPTypes

/// A parser with the properties that must hold for any bytes.
///
/// The replay test runs each target over its seeds, and `.ci/checks/fuzz/check` links the same targets with libFuzzer.
struct FuzzTarget: Sendable {
    /// The name, which is also that of its files in `Tests/Fuzz`.
    let name: String
    /// The files and folders of `Sources` whose coverage the target is measured by.
    let sources: [String]
    /// Parses the bytes, and throws a ``FuzzFailure`` if a property does not hold.
    let check: @Sendable ([UInt8]) throws -> Void

    init(_ name: String, of sources: String..., check: @escaping @Sendable ([UInt8]) throws -> Void) {
        (self.name, self.sources, self.check) = (name, sources, check)
    }

    /// All targets, in the order in which the check runs them.
    static let all = streams + documents + fields + caches + cookies + urls + files + bodies + servers

    /// Returns the target with a name.
    static func named(_ name: String) -> FuzzTarget? {
        all.first { $0.name == name }
    }
}

extension FuzzTarget: CustomStringConvertible {
    /// The name.
    var description: String {
        name
    }
}

/// A property that does not hold for an input.
struct FuzzFailure: Error, CustomStringConvertible {
    let description: String
}

/// Throws unless a property holds.
func require(_ condition: Bool, _ property: @autoclosure () -> String) throws(FuzzFailure) {
    guard condition else { throw FuzzFailure(description: property()) }
}

/// Throws unless two values are equal.
func requireEqual<Value: Equatable>(_ value: Value, _ other: Value, _ property: String) throws(FuzzFailure) {
    guard value == other else { throw FuzzFailure(description: "\(property): \(value) and \(other)") }
}

extension [UInt8] {
    /// The bytes as text; bytes that are not UTF-8 become U+FFFD.
    var text: String {
        String(decoding: self, as: UTF8.self)
    }

    /// The lines of the text, without their line breaks.
    var textLines: [String] {
        split(separator: 10, omittingEmptySubsequences: false).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The lines `Name: value` as header fields, without those that HTTP forbids.
    var fields: HTTPFields {
        var fields = HTTPFields()
        for line in textLines {
            let parts = line.split(separator: ":", maxSplits: 1).map { String($0) }
            guard parts.count == 2, let name = HTTPField.Name(parts[0]) else { continue }
            fields.append(HTTPField(name: name, value: parts[1].trimmingCharacters(in: .whitespaces)))
        }
        return fields
    }

    /// The bytes in chunks of 1 to 8 bytes, which depend only on the bytes.
    var chunks: [[UInt8]] {
        var chunks: [[UInt8]] = []
        var state = reduce(UInt64(14_695_981_039_346_656_037)) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 }
        var start = 0
        while start < count {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let end = Swift.min(count, start + 1 + Int(state >> 61))
            chunks.append([UInt8](self[start..<end]))
            start = end
        }
        return chunks
    }
}

/// Runs a body with the path of a file that exists while it runs.
///
/// - Parameters:
///   - bytes: The content.
///   - name: The name of the file, which is alone in its folder.
///   - body: Parses the file.
/// - Throws: The error of the body or of the file system.
func withFile(_ bytes: [UInt8], name: String, _ body: (String) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "fuzz-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: name)
    try Data(bytes).write(to: file)
    try body(file.path)
}
