import Foundation
import TestSupport
import Testing

/// The targets of the fuzzer on their seeds, among them the inputs of the faults that it has found.
@Suite(.timeLimit(.minutes(20)))
struct FuzzReplayTests {
    @Test(arguments: FuzzTarget.all)
    func propertiesHoldForAllSeeds(target: FuzzTarget) throws {
        let seeds = try FuzzSeeds.read(of: target.name)
        #expect(!seeds.isEmpty)
        for seed in seeds {
            #expect(throws: Never.self, "\(seed.line)") { try target.check(seed.bytes) }
        }
    }

    @Test func eachFileBelongsToATarget() throws {
        let names = Set(FuzzTarget.all.map(\.name))
        #expect(names.count == FuzzTarget.all.count)
        for folder in ["Seeds", "Dictionaries"] {
            let files = try FileManager.default.contentsOfDirectory(
                atPath: FuzzSeeds.folder.appending(path: folder).path
            )
            for file in files {
                #expect(names.contains(String(file.prefix { $0 != "." })), "\(folder)/\(file)")
            }
        }
    }

    @Test func seedsAreUnescaped() {
        #expect(FuzzSeeds.unescape(#"a\n\r\t\\\x00\xff ü"#) == Array("a\n\r\t\\\0".utf8) + [0xFF] + Array(" ü".utf8))
    }
}

/// The files of seeds: one seed in each line, with escapes for line breaks and for bytes that are not text.
private enum FuzzSeeds {
    static let folder = Repository.root.appending(path: "Tests/Fuzz")

    static func read(of name: String) throws -> [(line: String, bytes: [UInt8])] {
        try Repository.text(at: "Tests/Fuzz/Seeds/\(name).txt").split(separator: "\n")
            .filter { !$0.hasPrefix("#") }
            .map { (String($0), unescape($0)) }
    }

    /// Returns the bytes of a line with the escapes `\n`, `\r`, `\t`, `\\` and `\x0a`.
    static func unescape(_ line: some StringProtocol) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = Array(line.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), let escape = rest.popFirst() else {
                bytes.append(byte)
                continue
            }
            switch escape {
            case UInt8(ascii: "n"): bytes.append(10)
            case UInt8(ascii: "r"): bytes.append(13)
            case UInt8(ascii: "t"): bytes.append(9)
            case UInt8(ascii: "x"):
                bytes.append(UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) ?? 0)
                rest = rest.dropFirst(2)
            default: bytes.append(escape)
            }
        }
        return bytes
    }
}
