import NetworkingCore

/// The time of an object that stacks share, which continues when a stack with another clock uses the object.
///
/// A moment has no meaning on another clock, but the time since the last use does.
struct SharedTime {
    /// The clock of the stack that used the object last; `nil` before the first use.
    private(set) var clock: NetworkClock?
    /// The identity of the clock.
    private var clockID: ObjectIdentifier?
    /// The offset from the moments of the clock to those of the object.
    private var offset = Duration.zero
    /// The latest moment so far.
    private(set) var latest = Duration.zero

    /// Tasks may read the clock in one order and use the moments in another; a larger step back is a jump of the clock.
    private static let tolerance = Duration.seconds(1)

    /// Returns the moment of the object, which never decreases.
    ///
    /// - Parameters:
    ///   - now: The time on the clock.
    ///   - clock: The clock of the caller.
    ///   - former: The time on the clock of the last use, if it is another one.
    /// - Returns: The moment; `nil` if the other clock has to be read first.
    mutating func moment(
        at now: Duration,
        on clock: NetworkClock,
        former: (clock: NetworkClock, now: Duration)?
    ) -> Duration? {
        if clockID != clock.id {
            if let last = self.clock {
                guard let former, former.clock === last else { return nil }
                offset += former.now - now
            } else {
                offset = .zero - now
            }
            self.clock = clock
            clockID = clock.id
        }
        let moment = now + offset
        if moment + Self.tolerance < latest {
            offset += latest - moment
        }
        latest = max(latest, moment)
        return latest
    }
}
