import NetworkingCore

extension TokenStore {
    /// Credentials and the principal that they belong to.
    package struct Grant: Sendable {
        package let credentials: Credentials
        let principal: Principal
        let generation: UInt64
        /// The number of the sign-in that the credentials belong to; a refresh keeps it.
        let signIn: UInt64
        /// Whether the request with these credentials has waited for a refresh, which it does only once.
        var isRenewal = false
        /// Whether earlier refreshes count towards the limit until the server accepts these credentials.
        let isUnproven: Bool

        func isOfSameUser(as other: Grant) -> Bool {
            signIn == other.signIn || principal == other.principal
        }
    }

    /// A refresh that requests wait for, and that continues without them.
    typealias Renewal = SharedOperation<Void>

    /// When the current credentials have to be renewed.
    enum Usage {
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

    struct State {
        private(set) var credentials: Credentials?
        private(set) var principal: Principal
        /// The generation of the current credentials.
        ///
        /// It distinguishes refused credentials from their replacement.
        private(set) var generation: UInt64 = 0
        private var signIn: UInt64 = 0
        var renewal: Renewal?
        var refreshes = RefreshTally()
        var usage = Usage.untilLeeway

        init(credentials: Credentials?, principal: Principal) {
            self.credentials = credentials
            self.principal = principal
        }

        var grant: Grant? {
            guard let credentials else { return nil }
            return Grant(
                credentials: credentials,
                principal: principal,
                generation: generation,
                signIn: signIn,
                isUnproven: !refreshes.isEmpty
            )
        }

        /// Whether the result of a refresh is still wanted: no credentials were set or removed, and no other refresh
        /// has started.
        func isUnderWay(_ renewal: Renewal, _ generation: UInt64) -> Bool {
            self.renewal === renewal || self.renewal == nil && self.generation == generation
        }

        /// Replaces the credentials and returns the refresh that was in progress.
        mutating func replace(
            with credentials: Credentials?,
            of principal: Principal,
            isSignIn: Bool,
            usage: Usage
        ) -> Renewal? {
            if isSignIn {
                signIn += 1
                // The limit is that of the former user.
                refreshes = RefreshTally()
            }
            self.credentials = credentials
            self.principal = principal
            generation += 1
            self.usage = usage
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

extension Principal {
    /// Returns the principal of credentials: the user's id, or a random id for this sign-in.
    static func of(_ credentials: (some AuthenticatingCredentials)?) -> Principal {
        if let principal = credentials?.principal { return principal }
        return Principal(id: NetworkEnvironment.current.secureRandom.bytes(16).hexadecimal)
    }
}
