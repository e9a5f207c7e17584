import FoundationForNetworking

/// An encoder of deflate blocks (RFC 1951), without a wrapper.
///
/// It is written in Swift, because Foundation has no streaming interface to zlib on Linux, and a dependency on the C
/// library would need its headers in every build. It finds repetitions as zlib does, and chooses the shortest of the
/// three kinds of blocks.
struct Deflate {
    private static let historySize = 32 << 10
    /// A multiple of the history, so that the positions in the table of matches keep their places.
    private static let blockSize = 64 << 10

    /// The bytes that later ones may repeat, and then the bytes that are not encoded yet.
    private var window: [UInt8] = []
    /// The index of the first byte that is not encoded yet.
    private var start = 0
    private var matches = MatchTable()
    private var bits = BitWriter()

    /// Encodes the next bytes, of which the last ones wait for more.
    mutating func encode(_ bytes: Data) -> Data {
        var rest = bytes[...]
        while !rest.isEmpty {
            let part = rest.prefix(Self.historySize + Self.blockSize - window.count)
            window += part
            rest = rest.dropFirst(part.count)
            guard window.count == Self.historySize + Self.blockSize else { continue }
            encodeBlock(isLast: false)
            window.removeFirst(Self.blockSize)
            start = Self.historySize
            matches.slide(by: Self.blockSize)
        }
        return bits.takeBytes()
    }

    /// Encodes the last bytes.
    mutating func finish() -> Data {
        encodeBlock(isLast: true)
        window = []
        bits.align()
        return bits.takeBytes()
    }

    private mutating func encodeBlock(isLast: Bool) {
        let tokens = matches.tokens(of: window, from: start)
        var counts = [Int](repeating: 0, count: 286)
        var distanceCounts = [Int](repeating: 0, count: 30)
        // The end of the block.
        counts[256] = 1
        var extraBits = 0
        for token in tokens {
            counts[token.symbol] += 1
            guard let distance = token.distanceSymbol else { continue }
            distanceCounts[distance] += 1
            extraBits += token.lengthExtra.count + token.distanceExtra.count
        }
        let codes = HuffmanCode(counts, limit: 15)
        let distanceCodes = HuffmanCode(distanceCounts, limit: 15)
        let header = DynamicHeader(codes, distanceCodes)
        let dynamic = header.bitCount + codes.bitCount(of: counts) + distanceCodes.bitCount(of: distanceCounts)
        let fixed = HuffmanCode.fixed.bitCount(of: counts) + HuffmanCode.fixedDistances.bitCount(of: distanceCounts)
        let plain = window[start...]
        // At most two blocks, each with its length twice.
        if plain.count * 8 + 80 < min(dynamic, fixed) + extraBits {
            store(plain, isLast: isLast)
            return
        }
        bits.write(isLast ? 1 : 0, count: 1)
        if fixed <= dynamic {
            bits.write(1, count: 2)
            write(tokens, with: .fixed, .fixedDistances)
        } else {
            bits.write(2, count: 2)
            header.write(to: &bits)
            write(tokens, with: codes, distanceCodes)
        }
    }

    private mutating func write(_ tokens: [Token], with codes: HuffmanCode, _ distanceCodes: HuffmanCode) {
        for token in tokens {
            codes.write(token.symbol, to: &bits)
            guard let distance = token.distanceSymbol else { continue }
            bits.write(token.lengthExtra.value, count: token.lengthExtra.count)
            distanceCodes.write(distance, to: &bits)
            bits.write(token.distanceExtra.value, count: token.distanceExtra.count)
        }
        codes.write(256, to: &bits)
    }

    /// Writes bytes as they are, in blocks of at most 65,535.
    private mutating func store(_ bytes: ArraySlice<UInt8>, isLast: Bool) {
        var rest = bytes
        repeat {
            let part = rest.prefix(0xFFFF)
            rest = rest.dropFirst(part.count)
            bits.write(isLast && rest.isEmpty ? 1 : 0, count: 3)
            bits.align()
            bits.write(UInt32(part.count), count: 16)
            bits.write(UInt32(part.count) ^ 0xFFFF, count: 16)
            bits.append(part)
        } while !rest.isEmpty
    }
}

// MARK: Repetitions

/// A byte, or a reference to earlier bytes.
private struct Token {
    /// The byte; or a mark, the length less 3 and the distance less 1.
    private let bits: UInt32

