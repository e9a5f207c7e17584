/// An error of another library that wraps the error of a stack.
///
/// A generated client, for example, throws an error of its own type with the error of its transport inside. Declare
/// the conformance, and ``Swift/Error/networkingError`` and ``Swift/Error/isCancelled`` read the inner error:
///
/// ```swift
/// struct ClientFailure: ErrorWrapper {
///     let operation: String
///     let underlyingError: any Error
/// }
///
/// let failure = ClientFailure(operation: "listUsers", underlyingError: CancellationError())
/// print(failure.isCancelled)   // true
/// ```
public protocol ErrorWrapper: Error {
    /// The error that the wrapper contains.
    var underlyingError: any Error { get }
}

extension Error {
    /// The innermost error of wrappers, or the error itself.
    var unwrapped: any Error {
        var error: any Error = self
        // A wrapper that is an object may contain itself.
        for _ in 0..<16 {
            guard let wrapper = error as? any ErrorWrapper else { return error }
            error = wrapper.underlyingError
        }
        return error
    }
}
