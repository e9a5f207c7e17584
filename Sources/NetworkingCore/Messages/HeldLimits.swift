/// The limiters with a permit that a request holds, innermost first, while it is on its way through a stack.
///
/// Each limiter has an instance for the requests that hold no other permit, so that these need no allocation. The
/// instance also identifies the limiter: a request can outlive the limiter, and another limiter can then have the same
/// address.
package final class HeldLimits: Sendable {
    /// The instance of the limiter; `nil` if this is it.
    private let limiter: HeldLimits?
    private let outer: HeldLimits?
    /// Throws if the limiter no longer admits a request that has waited further in.
    private let confirm: (@Sendable (HTTPRequestData) throws -> Void)?

    /// Creates the instance of a limiter whose permits stay valid.
    package convenience init() {
        self.init(nil, inside: nil, confirm: nil)
    }

    /// Creates the mark of a group of a limiter's requests, which may have to be asked again after a wait.
    ///
    /// - Parameters:
    ///   - limiter: The instance of the limiter.
    ///   - confirm: Throws if the limiter no longer admits requests of the group. It receives a request that has waited
    ///     further in, where it may have another address than at the limiter.
    package convenience init(
        of limiter: HeldLimits,
        confirm: @escaping @Sendable (HTTPRequestData) throws -> Void
    ) {
        self.init(limiter, inside: nil, confirm: confirm)
    }

    private init(
        _ limiter: HeldLimits?,
        inside outer: HeldLimits?,
        confirm: (@Sendable (HTTPRequestData) throws -> Void)?
    ) {
        self.limiter = limiter
        self.outer = outer
        self.confirm = confirm
    }

    /// Throws if one of the limiters no longer admits the request.
    func confirmAll(_ request: HTTPRequestData) throws {
        try confirm?(request)
        try outer?.confirmAll(request)
    }

    func adding(_ mark: HeldLimits) -> HeldLimits {
        HeldLimits(mark.limiter ?? mark, inside: self, confirm: mark.confirm)
    }

    func contains(_ limiter: HeldLimits) -> Bool {
        self === limiter || self.limiter === limiter || outer?.contains(limiter) == true
    }

    /// The limiters, innermost first.
    private var limiters: [ObjectIdentifier] {
        [ObjectIdentifier(limiter ?? self)] + (outer?.limiters ?? [])
    }
}

extension HeldLimits: Equatable {
    /// Returns whether two requests hold permits of the same limiters.
    package static func == (lhs: HeldLimits, rhs: HeldLimits) -> Bool {
        lhs === rhs || lhs.limiters == rhs.limiters
    }
}
