import NetworkingCore

/// A part further out that has to know when a request waits for a permit.
package protocol WaitObserver: AnyObject, Sendable {
    /// The request starts to wait for a permit.
    func requestWaits()
}

extension HTTPRequestData {
    /// The innermost part that has to know when the request waits for a permit.
    package var waitObserver: (any WaitObserver)? {
        get { self[.waitObserver] }
        set { self[.waitObserver] = newValue }
    }
}

extension RequestOptionKey {
    fileprivate static let waitObserver: RequestOption<(any WaitObserver)?> = RequestOption(
        "waitObserver",
        default: nil,
        affects: .nothing,
        isSetByStack: true
    )
}
