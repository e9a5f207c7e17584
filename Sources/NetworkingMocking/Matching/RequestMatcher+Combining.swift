public import NetworkingCore

extension RequestMatcher {
    /// Matches any request.
    public static let any = RequestMatcher(
        "any request",
        test: { _ in true },
        explain: { _ in [] }
    )

    /// Matches requests that pass a custom check.
    ///
    /// - Parameters:
    ///   - label: The name of the check in the message about a request that does not match, such as
    ///     `"a request of the first page"`.
    ///   - check: The check.
    /// - Returns: The matcher.
    public static func `where`(
        _ label: String,
        _ check: @escaping @Sendable (HTTPRequestData) -> Bool
    ) -> RequestMatcher {
        RequestMatcher(
            label,
            readsBody: true,
            test: { check($0.request) },
            explain: { _ in
                // The distance is unknown, so it counts as further away than any known near match.
                [RequestMiss("It is not \(label).", weight: 2)]
            }
        )
    }

    /// Matches requests that all of several matchers match.
    ///
    /// - Parameter matchers: The matchers; an empty array matches any request.
    /// - Returns: The matcher.
    public static func all(_ matchers: [RequestMatcher]) -> RequestMatcher {
        RequestMatcher(
            matchers.isEmpty ? any.label : matchers.map(\.label).joined(separator: " and "),
            readsBody: matchers.contains { $0.readsBody },
            test: { reading in matchers.allSatisfy { $0.test(&reading) } },
            explain: { reading in
                matchers.reduce(into: []) { misses, matcher in misses += matcher.misses(in: &reading) }
            }
        )
    }

    /// Matches requests that at least one of several matchers matches.
    ///
    /// - Parameter matchers: The matchers, which are tried in order until one matches; an empty array matches no
    ///   request.
    /// - Returns: The matcher.
    public static func anyOf(_ matchers: [RequestMatcher]) -> RequestMatcher {
        RequestMatcher(
            matchers.isEmpty ? "no request" : "(\(matchers.map(\.label).joined(separator: " or ")))",
            readsBody: matchers.contains { $0.readsBody },
            test: { reading in
                let parameters = reading.pathParameters
                return matchers.contains { matcher in
                    // Discard the path parameters of a matcher that did not match.
                    reading.pathParameters = parameters
                    return matcher.test(&reading)
                }
            },
            explain: { reading in
                var nearest: [RequestMiss]?
                for matcher in matchers {
                    let misses = matcher.misses(in: &reading)
                    if misses.weight < nearest?.weight ?? .infinity { nearest = misses }
                }
                guard let nearest else { return [RequestMiss("It matches no request.")] }
                let sentences = nearest.map(\.sentence).joined(separator: " ")
                let others = matchers.count == 1 ? "" : " The other alternatives are no closer."
                return [RequestMiss(sentences + others, weight: nearest.weight)]
            }
        )
    }

    /// Matches requests that both matchers match.
    ///
    /// - Parameters:
    ///   - lhs: A matcher.
    ///   - rhs: Another matcher, which is not evaluated if the first does not match.
    /// - Returns: The matcher.
    public static func && (lhs: RequestMatcher, rhs: RequestMatcher) -> RequestMatcher {
        all([lhs, rhs])
    }

    /// Matches requests that either matcher matches.
    ///
    /// - Parameters:
    ///   - lhs: A matcher.
    ///   - rhs: Another matcher, which is not evaluated if the first matches.
    /// - Returns: The matcher.
    public static func || (lhs: RequestMatcher, rhs: RequestMatcher) -> RequestMatcher {
        anyOf([lhs, rhs])
    }

    /// Matches requests that another matcher does not match.
    ///
    /// - Parameter matcher: The other matcher.
    /// - Returns: The matcher.
    public static prefix func ! (matcher: RequestMatcher) -> RequestMatcher {
        RequestMatcher(
            "not (\(matcher.label))",
            readsBody: matcher.readsBody,
            test: { reading in
                let parameters = reading.pathParameters
                let matches = matcher.test(&reading)
                reading.pathParameters = parameters
                return !matches
            },
            explain: { _ in [RequestMiss("It must not be \(matcher.label).")] }
        )
    }
}

extension [RequestMiss] {
    /// The total distance of the mismatches.
    var weight: Double {
        reduce(0) { $0 + $1.weight }
    }
}
