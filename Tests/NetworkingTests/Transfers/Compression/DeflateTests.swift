import FoundationForNetworking
import Networking
import TestSupport
import Testing

@testable import NetworkingTransfers

/// Encoded bytes, decoded by an independent decoder of RFC 1951.
@Suite(.timeLimit(.minutes(20)))
struct DeflateTests {
    private static let json = Data(
        (0..<400).map { #"{"id": \#($0), "name": "Emily \#($0 % 7)"}"# }.joined(separator: "\n").utf8
    )

    private static let bodies: [Data] = [
        Data(), Data("a".utf8), Data("ab".utf8), Data("abc".utf8), Data(repeating: 97, count: 1_000),
        Data(repeating: 0, count: 200_000), Data((0...255).map { UInt8($0) }), json,
        // Longer than a block, with a repetition at the greatest distance.
        json + Data((0..<32_768 - json.count).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 5) }) + json,
        // Nothing repeats, so the blocks are stored.
        Data((0..<150_000).map { UInt8(truncatingIfNeeded: ($0 &* 0x9E37_79B1) >> 13) }),
        // The counts of a Fibonacci sequence, whose Huffman codes would be too long.
        Data(
            [1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610, 987, 1_597, 2_584, 4_181, 6_765, 10_946]
                .enumerated().flatMap { [UInt8](repeating: UInt8($0), count: $1) }
        ),
    ]

    private func encoded(_ body: Data, in pieces: Int) -> Data {
        var deflate = Deflate()
        var output = Data()
        var rest = body[...]
        while !rest.isEmpty {
            output += deflate.encode(Data(rest.prefix(pieces)))
            rest = rest.dropFirst(pieces)
        }
        return output + deflate.finish()
    }

    @Test(arguments: bodies.indices, [Int.max, 1_000])
    func decodesToTheSameBytes(index: Int, pieces: Int) throws {
        let body = Self.bodies[index]
        let encoded = encoded(body, in: pieces)
        #expect(try Inflate.decode(encoded) == body)
        // Stored blocks have five bytes more for each 65,535.
        #expect(encoded.count <= body.count + 5 * (body.count / 65_535 + 2))
    }

    @Test func decodesRandomBytesOfFewValues() throws {
        var random = SeededRandom(seed: 1)
        for values in [2, 3, 16, 256] {
            let body = Data((0..<30_000).map { _ in UInt8.random(in: 0...UInt8(values - 1), using: &random) })
            #expect(try Inflate.decode(encoded(body, in: .max)) == body)
        }
    }

    @Test func shortensText() {
        #expect(encoded(Self.json, in: .max).count < Self.json.count / 6)
        #expect(encoded(Data(repeating: 97, count: 1 << 20), in: .max).count < 2_000)
    }

    /// The checksums are those of Python's zlib.
    @Test func wrappersHaveTheirChecksums() throws {
        let body = Data("Emily".utf8)
        let bare = encoded(body, in: .max)
        var gzip = try #require(ContentCoding.gzip.makeEncoder?())
        let inGzip = try gzip.encode(body) + gzip.finish()
        #expect(inGzip.prefix(10) == Data([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]))
        #expect(inGzip.dropFirst(10).dropLast(8) == bare)
        #expect(Data(inGzip.suffix(8)) == Data([0x66, 0x12, 0xEA, 0x38, 5, 0, 0, 0]))
        var deflate = try #require(ContentCoding.deflate.makeEncoder?())
        let inZlib = try deflate.encode(body) + deflate.finish()
        #expect(inZlib.prefix(2) == Data([0x78, 0x9C]))
        #expect(inZlib.dropFirst(2).dropLast(4) == bare)
        #expect(Data(inZlib.suffix(4)) == Data([0x05, 0x9E, 0x02, 0x01]))
    }
}

/// A decoder of RFC 1951 that reads one bit at a time.
private struct Inflate {
    private struct Malformed: Error {}

