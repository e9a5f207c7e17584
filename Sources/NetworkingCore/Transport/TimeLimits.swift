/// The time limits of an attempt and its phases; `nil` is no limit.
package struct TimeLimits: Sendable, CustomStringConvertible {
    package var whole: Duration?
    package var connect: Duration?
    package var head: Duration?
    package var idle: Duration?

    package init(
        whole: Duration? = nil,
        connect: Duration? = nil,
        head: Duration? = nil,
        idle: Duration? = nil
    ) {
        (self.whole, self.connect, self.head, self.idle) = (whole, connect, head, idle)
    }

    /// The limit that an attempt exceeded.
    package enum Name: Sendable {
        case whole
        case connect
        case head
        /// Connecting and the head together, for transports that do not report the connection.
        case connectAndHead
        case idle
    }

    package var hasPhases: Bool {
        connect != nil || head != nil || idle != nil
    }

    package var maximum: Duration? {
        guard hasPhases else { return whole }
        return [whole, head.map { $0 + (connect ?? .zero) } ?? connect, idle].lazy.compactMap { $0 }.max()
    }

    package subscript(name: Name) -> Duration {
        switch name {
        case .whole: whole ?? .zero
        case .connect: connect ?? .zero
        case .head: head ?? .zero
        case .connectAndHead: (connect ?? .zero) + (head ?? .zero)
        // A reader-paced body without an idle limit uses the limit of the whole attempt.
        case .idle: idle ?? whole ?? .zero
        }
    }

    package var description: String {
        let parts: [(String, Duration?)] = [("", whole), ("connect: ", connect), ("head: ", head), ("idle: ", idle)]
        return parts.compactMap { name, limit in limit.map { "\(name)\($0)" } }.joined(separator: ", ")
    }
}
