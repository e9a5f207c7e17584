/// A name in lower case with asterisks, each of which stands for any characters or none: `x-*-token`.
package struct NamePattern: Sendable, Hashable {
    /// What must begin the name, what must end it, and what must occur in between, in order.
    private let start: [UInt8]
    private let end: [UInt8]
    private let middle: [[UInt8]]

    /// Creates a pattern; nil for a text without an asterisk, which is a name.
    package init?(_ text: String) {
        let pieces = text.utf8.split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false).map { Array($0) }
        guard pieces.count > 1 else { return nil }
        start = pieces[0]
        end = pieces[pieces.count - 1]
        middle = pieces[1..<(pieces.count - 1)].filter { !$0.isEmpty }
    }

    /// Whether a name, in lower case, is one of those.
    package func matches(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        guard name.count >= start.count + end.count, name.starts(with: start),
            name.suffix(end.count).elementsEqual(end)
        else { return false }
        // The first place for each piece leaves the most to those that follow.
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
