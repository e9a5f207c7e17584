import NetworkingCore

/// An alarm that is set outside of the lock that protects this value, so it may ring, or be replaced, before it is
/// stored.
struct HedgeAlarm: Sendable {
    private(set) var isSet = false
    private var alarm: Alarm?
    private var number = 0

    /// Announces an alarm, and returns its number and the alarm that it replaces.
    mutating func plan() -> (number: Int, replaced: Alarm?) {
        number += 1
        isSet = true
        defer { alarm = nil }
        return (number, alarm)
    }

    /// Stores an alarm; returns `false` if it has rung, or was replaced or removed.
    mutating func keep(_ alarm: Alarm, _ number: Int) -> Bool {
        guard isSet, number == self.number else { return false }
        self.alarm = alarm
        return true
    }

    /// Records that an alarm has rung; returns `false` if it was replaced or removed.
    mutating func ring(_ number: Int) -> Bool {
        guard isSet, number == self.number else { return false }
        (alarm, isSet) = (nil, false)
        return true
    }

    /// Removes the alarm, which is cancelled outside of the lock.
    mutating func remove() -> Alarm? {
        defer { (alarm, isSet) = (nil, false) }
        return alarm
    }
}