    init(_ byte: UInt8) {
        bits = UInt32(byte)
    }

    init(length: Int, distance: Int) {
        bits = 1 << 31 | UInt32(length - 3) << 16 | UInt32(distance - 1)
    }

    private var isMatch: Bool {
        bits >> 31 == 1
    }

    private var length: UInt32 {
        bits >> 16 & 0xFF
    }

    private var distance: UInt32 {
        bits & 0xFFFF
    }

    /// The symbol of the byte or of the length (RFC 1951 section 3.2.5).
    var symbol: Int {
        guard isMatch else { return Int(bits) }
        if length < 8 { return 257 + Int(length) }
        if length == 255 { return 285 }
        let power = Self.power(of: length)
        return 257 + 4 * (power - 1) + Int(length >> UInt32(power - 2) & 3)
    }

    var lengthExtra: (value: UInt32, count: Int) {
        guard length >= 8, length < 255 else { return (0, 0) }
        let count = Self.power(of: length) - 2
        return (length & (1 << UInt32(count) - 1), count)
    }

    /// The symbol of the distance; `nil` for a byte.
    var distanceSymbol: Int? {
        guard isMatch else { return nil }
        if distance < 4 { return Int(distance) }
        let power = Self.power(of: distance)
        return 2 * power + Int(distance >> UInt32(power - 1) & 1)
    }

    var distanceExtra: (value: UInt32, count: Int) {
        guard distance >= 4 else { return (0, 0) }
        let count = Self.power(of: distance) - 1
        return (distance & (1 << UInt32(count) - 1), count)
    }

    /// Returns the power of the highest bit.
    private static func power(of number: UInt32) -> Int {
        31 - number.leadingZeroBitCount
    }
}

/// The positions of all sequences of three bytes in a window, by their hashes.
private struct MatchTable {
    private static let mask = 32_767
    /// The number of earlier positions to compare.
    private static let maximumComparisons = 48
    /// The length from which the next position is not searched for a longer match.
    private static let sufficientLength = 32

    /// The last position of each hash; -1 if there is none.
    private var last = [Int32](repeating: -1, count: mask + 1)
    /// The position of the same hash before a position, at the index of its lower bits.
    private var previous = [Int32](repeating: -1, count: mask + 1)

    /// Corrects the positions after the first bytes of the window have been removed.
    mutating func slide(by count: Int) {
        for index in last.indices {
            last[index] = max(-1, last[index] - Int32(count))
            previous[index] = max(-1, previous[index] - Int32(count))
        }
    }

    /// Returns the tokens of a window from an index to its end.
    mutating func tokens(of window: [UInt8], from start: Int) -> [Token] {
        window.withUnsafeBufferPointer { window in
            last.withUnsafeMutableBufferPointer { last in
                previous.withUnsafeMutableBufferPointer { previous in
                    var search = Search(window: window, last: last, previous: previous)
                    return search.tokens(from: start)
                }
            }
        }
    }

    private struct Search {
        let window: UnsafeBufferPointer<UInt8>
        let last: UnsafeMutableBufferPointer<Int32>
        let previous: UnsafeMutableBufferPointer<Int32>

        mutating func tokens(from start: Int) -> [Token] {
            var tokens: [Token] = []
            tokens.reserveCapacity((window.count - start) / 4)
            var index = start
            var found: (length: Int, distance: Int)?
            while index < window.count {
                let match = found ?? longestMatch(at: index)
                found = nil
                add(index)
                guard match.length >= 3 else {
                    tokens.append(Token(window[index]))
                    index += 1
                    continue
                }
                if match.length < MatchTable.sufficientLength {
                    let next = longestMatch(at: index + 1)
                    if next.length > match.length {
                        tokens.append(Token(window[index]))
                        index += 1
                        found = next
                        continue
                    }
                }
                tokens.append(Token(length: match.length, distance: match.distance))
                for covered in index + 1..<index + match.length {
                    add(covered)
                }
                index += match.length
            }
            return tokens
        }

        private func hash(at index: Int) -> Int {
            let bytes = UInt32(window[index]) << 16 | UInt32(window[index + 1]) << 8 | UInt32(window[index + 2])
            return Int((bytes &* 0x9E37_79B1) >> 17)
        }

        private func add(_ index: Int) {
            guard index + 2 < window.count else { return }
            let hash = hash(at: index)
            previous[index & MatchTable.mask] = last[hash]
            last[hash] = Int32(index)
        }

