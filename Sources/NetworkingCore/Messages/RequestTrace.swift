/// The trace of a request's exchanges, which a part of a stack sets; it is removed when the request leaves the stack.
package protocol RequestTrace: Sendable {
    /// The identifier of the trace, for log lines; `nil` if it is not known.
    var id: (any CustomStringConvertible & Sendable)? { get }

    /// Starts a separate trace for a request that is sent in the background.
    func startNewTrace(_ request: inout HTTPRequestData)
}

extension HTTPRequestData {
    /// The trace of the request's exchanges, if a part of the stack has set one.
    package var trace: (any RequestTrace)? {
        box?.value.trace
    }

    /// Marks the request as traced, so that the parts of the stack further in do not trace it too.
    package mutating func mark(asTracedBy trace: some RequestTrace) {
        settings.trace = trace
    }
}
