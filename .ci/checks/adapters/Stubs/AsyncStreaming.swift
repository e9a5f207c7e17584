// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// The declarations of AsyncStreaming (swift-async-algorithms) that the adapter and its tests use, in the form that they
// have for Swift 6.4.

public import BasicContainers

public enum EitherError<First: Error, Second: Error>: Error {
    case first(First)
    case second(Second)
}

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