        /// Returns the longest earlier sequence that repeats at an index; its length is less than 3 if there is none.
        private func longestMatch(at index: Int) -> (length: Int, distance: Int) {
            var best = (length: 0, distance: 0)
            guard index + 2 < window.count else { return best }
            let maximumLength = min(258, window.count - index)
            var candidate = Int(last[hash(at: index)])
            var comparisons = 0
            // A position that was overwritten leads to a later one, or to one that is too far away.
            while candidate >= 0, candidate < index, index - candidate <= MatchTable.mask,
                comparisons < MatchTable.maximumComparisons
            {
                comparisons += 1
                if window[candidate + best.length] == window[index + best.length] {
                    var length = 0
                    while length < maximumLength, window[candidate + length] == window[index + length] {
                        length += 1
                    }
                    if length > best.length {
                        best = (length, index - candidate)
                        if length == maximumLength { break }
                    }
                }
                let next = Int(previous[candidate & MatchTable.mask])
                guard next < candidate else { break }
                candidate = next
            }
            return best
        }
    }
}

// MARK: Codes

/// A canonical Huffman code (RFC 1951 section 3.2.2).
private struct HuffmanCode {
    /// The lengths in bits of the codes of all symbols; zero for a symbol without one.
    let lengths: [Int]
    /// The codes, the first bit lowest.
    private let codes: [UInt32]

    static let fixed = HuffmanCode(
        lengths: (0..<288).map { $0 < 144 ? 8 : $0 < 256 ? 9 : $0 < 280 ? 7 : 8 }
    )
    static let fixedDistances = HuffmanCode(lengths: [Int](repeating: 5, count: 30))

    private init(lengths: [Int]) {
        self.lengths = lengths
        var next = [UInt32](repeating: 0, count: 17)
        var code: UInt32 = 0
        for length in 1...15 {
            next[length] = code
            code = (code + UInt32(lengths.count { $0 == length })) << 1
        }
        codes = lengths.map { length in
            guard length > 0 else { return 0 }
            defer { next[length] += 1 }
            var rest = next[length]
            return (0..<length)
                .reduce(UInt32(0)) { code, _ in
                    defer { rest >>= 1 }
                    return code << 1 | rest & 1
                }
        }
    }

    /// Creates a code whose lengths do not exceed a limit, at almost the least length of all symbols together.
    init(_ counts: [Int], limit: Int) {
        var counts = counts
        // Some decoders accept no code with a single symbol.
        for symbol in 0...1 where counts[symbol] == 0 && counts.count(where: { $0 > 0 }) < 2 {
            counts[symbol] = 1
        }
        let symbols = counts.indices.filter { counts[$0] > 0 }.sorted { (counts[$0], $0) < (counts[$1], $1) }
        var numbers = Self.numbersOfLengths(of: symbols.map { counts[$0] })
        Self.shorten(&numbers, to: limit)
        var lengths = [Int](repeating: 0, count: counts.count)
        // The rarest symbols get the longest codes.
        var rest = symbols[...]
        for length in stride(from: limit, to: 0, by: -1) {
            for symbol in rest.prefix(numbers[length]) {
                lengths[symbol] = length
            }
            rest = rest.dropFirst(numbers[length])
        }
        self.init(lengths: lengths)
    }

    /// Returns how many leaves of the Huffman tree are at each depth.
    ///
    /// - Parameter counts: The counts of the leaves, in ascending order.
    /// - Returns: The numbers of leaves, by depth.
    private static func numbersOfLengths(of counts: [Int]) -> [Int] {
        var weights = counts
        var parents: [Int] = []
        // Both queues are sorted: the leaves, and the inner nodes in the order of their creation.
        var leaf = 0
        var inner = counts.count
        func takeSmallest() -> Int {
            if leaf < counts.count, inner == weights.count || weights[leaf] <= weights[inner] {
                leaf += 1
                return leaf - 1
            }
            inner += 1
            return inner - 1
        }
        parents = [Int](repeating: 0, count: 2 * counts.count - 1)
        while weights.count < 2 * counts.count - 1 {
            let (first, second) = (takeSmallest(), takeSmallest())
            parents[first] = weights.count
            parents[second] = weights.count
            weights.append(weights[first] + weights[second])
        }
        var depths = [Int](repeating: 0, count: weights.count)
        var numbers = [Int](repeating: 0, count: max(counts.count, 16) + 1)
        for node in weights.indices.dropLast().reversed() {
            depths[node] = depths[parents[node]] + 1
            if node < counts.count {
                numbers[depths[node]] += 1
            }
        }
        return numbers
    }

