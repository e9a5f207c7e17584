package import NetworkingCore
import Synchronization

// MARK: - The user of a request

extension TokenStore {
    /// Notes the user that is signed in, for whom the work of a request begins.
    func noteUser(of request: inout HTTPRequestData) {
        let current = signedIn.current
        request.noteUser(current.user, signIn: current.signIn, of: self)
    }

    /// Returns the user of a request: the one that it notes, or otherwise the one that is signed in now.
    func user(of request: HTTPRequestData) -> Principal {
        let current = signedIn.current
        return request.user(of: self, signedIn: current.user, signIn: current.signIn) ?? current.principal
    }

    /// Throws if credentials belong to another user than the one for whom the work of a request began.
    func checkUser(of request: HTTPRequestData, for grant: Grant) throws {
        try request.checkUser(grant.principal, signIn: grant.signIn, of: self)
    }
}

// MARK: - Credentials for requests

extension TokenStore {
    /// The credentials, if a request can be sent with them at once; `nil` if a step is needed.
    ///
    /// Usually they are good, and a step costs 10,000 instructions for its types alone.
    var goodGrant: Grant? {
        let (grant, usage) = state.withLock { ($0.grant, $0.usage) }
        return grant.flatMap { isGood($0, usage) ? $0 : nil }
    }

    /// Returns when new credentials have to be renewed.
    ///
    /// If they are valid for less than the leeway, each of them would be followed by a refresh at once, so they are
    /// used until they expire.
    func usage(of credentials: Credentials, ifExpired usage: Usage = .undecided) -> Usage {
        credentials.isExpired ? usage : credentials.isDue(within: leeway) ? .untilExpiry : .untilLeeway
    }

    /// The credentials and when they have to be renewed.
    private var current: (grant: Grant?, usage: Usage) {
        let (grant, usage) = state.withLock { ($0.grant, $0.usage) }
        guard usage == .undecided else { return (grant, usage) }
        // Called outside the lock, because the credentials may run the app's code.
        let decided = grant.map { self.usage(of: $0.credentials, ifExpired: .untilLeeway) }
        return state.withLock { state in
            if let decided, state.generation == grant?.generation, state.usage == .undecided {
                state.usage = decided
            }
            return (state.grant, state.usage)
        }
    }

    /// Returns the credentials for a request, and waits for new ones if none are valid.
    package func grant(for request: HTTPRequestData, over upstream: some NetworkingComponent) async throws -> Grant {
        try Task.checkCancellation()
        if let goodGrant { return goodGrant }
        var request = request
        noteUser(of: &request)
        while true {
            try request.checkCancellation()
            // No refresh or login is started for a user who is no longer signed in.
            if let current = state.withLock({ $0.grant }) {
                try checkUser(of: request, for: current)
            } else if request.notedUser(of: self) != nil {
                throw request.hasNoCredentials
            }
            switch nextStep(for: nil) {
            case .go(let grant):
                return grant
            case .wait(let renewal, let waiter):
                try await request.waitForCredentials(explaining: nil) {
                    try await renewal.value(for: waiter, until: request.exchangeLimit)
                }
            case .renew(let renewal, let old, let generation):
                request.emit(AuthenticationEvent.refreshing)
                start(renewal, from: old, generation, after: nil, for: request, over: upstream)
                try await request.waitForCredentials(explaining: nil) {
                    try await renewal.valueForCreator(until: request.exchangeLimit)
                }
            case .renewAhead(let renewal, let old, let generation):
                request.emit(AuthenticationEvent.refreshing)
                // The request does not wait. It checks again, because the delegate may have returned already.
                start(renewal, from: old, generation, after: nil, for: request, over: upstream)
            case .impossible:
                throw request.hasNoCredentials
            case .tooOften(let refusal):
                throw request.refreshRefused(refusal, limit, after: nil)
            }
        }
    }

