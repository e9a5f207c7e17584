extension Duration {
    /// The duration in milliseconds, with one decimal.
    package var milliseconds: String {
        let (seconds, attoseconds) = components
        // Longer durations are shown in seconds: milliseconds would be hard to read and could overflow.
        guard seconds.magnitude < 1_000_000_000 else { return "\(seconds) s" }
        let tenths = seconds * 10_000 + attoseconds / 100_000_000_000_000
        let sign = tenths < 0 ? "-" : ""
        return "\(sign)\(tenths.magnitude / 10).\(tenths.magnitude % 10) ms"
    }

    /// The duration in seconds, rounded to milliseconds, for errors and logs: `0.083 seconds`.
    ///
    /// A duration of less than a millisecond is rounded to microseconds. Any duration can be printed.
    package var roundedText: String {
        let isShort = attoseconds.magnitude < 1_000_000_000_000_000
        let (unit, digits) = isShort ? (1_000_000_000_000 as Int128, 6) : (1_000_000_000_000_000, 3)
        // Rounded before the sign is added, so that both signs are rounded in the same way.
        let units = (attoseconds.magnitude + UInt128(unit) / 2) / UInt128(unit)
        let perSecond = UInt128(isShort ? 1_000_000 : 1_000)
        let fraction = String(units % perSecond)
        var decimals = String(repeating: "0", count: digits - fraction.count) + fraction
        while decimals.count > 1, decimals.hasSuffix("0") {
            decimals.removeLast()
        }
        return "\(attoseconds < 0 ? "-" : "")\(units / perSecond).\(decimals) seconds"
    }

    /// The duration in seconds, as a number.
    package var inSeconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) / 1e18
    }
}
