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
}
