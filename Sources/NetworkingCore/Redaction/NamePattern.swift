/// A name pattern in lower case, in which each asterisk matches any number of characters: `x-*-token`.
package struct NamePattern: Sendable, Hashable {
    /// The start and the end of the name, and the texts that occur in between, in order.
    private let start: [UInt8]
    private let end: [UInt8]
    private let middle: [[UInt8]]

    /// Creates a pattern; `nil` for a text without an asterisk, which is a plain name.
    package init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false).map { Array($0) }
        guard parts.count > 1 else { return nil }
        start = parts[0]
        end = parts[parts.count - 1]
        middle = parts[1..<(parts.count - 1)].filter { !$0.isEmpty }
    }

    /// Returns whether a name, in lower case, matches the pattern.
    package func matches(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        guard name.count >= start.count + end.count, name.starts(with: start),
            name.suffix(end.count).elementsEqual(end)
        else { return false }
        // Taking the first match of each part leaves the longest rest for the following parts.
        var position = start.count
        for part in middle {
            guard let found = Self.find(part, in: name, from: position, to: name.count - end.count) else {
                return false
            }
            position = found + part.count
        }
        return true
    }

    private static func find(
        _ part: [UInt8],
        in name: UnsafeBufferPointer<UInt8>,
        from start: Int,
        to end: Int
    ) -> Int? {
        guard start + part.count <= end else { return nil }
        return (start...(end - part.count))
            .first { offset in
                part.indices.allSatisfy { name[offset + $0] == part[$0] }
            }
    }
}
