/// Writes down what happens in one call, for `instrument`: which part of the stack has the request, and what is told of it.
package protocol CallRecording: AnyObject, Sendable {
    /// A part of the stack gets the request.
    ///
    /// - Returns: The number to leave with.
    func enter(_ part: any Any.Type) -> Int32

    /// It has returned or thrown.
    func leave(_ number: Int32)

    func record(_ event: NetworkEvent)

    /// One for work that is done beside this call, and may outlive it.
    func branch() -> any CallRecording

    /// Adds what a branch has recorded so far; what it records later is not this call's.
    func join(_ branch: any CallRecording)
}
