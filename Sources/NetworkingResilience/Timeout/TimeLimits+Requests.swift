package import NetworkingCore

extension TimeLimits {
    /// The shortest limits of an attempt that passes through modifiers; no limits if there is no `timeout`.
    package init(ofAttemptsThrough inner: [any NetworkingModifier]) {
        self =
            inner.lazy.compactMap { ($0 as? Timeout)?.limits }
            .min { $0.untilResponse ?? .unlimited < $1.untilResponse ?? .unlimited } ?? TimeLimits()
    }

    /// Returns the limits for one request.
    ///
    /// Limits of the request itself take precedence.
    package func replaced(by request: HTTPRequestData) -> TimeLimits {
        guard request.hasOptions else { return self }
        return TimeLimits(
            whole: request.timeout ?? whole,
            connect: request.connectTimeout ?? connect,
            head: request.headTimeout ?? head,
            idle: request.idleTimeout ?? idle
        )
    }

    /// The maximum time until the response, or until its head if only that is limited; `nil` if there is no limit.
    package var untilResponse: Duration? {
        whole ?? head.map { $0 + (connect ?? .zero) }
    }

    /// The limit that leaves no time at all, if there is one.
    var expiredFromTheStart: Name? {
        if let whole, whole <= .zero { return .whole }
        guard hasPhases else { return nil }
        if let connect, connect <= .zero { return .connect }
        if let head, head <= .zero { return .head }
        if let idle, idle <= .zero { return .idle }
        return nil
    }

    func reason(for name: Name) -> String {
        let limit = self[name].roundedText
        return switch name {
        case .whole:
            "No complete response within \(limit). Try again, or allow more time with request.timeout."
        case .connect:
            "No connection within \(limit). Try again, or allow more time with request.connectTimeout."
        case .head:
            "No response started within \(limit). Try again, or allow more time with request.headTimeout."
        case .connectAndHead:
            "No response started within \(limit), the sum of the time limits for the connection and the head. Try "
                + "again, or allow more time with request.connectTimeout and request.headTimeout."
        case .idle:
            "No data was transferred for \(limit). Try again, or allow more time with request.idleTimeout."
        }
    }
}
