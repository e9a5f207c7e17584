import NetworkingCore

/// The time limits of an attempt and its phases; `nil` is no limit.
struct TimeLimits: Sendable, CustomStringConvertible {
    var whole: Duration?
    var connect: Duration?
    var head: Duration?
    var idle: Duration?

    /// The limit that an attempt exceeded.
    enum Name {
        case whole
        case connect
        case head
        /// Connecting and the head together, for transports that do not report the connection.
        case connectAndHead
        case idle
    }

    /// Returns the limits for one request.
    ///
    /// Limits of the request itself take precedence.
    func replaced(by request: HTTPRequestData) -> TimeLimits {
        guard request.hasOptions else { return self }
        return TimeLimits(
            whole: request.timeout ?? whole,
            connect: request.connectTimeout ?? connect,
            head: request.headTimeout ?? head,
            idle: request.idleTimeout ?? idle
        )
    }

    var hasPhases: Bool {
        connect != nil || head != nil || idle != nil
    }

    var maximum: Duration? {
        guard hasPhases else { return whole }
        return [whole, head.map { $0 + (connect ?? .zero) } ?? connect, idle].lazy.compactMap { $0 }.max()
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

    subscript(name: Name) -> Duration {
        switch name {
        case .whole: whole ?? .zero
        case .connect: connect ?? .zero
        case .head: head ?? .zero
        case .connectAndHead: (connect ?? .zero) + (head ?? .zero)
        // A reader-paced body without an idle limit uses the limit of the whole attempt.
        case .idle: idle ?? whole ?? .zero
        }
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

    var description: String {
        let parts: [(String, Duration?)] = [("", whole), ("connect: ", connect), ("head: ", head), ("idle: ", idle)]
        return parts.compactMap { name, limit in limit.map { "\(name)\($0)" } }.joined(separator: ", ")
    }
}
