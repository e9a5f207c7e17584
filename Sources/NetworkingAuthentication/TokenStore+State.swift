import NetworkingCore
import Synchronization

extension TokenStore {
    /// Credentials and the principal that they belong to.
    // A class, because copying a structure of the type parameter takes hundreds of instructions for its type alone.
    package final class Grant: Sendable {
        let principal: Principal
        let generation: UInt64
        /// The number of the sign-in that the credentials belong to; a refresh keeps it.
        let signIn: UInt64
        /// Whether the request with these credentials has waited for a refresh, which it does only once.
        let isRenewal: Bool
        /// Whether earlier refreshes count towards the limit until the server accepts these credentials.
        let isUnproven: Bool
        package let credentials: Credentials

        fileprivate init(
            _ credentials: Credentials,
            of principal: Principal,
            generation: UInt64,
            signIn: UInt64,
            isRenewal: Bool = false,
            isUnproven: Bool
        ) {
            self.credentials = credentials
            self.principal = principal
            self.generation = generation
            self.signIn = signIn
            self.isRenewal = isRenewal
            self.isUnproven = isUnproven
        }

        func isOfSameUser(as other: Grant) -> Bool {
            signIn == other.signIn || principal == other.principal
        }

        /// Returns the same grant for a request that has waited for a refresh, or has not.
        func asRenewal(_ isRenewal: Bool) -> Grant {
            Grant(
                credentials,
                of: principal,
                generation: generation,
                signIn: signIn,
                isRenewal: isRenewal,
                isUnproven: isUnproven
            )
        }
    }

    /// A refresh that requests wait for, and that continues without them.
    typealias Renewal = SharedOperation<Void>

    typealias Usage = CredentialUsage

    struct State {
        private(set) var credentials: Credentials?
        private var user: StoreUser
        private let signedIn: SignedInUser
        /// The generation of the current credentials.
        ///
        /// It distinguishes refused credentials from their replacement.
        private(set) var generation: UInt64 = 0
        /// The number of the sign-in that the credentials belong to; a refresh keeps it.
        private(set) var signIn: UInt64 = 0
        var renewal: Renewal?
        var refreshes = RefreshTally() {
            didSet {
                if grant?.isUnproven == refreshes.isEmpty { updateGrant() }
            }
        }
        var usage = Usage.untilLeeway

        init(credentials: Credentials?, user: StoreUser, signedIn: SignedInUser) {
            self.credentials = credentials
            self.user = user
            self.signedIn = signedIn
            updateGrant()
        }

        /// The principal that the credentials belong to.
        var principal: Principal {
            user.principal
        }

        /// The current credentials for a request.
        private(set) var grant: Grant?

        private mutating func updateGrant() {
            grant = credentials.map {
                Grant($0, of: principal, generation: generation, signIn: signIn, isUnproven: !refreshes.isEmpty)
            }
            signedIn.set(SignedInUser.Current(principal: principal, user: grant?.principal, signIn: signIn))
        }

        /// Whether the result of a refresh is still wanted: no credentials were set or removed, and no other refresh
        /// has started.
        func isUnderWay(_ renewal: Renewal, _ generation: UInt64) -> Bool {
            self.renewal === renewal || self.renewal == nil && self.generation == generation
        }

        /// Sets the credentials of a user, or of none, and returns the refresh that was in progress.
        mutating func signIn(_ credentials: Credentials?, of user: StoreUser, usage: Usage) -> Renewal? {
            signIn += 1
            // The limit is that of the former user.
            refreshes = RefreshTally()
            self.user = user
            return replace(with: credentials, usage: usage)
        }

        /// Sets renewed credentials, and returns the refresh that was in progress.
        ///
        /// - Parameters:
        ///   - credentials: The credentials.
        ///   - principal: The user that they name; `nil` if they name none. Another user than before is a sign-in.
        ///   - usage: When the credentials have to be renewed.
        /// - Returns: The refresh.
        mutating func renew(with credentials: Credentials, of principal: Principal?, usage: Usage) -> Renewal? {
            guard let principal, principal != user.principal else { return replace(with: credentials, usage: usage) }
            let renewed = StoreUser(named: principal)
            guard !user.isNamed else { return signIn(credentials, of: renewed, usage: usage) }
            user = renewed
            return replace(with: credentials, usage: usage)
        }

        private mutating func replace(with credentials: Credentials?, usage: Usage) -> Renewal? {
            self.credentials = credentials
            generation += 1
            self.usage = usage
            updateGrant()
            defer { renewal = nil }
            return renewal
        }
    }
}

extension AuthenticatingCredentials {
    /// The principal that the credentials belong to, if they name a user.
    var principal: Principal? {
        userID.flatMap { $0.isEmpty ? nil : Principal(userID: $0) }
    }

    /// Returns the same credentials, with the user, the refresh window and the sign-in of the old ones where they have
    /// none.
    ///
    /// Without old ones, they belong to a new sign-in.
    func inheriting(from old: Self?) -> Self {
        guard let old = old as? Session, var session = self as? Session else { return signingIn() }
        session.userID = session.userID ?? old.userID
        session.refreshWindow = session.refreshWindow ?? old.refreshWindow
        session.signIn.id = session.signIn.id ?? old.signIn.id
        return session as? Self ?? self
    }

    /// Returns the same credentials with the id of a new sign-in, unless they have one.
    func signingIn() -> Self {
        guard var session = self as? Session, session.signIn.id == nil else { return self }
        session.signIn.id = NetworkEnvironment.current.secureRandom.bytes(16).hexadecimal
        return session as? Self ?? self
    }
}

/// The user of a store: the user's id, or a random id for one sign-in.
struct StoreUser: Sendable {
    let principal: Principal
    /// Whether the credentials name the user.
    let isNamed: Bool

    init(of credentials: (some AuthenticatingCredentials)?) {
        let named = credentials?.principal
        principal = named ?? Principal(id: NetworkEnvironment.current.secureRandom.bytes(16).hexadecimal)
        isNamed = named != nil
    }

    init(named principal: Principal) {
        self.principal = principal
        isNamed = true
    }
}

/// When the current credentials of a store have to be renewed.
enum CredentialUsage {
    /// The first request decides, because the credentials had already expired when they were set: they are old, or
    /// their clock is that of the stack.
    case undecided
    /// When the leeway before their expiration date begins.
    case untilLeeway
    /// When they expire, because a refresh failed or because they are valid for less than the leeway.
    case untilExpiry
    /// When the server refuses them, because they had already expired when they were received.
    case untilRefused
}

/// The user who is signed in to a store.
///
/// A copy of a part of ``TokenStore/State`` that depends on no type of credentials, because each access to the state
/// takes 2,000 instructions for its types alone.
final class SignedInUser: Sendable {
    struct Current: Sendable {
        /// The principal of the store, also if no user is signed in.
        let principal: Principal
        /// The user; `nil` if none is signed in.
        let user: Principal?
        /// The number of the sign-in.
        let signIn: UInt64
    }

    private let state: Mutex<Current>

    /// Creates a store in which nobody is signed in.
    init(_ principal: Principal) {
        state = Mutex(Current(principal: principal, user: nil, signIn: 0))
    }

    var current: Current {
        state.withLock { $0 }
    }

    func set(_ current: Current) {
        state.withLock { $0 = current }
    }
}
