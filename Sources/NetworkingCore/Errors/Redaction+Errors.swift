extension Redaction {
    /// Returns the reason of a failure.
    ///
    /// Errors of other libraries may print secrets, so only this library's errors are printed with their own text.
    package func reason(of error: any Error) -> String {
        let reason = (error as? NetworkingError)?.reason ?? "\(type(of: error))"
        return PrintableText.cut(PrintableText.singleLine(redactingValues(in: reason)), to: Self.maximumValue)
    }
}