    /// Moves codes that are too long up, and others down until the lengths are possible (Kraft's inequality).
    private static func shorten(_ numbers: inout [Int], to limit: Int) {
        for length in numbers.indices where length > limit {
            numbers[limit] += numbers[length]
            numbers[length] = 0
        }
        var total = (1...limit).reduce(0) { $0 + numbers[$1] << (limit - $1) }
        while total > 1 << limit {
            numbers[limit] -= 1
            if let length = (1..<limit).last(where: { numbers[$0] > 0 }) {
                numbers[length] -= 1
                numbers[length + 1] += 2
            }
            total -= 1
        }
    }

    func bitCount(of counts: [Int]) -> Int {
        counts.indices.reduce(0) { $0 + counts[$1] * lengths[$1] }
    }

    func write(_ symbol: Int, to bits: inout BitWriter) {
        bits.write(codes[symbol], count: lengths[symbol])
    }
}

/// The lengths of the codes of a block, run-length encoded (RFC 1951 section 3.2.7).
private struct DynamicHeader {
    private static let order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]

    private let literalCount: Int
    private let distanceCount: Int
    private var runs: [(symbol: Int, extra: UInt32, count: Int)] = []
    private let codes: HuffmanCode
    private let codeCount: Int

    init(_ literals: HuffmanCode, _ distances: HuffmanCode) {
        literalCount = max(257, (literals.lengths.lastIndex { $0 > 0 } ?? 0) + 1)
        distanceCount = max(1, (distances.lengths.lastIndex { $0 > 0 } ?? 0) + 1)
        var rest = (literals.lengths.prefix(literalCount) + distances.lengths.prefix(distanceCount))[...]
        while let length = rest.first {
            let run = rest.prefix { $0 == length }.count
            let taken: Int
            switch (length, run) {
            case (0, 11...):
                taken = min(run, 138)
                runs.append((18, UInt32(taken - 11), 7))
            case (0, 3...):
                taken = run
                runs.append((17, UInt32(taken - 3), 3))
            case (_, 4...) where length > 0:
                // The length itself, and repetitions of it.
                taken = min(run, 7)
                runs.append((length, 0, 0))
                runs.append((16, UInt32(taken - 4), 2))
            default:
                taken = 1
                runs.append((length, 0, 0))
            }
            rest = rest.dropFirst(taken)
        }
        var counts = [Int](repeating: 0, count: 19)
        for run in runs { counts[run.symbol] += 1 }
        let codes = HuffmanCode(counts, limit: 7)
        self.codes = codes
        codeCount = max(4, (Self.order.lastIndex { codes.lengths[$0] > 0 } ?? 0) + 1)
    }

    var bitCount: Int {
        runs.reduce(14 + 3 * codeCount) { $0 + codes.lengths[$1.symbol] + $1.count }
    }

    func write(to bits: inout BitWriter) {
        bits.write(UInt32(literalCount - 257), count: 5)
        bits.write(UInt32(distanceCount - 1), count: 5)
        bits.write(UInt32(codeCount - 4), count: 4)
        for symbol in Self.order.prefix(codeCount) {
            bits.write(UInt32(codes.lengths[symbol]), count: 3)
        }
        for run in runs {
            codes.write(run.symbol, to: &bits)
            bits.write(run.extra, count: run.count)
        }
    }
}

// MARK: Bits

private struct BitWriter {
    private var bytes: [UInt8] = []
    private var rest: UInt64 = 0
    private var restCount = 0

    mutating func write(_ value: UInt32, count: Int) {
        rest |= UInt64(value) << UInt64(restCount)
        restCount += count
        while restCount >= 8 {
            bytes.append(UInt8(truncatingIfNeeded: rest))
            rest >>= 8
            restCount -= 8
        }
    }

    /// Fills the last byte with zeros.
    mutating func align() {
        if restCount > 0 {
            write(0, count: 8 - restCount)
        }
    }

    mutating func append(_ more: ArraySlice<UInt8>) {
        bytes += more
    }

    mutating func takeBytes() -> Data {
        defer { bytes = [] }
        return Data(bytes)
    }
}
