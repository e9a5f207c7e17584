package import FoundationForNetworking
package import HTTPTypes

extension HTTPResponse {
    /// The time that the server asks clients to wait (RFC 9110 section 10.2.3); `nil` if there is no valid
    /// `Retry-After`.
    ///
    /// The field has seconds, or a date in any of HTTP's three forms. A date is compared with the response's own
    /// `Date`, so that a wrong clock does no harm. A date in the past returns zero.
    ///
    /// - Parameter now: The current date, for a response without `Date`.
    /// - Returns: The time to wait.
    package func retryAfter(now: Date) -> Duration? {
        guard let value = headerFields[singleton: .retryAfter]?.trimmed, !value.isEmpty else { return nil }
        let digits = value.hasPrefix("-") ? value.dropFirst() : value
        // The limit is a million years.
        if let seconds = DecimalDigits.number(digits.utf8, limit: 1 << 45) {
            return digits.count == value.count ? .seconds(seconds) : .zero
        }
        guard let date = Date(httpDate: value, now: now) else { return nil }
        let reference = headerFields[singleton: .date].flatMap { Date(httpDate: $0.trimmed, now: now) } ?? now
        return .seconds(max(0, date.timeIntervalSince(reference).rounded(.up)))
    }
}
