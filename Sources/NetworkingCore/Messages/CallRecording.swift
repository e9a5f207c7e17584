/// An object that records what one call does, which `instrument` attaches to the request.
///
/// A request carries it next to its options, because setting it must not copy those. It receives every event before the
/// observers, and never blocks.
@usableFromInline
package protocol CallRecording: AnyObject, Sendable {
    /// Records that a part of the stack receives the request.
    ///
    /// - Returns: The number for ``leave(_:)``.
    func enter(_ part: any Any.Type) -> Int32

    /// Records that the part has returned or thrown.
    func leave(_ number: Int32)

    /// Records an event.
    func record(_ event: any NetworkEvent)

    /// Returns a recording of work that several calls share and that may outlive this call.
    func branch() -> any CallRecording

    /// Adds the events that a branch has recorded so far.
    func join(_ branch: any CallRecording)
}
