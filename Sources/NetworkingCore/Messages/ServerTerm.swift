import Synchronization

/// The time during which the app uses one server, if it can change the server.
///
/// It ends with the change.
///
/// After a change, the credentials of a stack may belong to the new server. A request that was resolved before the
/// change still goes to the former server, so it is sent without them.
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
