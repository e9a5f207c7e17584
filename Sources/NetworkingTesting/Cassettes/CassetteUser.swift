import NetworkingCore
import NetworkingHAR
import Synchronization

extension Cassette {
    /// The user that a request is sent for, identified on a cassette without an id.
    enum User: Sendable, Hashable {
        /// By order of first appearance, counted from 1.
        case number(Int)
        /// By a name that the test provides.
        case name(String)
    }

    /// The user on this cassette that a principal stands for; nil without a principal.
    func user(_ principal: Principal?) -> User? {
        // In a replay, cookie modifiers upstream store no cookies, so cookies cannot identify the user.
        guard let principal = principal?.withoutCookies else { return nil }
        if let name = options.principalName { return .name(name(principal)) }
        return .number(state.withLock { $0.number(of: principal) })
    }
}

extension Cassette.User: CustomStringConvertible {
    /// The name of the user in messages.
    var description: String {
        switch self {
        case .number(let number): "user \(number) of the recording"
        case .name(let name): "\"\(PrintableText.singleLine(name))\""
        }
    }
}

extension HAR.Tape {
    /// The user that an entry was recorded for.
    var user: Cassette.User? {
        if let principalName { return .name(principalName) }
        return principal.flatMap { Int(exactly: $0) }.map { .number($0) }
    }
}
