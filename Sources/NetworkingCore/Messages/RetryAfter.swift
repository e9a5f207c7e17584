public import FoundationForNetworking
package import HTTPTypes

extension HTTPResponseData {
    /// The time that the server asks clients to wait, from `Retry-After`; `nil` if there is no valid field.
    ///
    /// A date is compared with the response's own `Date`, or else with the current date. A date in the past is zero.
    public var retryAfter: Duration? {
        http.retryAfter(now: NetworkEnvironment.current.clock.date)
    }

    /// The URL of `Location`, resolved against the URL of the response; `nil` if there is no valid field.
    ///
    /// It names the created resource of a 201, the job of a 202, and the target of a redirect that was not followed.
    public var location: URL? {
        headerFields[.location].flatMap { URL(reference: $0, relativeTo: url) }
    }
}

extension HTTPResponse {
    /// The time that the server asks clients to wait (RFC 9110 section 10.2.3); `nil` if there is no valid
    /// `Retry-After`.
    ///
    /// The field has seconds, or a date in any of HTTP's three forms. A fraction of a second, which HTTP does not allow
    /// and servers send, is rounded up. A date is compared with the response's own `Date`, so that a wrong clock does
    /// no harm. A date in the past returns zero.
    ///
    /// - Parameter now: The current date, for a response without `Date`.
    /// - Returns: The time to wait.
    package func retryAfter(now: Date) -> Duration? {
        guard let value = headerFields[singleton: .retryAfter]?.trimmed, !value.isEmpty else { return nil }
        let isNegative = value.hasPrefix("-")
        if let seconds = Self.seconds(isNegative ? value.dropFirst() : value[...]) {
            return isNegative ? .zero : .seconds(seconds)
        }
        guard let date = Date(httpDate: value, now: now) else { return nil }
        let reference = headerFields[singleton: .date].flatMap { Date(httpDate: $0.trimmed, now: now) } ?? now
        return .seconds(max(0, date.timeIntervalSince(reference).rounded(.up)))
    }

    /// Returns whole seconds, rounded up; `nil` if the text is no decimal number.
    private static func seconds(_ text: Substring) -> Int64? {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        // The limit is a million years.
        guard let whole = DecimalDigits.number(parts[0].utf8, limit: 1 << 45) else { return nil }
        guard parts.count == 2 else { return whole }
        let fraction = parts[1].utf8
        guard !fraction.isEmpty, fraction.allSatisfy({ DecimalDigits.contains($0) }) else { return nil }
        return fraction.allSatisfy { $0 == UInt8(ascii: "0") } ? whole : whole + 1
    }
}
