extension HTTPRequestData {
    /// Whether the request may be sent over a mobile network.
    ///
    /// `true` by default. URLSession on Apple's platforms and the stack's `whenOffline` enforce it. A request that does
    /// not allow the current network is treated as if there were no network.
    public var allowsCellularAccess: Bool {
        get { networkAccess.allowsCellular }
        set { networkAccess.allowsCellular = newValue }
    }

    /// Whether the request may be sent over a network that is expensive, such as a personal hotspot.
    ///
    /// `true` by default. It is enforced in the same way as ``allowsCellularAccess``.
    public var allowsExpensiveAccess: Bool {
        get { networkAccess.allowsExpensive }
        set { networkAccess.allowsExpensive = newValue }
    }

    /// Whether the request may be sent over a network on which the user asks apps to use little data.
    ///
    /// `true` by default. It is enforced in the same way as ``allowsCellularAccess``.
    public var allowsConstrainedAccess: Bool {
        get { networkAccess.allowsConstrained }
        set { networkAccess.allowsConstrained = newValue }
    }

    /// The networks that the request may use.
    package var networkAccess: NetworkAccess {
        get { self[option: NetworkAccessOption.self] }
        set { self[option: NetworkAccessOption.self] = newValue }
    }

    // A request that may use any network must not share the exchange of one that may not.
    fileprivate enum NetworkAccessOption: SendingOption {
        static let name = "networkAccess"
        static let defaultValue = NetworkAccess()
    }
}

extension RequestOptionKey {
    /// ``HTTPRequestData/allowsCellularAccess`` and the two properties like it.
    public static let networkAccess = RequestOptionKey(HTTPRequestData.NetworkAccessOption.self)
}

/// The networks that a request may use.
package struct NetworkAccess: Sendable, Hashable, Codable {
    package var allowsCellular = true
    package var allowsExpensive = true
    package var allowsConstrained = true

    package init() {}

    /// Returns the reason why a request may not be sent over a network; `nil` if it may.
    package func refusal(over status: ConnectivityStatus) -> String? {
        if !status.isSatisfied { return "There is no network." }
        if !allowsCellular, status.interfaces.first == .cellular {
            return "The network is a mobile one, which the request does not allow (allowsCellularAccess)."
        }
        if !allowsExpensive, status.isExpensive {
            return "The network is expensive, which the request does not allow (allowsExpensiveAccess)."
        }
        if !allowsConstrained, status.isConstrained {
            return "The network is constrained, which the request does not allow (allowsConstrainedAccess)."
        }
        return nil
    }
}

extension Connectivity {
    /// Waits until there is a network that a request may use.
    ///
    /// - Parameters:
    ///   - access: The networks that the request may use.
    ///   - deadline: The moment, on `clock`, at which the wait ends; `nil` for none.
    ///   - clock: The clock that measures the deadline.
    /// - Returns: `true` if there is such a network, and `false` if the wait has ended without one.
    /// - Throws: `CancellationError` if the caller is cancelled.
    package func waitUntilOnline(
        for access: NetworkAccess,
        until deadline: Duration?,
        on clock: NetworkClock
    ) async throws -> Bool {
        guard let deadline else {
            return try await firstStatus { access.refusal(over: $0) == nil } != nil
        }
        guard deadline > clock.now else { return status.map { access.refusal(over: $0) == nil } ?? false }
        do {
            return try await withTimeLimit(until: deadline, on: clock, timeIsUp: WaitIsOver.init) {
                try await firstStatus { access.refusal(over: $0) == nil } != nil
            }
        } catch is WaitIsOver {
            return false
        }
    }
}

private struct WaitIsOver: Error {
    init(_ error: (any Error)?) {}
}
