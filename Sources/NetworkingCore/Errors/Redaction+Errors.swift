extension Redaction {
    /// Returns the reason of a failure.
    ///
    /// Errors of other libraries may print secrets, so only this library's errors are printed with their own text.
    package func reason(of error: any Error) -> String {
        let reason =
            switch error {
            case let error as NetworkingError: error.reason
            case let problem as ProblemDetails: problem.line(redactedBy: self)
            default: "\(type(of: error))"
            }
        return PrintableText.cut(PrintableText.singleLine(redactingValues(in: reason)), to: Self.maximumValue)
    }
}
