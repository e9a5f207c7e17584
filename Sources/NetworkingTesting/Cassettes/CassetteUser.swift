import Networking
import NetworkingHAR
import Synchronization

extension Cassette {
    /// On whose behalf a request is sent, as a cassette tells it: never by an id.
    enum User: Sendable, Hashable {
        /// By the order in which they first appear, from 1.
        case number(Int)
        /// By the name that a test gives them.
        case name(String)
    }

    /// Who somebody is on this cassette; nil for nobody.
    func user(_ principal: Principal?) -> User? {
        guard let principal else { return nil }
        if let name = options.principalName { return .name(name(principal)) }
        return .number(state.withLock { $0.number(of: principal) })
    }
}

extension Cassette.User: CustomStringConvertible {
    /// What a message calls them.
    var description: String {
        switch self {
        case .number(let number): "user \(number) of the recording"
        case .name(let name): "\"\(PrintableText.singleLine(name))\""
        }
    }
}

extension HAR.Tape {
    /// For whom an entry was made.
    var user: Cassette.User? {
        if let principalName { return .name(principalName) }
        return principal.flatMap { Int(exactly: $0) }.map { .number($0) }
    }
}
