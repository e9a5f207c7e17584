/// A name pattern in lower case, in which each asterisk matches any number of characters: `x-*-token`.
package struct NamePattern: Sendable, Hashable {
    /// The start and the end of the name, and the texts that occur in between, in order.
    private let start: [UInt8]
    private let end: [UInt8]
    private let middle: [[UInt8]]

    /// Creates a pattern; `nil` for a text without an asterisk, which is a plain name.
    package init?(_ text: String) {
        let pieces = text.utf8.split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false).map { Array($0) }
        guard pieces.count > 1 else { return nil }
        start = pieces[0]
        end = pieces[pieces.count - 1]
        middle = pieces[1..<(pieces.count - 1)].filter { !$0.isEmpty }
    }

    /// Returns whether a name, in lower case, matches the pattern.
    package func matches(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        guard name.count >= start.count + end.count, name.starts(with: start),
            name.suffix(end.count).elementsEqual(end)
        else { return false }
        // Taking the first match of each piece leaves the longest rest for the following pieces.
        var position = start.count
        for piece in middle {
            guard let found = Self.find(piece, in: name, from: position, to: name.count - end.count) else {
                return false
            }
            position = found + piece.count
        }
        return true
    }

    private static func find(
        _ piece: [UInt8],
        in name: UnsafeBufferPointer<UInt8>,
        from start: Int,
        to end: Int
    ) -> Int? {
        guard start + piece.count <= end else { return nil }
        return (start...(end - piece.count))
            .first { offset in
                piece.indices.allSatisfy { name[offset + $0] == piece[$0] }
            }
    }
}
