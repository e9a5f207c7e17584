// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// The containers of swift-collections that the adapter and its tests use, in the form that they have for Swift 6.4. Swift
// 6.3 has no containers that are not copied, so a container here is a simple one, and what drains it is no value with a
// lifetime.

public protocol RangeReplaceableContainer<Element>: ~Copyable {
    associatedtype Element

    var count: Int { get }
    mutating func consumeAll() -> Drain<Element>
}

public struct Drain<Element>: ~Copyable {
    var elements: ArraySlice<Element>

    public mutating func next() -> Element? {
        elements.popFirst()
    }
}

public struct UniqueArray<Element>: ~Copyable, RangeReplaceableContainer {
    private var elements: [Element]

    public init() {
        elements = []
    }

    public init(copying elements: some Sequence<Element>) {
        self.elements = Array(elements)
    }

    public var count: Int {
        elements.count
    }

    public mutating func append(copying newElements: some Sequence<Element>) {
        elements.append(contentsOf: newElements)
    }

    public mutating func consumeAll() -> Drain<Element> {
        defer { elements = [] }
        return Drain(elements: elements[...])
    }
}

extension UniqueArray: @unchecked Sendable where Element: Sendable {}
