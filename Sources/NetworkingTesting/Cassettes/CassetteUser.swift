import NetworkingCore
import NetworkingInspector
import Synchronization

extension Cassette {
    typealias User = HAR.User

    /// The user on this cassette that a principal stands for; nil without a principal.
    func user(_ principal: Principal?) -> User? {
        // In a replay, cookie modifiers upstream store no cookies, so cookies cannot identify the user.
        guard let principal = principal?.withoutCookies else { return nil }
        if let name = options.principalName { return .name(name(principal)) }
        return .number(state.withLock { $0.number(of: principal) })
    }
}
