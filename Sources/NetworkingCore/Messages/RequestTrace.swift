/// The trace that a part of a stack gives to the exchanges of a request; it leaves the request with the stack.
package protocol RequestTrace: Sendable {
    /// The trace's id, for log lines; nil where it is not known.
    var id: (any CustomStringConvertible & Sendable)? { get }

    /// Gives a request that is sent in the background a trace of its own.
    func traceAnew(_ request: inout HTTPRequestData)
}

extension HTTPRequestData {
    /// The trace that its exchanges have, where a part of the stack gives them one.
    package var trace: (any RequestTrace)? {
        box?.value.trace
    }

    /// Notes that something gives its exchanges their trace, so that what stands further in need not.
    package mutating func mark(asTracedBy trace: some RequestTrace) {
        settings.trace = trace
    }
}
