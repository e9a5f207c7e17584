import Synchronization

/// The time during which the app uses a server that can be changed, which is over for good after a change.
///
/// The credentials of a stack may belong to another server as soon as the server has changed. A request that was
/// resolved before that still goes to the former server, so it gets none of them any more.
package final class ServerTerm: Sendable {
    private let hasEnded = Atomic(false)

    package init() {}

    /// Whether the app has changed to another server.
    ///
    /// A caller that reads credentials checks it afterwards: credentials that were set after the change are then
    /// recognized.
    var isOver: Bool {
        hasEnded.load(ordering: .acquiring)
    }

    /// Ends the term, before the app can set credentials for the next server.
    package func end() {
        hasEnded.store(true, ordering: .releasing)
    }
}
