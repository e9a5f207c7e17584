#if Valkey
import NIOCore
import TestSupport
import Testing

@testable import NetworkingValkey

@Suite(.timeLimit(.minutes(5))) struct RESPDecoderTests {
    private typealias Message = RESPDecoder.Message

    /// What a decoder makes of fragments: the messages, and whether an error ended them.
    private struct Outcome: Equatable {
        var messages: [String] = []
        var isMalformed = false
    }

    private static func decode(_ fragments: [[UInt8]], limit: Int = 1 << 20) -> Outcome {
        var decoder = RESPDecoder(maximumReplySize: limit)
        var outcome = Outcome()
        for fragment in fragments {
            decoder.append(ByteBuffer(bytes: fragment))
            do throws(ValkeyError) {
                // A text, because a number that is none equals nothing.
                while let message = try decoder.next() { outcome.messages.append("\(message)") }
            } catch {
                outcome.isMalformed = true
                return outcome
            }
        }
        return outcome
    }

    private static func messages(_ text: String) throws -> [Message] {
        var decoder = RESPDecoder(maximumReplySize: 1 << 20)
        decoder.append(ByteBuffer(string: text))
        var messages: [Message] = []
        while let message = try decoder.next() { messages.append(message) }
        return messages
    }

    private static let values: [(text: String, value: ValkeyValue)] = [
        ("+OK\r\n", ValkeyValue.bytes(Array("OK".utf8))),
        ("+\r\n", ""),
        ("-ERR no\r\n", .error("ERR no")),
        (":42\r\n", 42),
        (":+7\r\n", 7),
        (":-9223372036854775808\r\n", .integer(.min)),
        (":9223372036854775807\r\n", .integer(.max)),
        ("$5\r\na\r\nb\0\r\n", "a\r\nb\0"),
        ("$0\r\n\r\n", ""),
        ("$-1\r\n", .null),
        ("*-1\r\n", .null),
        ("_\r\n", .null),
        ("#t\r\n", .boolean(true)),
        ("#f\r\n", .boolean(false)),
        (",3.25\r\n", .double(3.25)),
        (",-inf\r\n", .double(-.infinity)),
        ("(-3492890328409238509324850943850943825024385\r\n", "-3492890328409238509324850943850943825024385"),
        ("!8\r\nERR a\r\nb\r\n", .error("ERR a\r\nb")),
        ("=8\r\ntxt:text\r\n", "text"),
        ("*0\r\n", []),
        ("*2\r\n:1\r\n*1\r\n$1\r\na\r\n", [1, ["a"]]),
        ("~1\r\n+a\r\n", ["a"]),
        ("%2\r\n+a\r\n:1\r\n+b\r\n_\r\n", ["a", 1, "b", .null]),
        ("|1\r\n+ttl\r\n:3600\r\n*2\r\n:1\r\n|1\r\n+a\r\n|0\r\n+b\r\n:2\r\n", [1, 2]),
        ("*1\r\n-ERR inner\r\n", [.error("ERR inner")]),
    ]

    @Test(arguments: values)
    func valueIsDecoded(text: String, value: ValkeyValue) throws {
        #expect(try Self.messages(text) == [.reply(value)])
    }

    @Test func pushIsNoReply() throws {
        let text = ":1\r\n>3\r\n+message\r\n$1\r\nc\r\n$2\r\nhi\r\n:2\r\n"
        #expect(try Self.messages(text) == [.reply(1), .push(["message", "c", "hi"]), .reply(2)])
    }

    @Test(arguments: [
        "\r\n", "x\r\n", "+a\rb\r\n", "HTTP/1.1 400 Bad Request\r\n", ":\r\n", ":-\r\n", ":1a\r\n", ": 1\r\n",
        ":9223372036854775808\r\n", ":-9223372036854775809\r\n",
        ":99999999999999999999999999\r\n", "$-2\r\n", "$x\r\n",
        "$1\r\nab\r\n", "$9223372036854775807\r\n", "$2000000\r\n", "*-2\r\n", "*9223372036854775807\r\n",
        "%4611686018427387904\r\n", "*1000000\r\n", "#x\r\n", "#\r\n", ",\r\n", ",1.2.3\r\n", "_x\r\n", "(\r\n",
        "(-\r\n",
        "(1x\r\n", "=3\r\ntxt\r\n", "=4\r\ntext\r\n", "!-1\r\n", "~-1\r\n", ">-1\r\n", "|-1\r\n", "*1\r\n>1\r\n+a\r\n",
        "*?\r\n", "$?\r\n", "%?\r\n", "~?\r\n", ".\r\n",
    ])
    func malformedBytesAreAnError(text: String) {
        #expect(throws: ValkeyError(.malformedReply)) { try Self.messages(text) }
    }

    @Test func limitsHold() {
        func isRefused(_ text: String, limit: Int = 1 << 20) -> Bool {
            Self.decode([Array(text.utf8)], limit: limit).isMalformed
        }
        let depth = RESPDecoder.maximumDepth
        #expect(!isRefused(String(repeating: "*1\r\n", count: depth) + ":1\r\n"))
        #expect(isRefused(String(repeating: "*1\r\n", count: depth + 1)))
        #expect(isRefused(String(repeating: "|1\r\n", count: depth + 1)))
        #expect(isRefused("+" + String(repeating: "a", count: RESPDecoder.maximumLine)))
        #expect(!isRefused("+" + String(repeating: "a", count: 1_000)))
        // Elements, attributes and bulks count together.
        #expect(isRefused("*20\r\n" + String(repeating: ":1\r\n", count: 20), limit: 512))
        #expect(isRefused(String(repeating: "|0\r\n", count: 20), limit: 512))
        #expect(isRefused("*2\r\n$200\r\n\(String(repeating: "a", count: 200))\r\n$300\r\n", limit: 512))
        // The limit is that of one reply.
        #expect(!isRefused(String(repeating: ":1\r\n", count: 1_000), limit: 512))
    }

    @Test func announcedLengthReservesNothing() {
        // Hundreds of aggregates, each of which announces as many elements as the limit allows.
        let text = String(repeating: "*30000\r\n", count: RESPDecoder.maximumDepth)
        #expect(Self.decode([Array(text.utf8)]) == Outcome())
    }

    // MARK: Fuzzing

    private static func randomText(_ random: inout SeededRandom, depth: Int = 0) -> [UInt8] {
        func line(_ text: String) -> [UInt8] { Array("\(text)\r\n".utf8) }
        func elements(_ count: Int) -> [UInt8] {
            (0..<count).flatMap { _ in randomText(&random, depth: depth + 1) }
        }
        switch Int.random(in: 0..<(depth < 4 ? 16 : 11), using: &random) {
        case 0: return line("+simple")
        case 1: return line("-ERR text")
        case 2: return line(":\(Int64.random(in: .min ... .max, using: &random))")
        case 3: return line(",\(Double.random(in: -1e9...1e9, using: &random))")
        case 4: return line("#\(Bool.random(using: &random) ? "t" : "f")")
        case 5: return line("_")
        case 6: return line("$-1")
        case 7: return line("(12345678901234567890123")
        case 8...10:
            let length = Int.random(in: 4..<40, using: &random)
            let bytes = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
            let type = ["$", "!", "=txt:"].randomElement(using: &random) ?? "$"
            let prefix = Array(type.utf8.dropFirst())
            return line("\(type.prefix(1))\(bytes.count + prefix.count)") + prefix + bytes + [13, 10]
        case 11, 12:
            let count = Int.random(in: 0..<5, using: &random)
            return line("*\(count)") + elements(count)
        case 13:
            let count = Int.random(in: 0..<4, using: &random)
            return line("%\(count)") + elements(count * 2)
        case 14:
            let count = Int.random(in: 0..<4, using: &random)
            return line("~\(count)") + elements(count)
        default:
            return line("|1") + elements(2) + randomText(&random, depth: depth + 1)
        }
    }

    private static func fragments(of bytes: [UInt8], _ random: inout SeededRandom) -> [[UInt8]] {
        var fragments: [[UInt8]] = []
        var start = 0
        while start < bytes.count {
            let end = min(bytes.count, start + Int.random(in: 1...8, using: &random))
            fragments.append(Array(bytes[start..<end]))
            start = end
        }
        return fragments
    }

    @Test func fragmentsGiveTheValuesOfTheWhole() {
        withSeed { random in
            for _ in 0..<500 {
                let bytes = (0..<3).flatMap { _ in Self.randomText(&random) }
                let whole = Self.decode([bytes])
                #expect(whole.messages.count == 3 && !whole.isMalformed)
                #expect(Self.decode(Self.fragments(of: bytes, &random)) == whole)
                #expect(Self.decode(bytes.map { [$0] }) == whole)
            }
        }
    }

    @Test func noBytesTrap() {
        let types = Array("0123456789-+:$*%~|>!=(,#_\r\n".utf8)
        withSeed { random in
            for _ in 0..<3_000 {
                var bytes = Self.randomText(&random) + Self.randomText(&random)
                for _ in 0..<Int.random(in: 1...6, using: &random) where !bytes.isEmpty {
                    let index = Int.random(in: 0..<bytes.count, using: &random)
                    switch Int.random(in: 0..<5, using: &random) {
                    case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
                    case 1: bytes[index] = types.randomElement(using: &random) ?? 0
                    case 2: bytes.remove(at: index)
                    case 3: bytes.insert(contentsOf: Array("\r\n".utf8), at: index)
                    default: bytes.replaceSubrange(index..., with: bytes[..<index])
                    }
                }
                let whole = Self.decode([bytes], limit: 4_096)
                #expect(Self.decode(Self.fragments(of: bytes, &random), limit: 4_096) == whole)
            }
        }
    }

    // MARK: Fragments

    @Test func eachByteIsLookedAtOnce() throws {
        // With a second look at what has arrived, a quarter of a million fragments would take minutes.
        var decoder = RESPDecoder(maximumReplySize: 1 << 20)
        let line = Array(("+" + String(repeating: "a", count: 60_000) + "\r\n").utf8)
        let bulk = Array(("$190000\r\n" + String(repeating: "b", count: 190_000) + "\r\n").utf8)
        var count = 0
        for byte in line + bulk {
            decoder.append(ByteBuffer(bytes: [byte]))
            while try decoder.next() != nil { count += 1 }
        }
        #expect(count == 2)
    }
}
#endif
