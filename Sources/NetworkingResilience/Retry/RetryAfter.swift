import HTTPTypes
import NetworkingCore

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension HTTPResponse {
    /// How long the server wants to be left alone (RFC 9110 section 10.2.3); nil when it does not say so in any form.
    ///
    /// Seconds, or a date in any of HTTP's three forms. A date is taken against the response's own `Date`, so that a
    /// clock that is wrong does no harm. What has passed is zero.
    ///
    /// - Parameter now: The date, for a response that has none of its own.
    /// - Returns: How long.
    func retryAfter(now: Date) -> Duration? {
        guard let value = headerFields[.retryAfter]?.trimmed, !value.isEmpty else { return nil }
        let digits = value.hasPrefix("-") ? value.dropFirst() : value
        // The limit is a million years.
        if let seconds = DecimalDigits.number(digits.utf8, limit: 1 << 45) {
            return digits.count == value.count ? .seconds(seconds) : .zero
        }
        guard let date = Date(httpDate: value, now: now) else { return nil }
        let reference = headerFields[.date].flatMap { Date(httpDate: $0.trimmed, now: now) } ?? now
        return .seconds(max(0, date.timeIntervalSince(reference).rounded(.up)))
    }
}