    /// Returns other credentials for a request after the server refused its own.
    ///
    /// - Returns: The credentials; `nil` if there are none for the same user.
    package func grant(
        after refused: Grant,
        _ response: HTTPResponseData,
        for request: HTTPRequestData,
        over upstream: some NetworkingComponent
    ) async throws -> Grant? {
        var isRenewal = true
        try request.checkCancellation()
        switch nextStep(for: refused) {
        case .go:
            isRenewal = refused.isRenewal
        case .wait(let renewal, let waiter):
            try await request.waitForCredentials(explaining: response) {
                try await renewal.value(for: waiter, until: request.exchangeLimit)
            }
        case .renew(let renewal, let old, let generation):
            request.emit(AuthenticationEvent.refreshing)
            start(renewal, from: old, generation, after: response, for: request, over: upstream)
            try await request.waitForCredentials(explaining: response) {
                try await renewal.valueForCreator(until: request.exchangeLimit)
            }
        case .renewAhead, .impossible:
            return nil
        case .tooOften(let refusal):
            throw request.refreshRefused(refusal, limit, after: response)
        }
        return state.withLock { [isRenewal] state in
            guard let grant = state.grant, grant.generation != refused.generation, grant.isOfSameUser(as: refused)
            else { return nil }
            return grant.asRenewal(isRenewal)
        }
    }

    /// Records that the server has accepted the current credentials, unless they have been replaced.
    ///
    /// - Parameter wereSent: Returns whether the request was sent with the given credentials.
    package func acceptCurrent(if wereSent: (Credentials) -> Bool) {
        // Called outside the lock, because it may run the app's code.
        guard let grant = state.withLock({ $0.grant }), grant.isUnproven, wereSent(grant.credentials) else { return }
        accept(grant)
    }

    /// Records that the server has accepted credentials.
    ///
    /// The refreshes that led to them no longer count towards the limit.
    func accept(_ grant: Grant) {
        state.withLock { $0.refreshes.removeAll(upTo: grant.generation) }
    }
}

// MARK: - The next step

extension TokenStore {
    private enum Step {
        case go(Grant)
        case wait(Renewal, Renewal.Waiter)
        /// The renewal has to be started, from the credentials of a generation or from none.
        case renew(Renewal, Credentials?, generation: UInt64)
        /// The renewal has to be started while the current credentials are still used.
        case renewAhead(Renewal, Credentials?, generation: UInt64)
        case impossible
        case tooOften(RefreshTally.Refusal)
    }

    private func nextStep(for refused: Grant?) -> Step {
        while true {
            let (known, usage) = current
            let isGood = known.map { self.isGood($0, usage) } ?? false
            let isExpired = known?.credentials.isExpired ?? false
            if let step = step(for: refused, known?.generation, usage, isGood: isGood, isExpired: isExpired) {
                return step
            }
        }
    }

    /// Whether credentials can be used without a refresh.
    private func isGood(_ grant: Grant, _ usage: Usage) -> Bool {
        switch usage {
        case .undecided: false
        case .untilLeeway: !grant.credentials.isDue(within: leeway)
        case .untilExpiry: !grant.credentials.isExpired
        case .untilRefused: true
        }
    }

    /// Returns the next step; `nil` if the credentials or their usage have changed since they were read.
    private func step(
        for refused: Grant?,
        _ generation: UInt64?,
        _ usage: Usage,
        isGood: Bool,
        isExpired: Bool
    ) -> Step? {
        let now = NetworkEnvironment.current.clock.now
        return state.withLock { state in
            let grant = state.grant
            guard grant?.generation == generation, state.usage == usage else { return nil }
            if let refused {
                // Another request has renewed the credentials, or a user has signed in or out.
                guard let grant, grant.isOfSameUser(as: refused) else { return .impossible }
                guard grant.generation == refused.generation else { return .go(grant) }
                // Without a delegate the refusal is final, and so is a refusal of credentials that were just renewed.
                guard delegate != nil, !refused.isRenewal else { return .impossible }
            } else if let grant {
                if isGood || delegate == nil { return .go(grant) }
                // Credentials that have not expired are used during their refresh.
                if !isExpired, state.renewal != nil { return .go(grant) }
            } else if delegate == nil {
                return .impossible
            }
            if let renewal = state.renewal, let waiter = renewal.join() { return .wait(renewal, waiter) }
            if let refusal = state.refreshes.refusal(under: limit, at: now) {
                if refused == nil, !isExpired, let grant { return .go(grant) }
                return .tooOften(refusal)
            }
            state.refreshes.begin(from: state.generation, at: now)
            let renewal = Renewal(outlivesWaiters: true)
            state.renewal = renewal
            let isAhead = refused == nil && state.credentials != nil && !isExpired
            return isAhead
                ? .renewAhead(renewal, state.credentials, generation: state.generation)
                : .renew(renewal, state.credentials, generation: state.generation)
        }
    }
}
