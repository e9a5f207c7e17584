// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// The declarations of AsyncStreaming (swift-async-algorithms) and of the containers of swift-collections that the adapter
// and its tests use, in the form that they have for Swift 6.4. Swift 6.3 has no containers that are not copied, so a
// container here is a simple one, and what drains it is no value with a lifetime.

public enum EitherError<First: Error, Second: Error>: Error {
    case first(First)
    case second(Second)
}

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

public protocol AsyncReader<ReadElement, ReadFailure, FinalElement>: ~Copyable, ~Escapable {
    associatedtype ReadElement
    associatedtype Buffer: RangeReplaceableContainer<ReadElement> & ~Copyable
    associatedtype ReadFailure: Error
    associatedtype FinalElement = Void

    mutating func read<Return: ~Copyable, Failure: Error>(
        body: (inout Buffer, consuming FinalElement?) async throws(Failure) -> Return
    ) async throws(EitherError<ReadFailure, Failure>) -> Return
}

public protocol CallerAsyncWriter<WriteElement, WriteFailure, FinalElement>: ~Copyable, ~Escapable {
    associatedtype WriteElement
    associatedtype WriteFailure: Error
    associatedtype FinalElement = Void

    mutating func write<Buffer: RangeReplaceableContainer<WriteElement> & ~Copyable>(
        buffer: inout Buffer
    ) async throws(WriteFailure)

    consuming func finish<Buffer: RangeReplaceableContainer<WriteElement> & ~Copyable>(
        buffer: inout Buffer,
        finalElement: consuming FinalElement
    ) async throws(WriteFailure)
}
