/// A first-in, first-out queue.
///
/// Adding at the end and removing at the front take constant time on average. The first element has index 0.
///
/// swift-collections has a deque, whose modules take a tenth of the processor time of a clean build of an app.
@usableFromInline
package struct Queue<Element> {
    // Slots before the head are empty: removed elements are released at once, and their slots together.
    @usableFromInline var slots: [Element?]
    @usableFromInline var head = 0

    /// Creates a queue with elements, the first of which leaves first.
    @inlinable
    package init(_ elements: some Sequence<Element>) {
        slots = Array(elements)
    }

    /// Adds an element at the end.
    @inlinable
    package mutating func append(_ element: Element) {
        slots.append(element)
    }

    /// Removes and returns the first element; `nil` if the queue is empty.
    @inlinable
    package mutating func popFirst() -> Element? {
        guard head < slots.count else { return nil }
        let element = slots[head].take()
        head += 1
        // Each element is moved at most once for each one that was removed.
        if head == slots.count {
            slots.removeAll(keepingCapacity: slots.capacity <= 64)
            head = 0
        } else if head > 32, head > slots.count / 2 {
            slots.removeSubrange(..<head)
            head = 0
        }
        return element
    }

    /// Removes and returns the last element; `nil` if the queue is empty.
    @inlinable
    package mutating func popLast() -> Element? {
        guard head < slots.count else { return nil }
        return slots.removeLast()
    }

    /// Removes the first element.
    ///
    /// - Precondition: The queue is not empty.
    @inlinable
    package mutating func removeFirst() {
        precondition(popFirst() != nil, "an empty queue has no first element")
    }

    /// Removes the elements that fulfill a condition.
    @inlinable
    package mutating func removeAll(where isRemoved: (Element) -> Bool) {
        slots = slots[head...].filter { $0.map { !isRemoved($0) } ?? false }
        head = 0
    }

    /// Removes all elements.
    @inlinable
    package mutating func removeAll() {
        slots = []
        head = 0
    }
}

extension Queue: RandomAccessCollection, MutableCollection {
    @inlinable package var startIndex: Int { 0 }
    @inlinable package var endIndex: Int { slots.count - head }

    @inlinable
    package subscript(position: Int) -> Element {
        get {
            precondition(position >= 0, "an index of a queue must not be negative (is \(position))")
            return slots[head + position]!
        }
        _modify {
            precondition(position >= 0, "an index of a queue must not be negative (is \(position))")
            yield &slots[head + position]!
        }
    }
}

extension Queue: ExpressibleByArrayLiteral {
    @inlinable
    package init(arrayLiteral elements: Element...) {
        self.init(elements)
    }
}

extension Queue: Sendable where Element: Sendable {}
