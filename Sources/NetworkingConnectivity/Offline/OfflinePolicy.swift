public import NetworkingCore

/// The way to handle a request while there is no network that it may use.
///
/// Until the first status of the network is known, a request waits for it: with ``wait(upTo:)`` within its limit, and
/// otherwise for up to two seconds. After that, the network counts as missing.
public enum OfflinePolicy: Sendable, Hashable {
    /// Sends the request as if there were a network.
    case send
    /// Fails at once with ``NetworkingError/Kind/offline``.
    case fail
    /// Waits until there is a network, and then sends the request.
    ///
    /// The request fails with ``NetworkingError/Kind/offline`` if there is still no network after the time `upTo`. With
    /// `nil`, the default, the wait is unlimited, but a cancellation or a `deadline` ends it.
    case wait(upTo: Duration? = nil)
    /// Returns a stored response of any age, and fails with ``NetworkingError/Kind/offline`` if there is none.
    ///
    /// It needs `cached` inside `whenOffline`, and otherwise fails like ``OfflinePolicy/fail``.
    case cached
}

extension OfflinePolicy: CustomStringConvertible {
    /// The policy as in source code, for the stack's outline.
    public var description: String {
        switch self {
        case .send: "send"
        case .fail: "fail"
        case .wait(let limit): "wait\(limit.map { "(upTo: \($0))" } ?? "()")"
        case .cached: "cached"
        }
    }
}

extension HTTPRequestData {
    /// The policy for this request while there is no network; `nil` uses the policy of the stack.
    ///
    /// It needs a `whenOffline` modifier in the stack.
    public var offlinePolicy: OfflinePolicy? {
        get { self[.offlinePolicy] }
        set { self[.offlinePolicy] = newValue }
    }
}

extension RequestOptionKey {
    // A request that waits for the network must not share the failure of one that does not.
    /// ``HTTPRequestData/offlinePolicy``.
    public static let offlinePolicy = RequestOption<OfflinePolicy?>("offlinePolicy", default: nil, affects: .sending)
}
