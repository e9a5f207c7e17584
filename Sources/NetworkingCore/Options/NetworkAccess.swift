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
        get { self[.accessedNetworks] }
        set { self[.accessedNetworks] = newValue }
    }
}

extension RequestOptionKey {
    /// ``HTTPRequestData/allowsCellularAccess`` and the two properties like it.
    public static let networkAccess: RequestOptionKey = accessedNetworks

    // A request that may use any network must not share the exchange of one that may not.
    fileprivate static let accessedNetworks = RequestOption(
        "networkAccess",
        default: NetworkAccess(),
        affects: .sending,
        stored: .always(ifDamaged: .none)
    )
}

/// The networks that a request may use.
package struct NetworkAccess: Sendable, Hashable, Codable {
    var allowsCellular = true
    var allowsExpensive = true
    var allowsConstrained = true

    /// No network for which a request can say whether it may use it.
    fileprivate static let none: NetworkAccess = {
        var access = NetworkAccess()
        (access.allowsCellular, access.allowsExpensive, access.allowsConstrained) = (false, false, false)
        return access
    }()

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
        guard deadline.map({ $0 > clock.now }) ?? true else {
            return status.map { access.refusal(over: $0) == nil } ?? false
        }
        let status = try await firstStatus(until: deadline, on: clock) { access.refusal(over: $0) == nil }
        return status.flatMap { $0 } != nil
    }

    /// Waits for a status that fulfils a condition.
    ///
    /// - Parameters:
    ///   - deadline: The moment, on `clock`, at which the wait ends; `nil` for none.
    ///   - clock: The clock that measures the deadline.
    ///   - condition: Returns whether the wait is over.
    /// - Returns: The status, which is `nil` if the sequence of changes ends without one; `nil` if the wait has ended
    ///   at the deadline.
    /// - Throws: `CancellationError` if the caller is cancelled.
    package func firstStatus(
        until deadline: Duration?,
        on clock: NetworkClock,
        where condition: @escaping @Sendable (ConnectivityStatus) -> Bool
    ) async throws -> ConnectivityStatus?? {
        guard let deadline else { return .some(try await firstStatus(where: condition)) }
        do {
            return .some(
                try await withTimeLimit(until: deadline, on: clock, timeIsUp: WaitIsOver.init) {
                    try await firstStatus(where: condition)
                }
            )
        } catch is WaitIsOver {
            return nil
        }
    }
}

private struct WaitIsOver: Error {
    init(_ error: (any Error)?) {}
}
