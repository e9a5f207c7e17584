extension Duration {
    /// In milliseconds, with one decimal.
    package var milliseconds: String {
        let (seconds, attoseconds) = components
        // Beyond that, nobody reads milliseconds, and they may not fit.
        guard seconds.magnitude < 1_000_000_000 else { return "\(seconds) s" }
        let tenths = seconds * 10_000 + attoseconds / 100_000_000_000_000
        return "\(tenths / 10).\(tenths % 10) ms"
    }
}