    private let bytes: [UInt8]
    private var position = 0

    static func decode(_ data: Data) throws -> Data {
        var inflate = Inflate(bytes: Array(data))
        var output: [UInt8] = []
        while try !inflate.block(&output) {}
        guard (inflate.position + 7) / 8 == inflate.bytes.count else { throw Malformed() }
        return Data(output)
    }

    private init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    private mutating func bits(_ count: Int) throws -> Int {
        var value = 0
        for bit in 0..<count {
            guard position / 8 < bytes.count else { throw Malformed() }
            value |= Int(bytes[position / 8] >> UInt8(position % 8) & 1) << bit
            position += 1
        }
        return value
    }

    /// Decodes a block, and returns whether it is the last.
    private mutating func block(_ output: inout [UInt8]) throws -> Bool {
        let isLast = try bits(1) == 1
        switch try bits(2) {
        case 0:
            position = (position + 7) / 8 * 8
            let length = try bits(16)
            guard try bits(16) == length ^ 0xFFFF else { throw Malformed() }
            for _ in 0..<length { output.append(UInt8(try bits(8))) }
        case 1:
            let literals = (0..<288).map { $0 < 144 ? 8 : $0 < 256 ? 9 : $0 < 280 ? 7 : 8 }
            try tokens(Code(literals), Code([Int](repeating: 5, count: 30)), &output)
        case 2:
            let (literals, distances, codes) = (try bits(5) + 257, try bits(5) + 1, try bits(4) + 4)
            var lengths = [Int](repeating: 0, count: 19)
            for symbol in [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15].prefix(codes) {
                lengths[symbol] = try bits(3)
            }
            let code = Code(lengths)
            var all: [Int] = []
            while all.count < literals + distances {
                switch try symbol(code) {
                case 16:
                    guard let last = all.last else { throw Malformed() }
                    all += [Int](repeating: last, count: 3 + (try bits(2)))
                case 17: all += [Int](repeating: 0, count: 3 + (try bits(3)))
                case 18: all += [Int](repeating: 0, count: 11 + (try bits(7)))
                case let length: all.append(length)
                }
            }
            guard all.count == literals + distances else { throw Malformed() }
            try tokens(Code(Array(all.prefix(literals))), Code(Array(all.suffix(distances))), &output)
        default:
            throw Malformed()
        }
        return isLast
    }

    private mutating func tokens(_ literals: Code, _ distances: Code, _ output: inout [UInt8]) throws {
        while true {
            let symbol = try symbol(literals)
            if symbol < 256 {
                output.append(UInt8(symbol))
                continue
            }
            guard symbol > 256 else { return }
            let lengths = [
                3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195,
                227, 258,
            ]
            let lengthExtra = symbol < 265 || symbol == 285 ? 0 : (symbol - 261) / 4
            let length = lengths[symbol - 257] + (try bits(lengthExtra))
            let code = try self.symbol(distances)
            let distanceExtra = code < 4 ? 0 : code / 2 - 1
            let base = code < 4 ? code : (2 + code % 2) << distanceExtra
            let distance = base + 1 + (try bits(distanceExtra))
            guard distance <= output.count else { throw Malformed() }
            for _ in 0..<length { output.append(output[output.count - distance]) }
        }
    }

    private mutating func symbol(_ code: Code) throws -> Int {
        var key = 1
        for _ in 0..<15 {
            key = key << 1 | (try bits(1))
            if let symbol = code.symbols[key] { return symbol }
        }
        throw Malformed()
    }

    /// The symbols by their codes, with a leading one.
    private struct Code {
        let symbols: [Int: Int]

        init(_ lengths: [Int]) {
            var symbols: [Int: Int] = [:]
            var code = 0
            for length in 1...15 {
                for symbol in lengths.indices where lengths[symbol] == length {
                    symbols[1 << length | code] = symbol
                    code += 1
                }
                code <<= 1
            }
            self.symbols = symbols
        }
    }
}
