/// A binary heap, whose smallest element is found in constant time, and added or removed in logarithmic time.
///
/// Of equal elements, any one may come first.
package struct Heap<Element: Comparable> {
    /// The elements, in the order of the heap: that at `i` is not greater than those at `2i + 1` and `2i + 2`.
    package private(set) var unordered: [Element]

    /// Creates a heap with elements in any order.
    package init(_ elements: [Element] = []) {
        unordered = elements
        for index in (0..<unordered.count / 2).reversed() {
            moveDown(from: index)
        }
    }

    /// The number of elements.
    package var count: Int {
        unordered.count
    }

    /// The smallest element; `nil` if the heap is empty.
    package var min: Element? {
        unordered.first
    }

    /// Adds an element.
    package mutating func insert(_ element: Element) {
        unordered.append(element)
        var index = unordered.count - 1
        while index > 0, unordered[index] < unordered[(index - 1) / 2] {
            unordered.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    /// Removes and returns the smallest element; `nil` if the heap is empty.
    @discardableResult
    package mutating func popMin() -> Element? {
        guard let last = unordered.popLast() else { return nil }
        guard let first = unordered.first else { return last }
        unordered[0] = last
        moveDown(from: 0)
        return first
    }

    private mutating func moveDown(from start: Int) {
        var index = start
        while let child = smallestChild(of: index), unordered[child] < unordered[index] {
            unordered.swapAt(index, child)
            index = child
        }
    }

    private func smallestChild(of index: Int) -> Int? {
        let left = 2 * index + 1
        guard left < unordered.count else { return nil }
        return left + 1 < unordered.count && unordered[left + 1] < unordered[left] ? left + 1 : left
    }
}

extension Heap: Sendable where Element: Sendable {}
