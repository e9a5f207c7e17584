public import NetworkingCore

extension RequestMatcher {
    /// Matches each request.
    public static let any = RequestMatcher(
        "any request",
        test: { _ in true },
        explain: { _ in [] }
    )

    /// Matches what passes a check of your own.
    ///
    /// - Parameters:
    ///   - label: What the message about a request that does not pass calls it: `"a request of the first page"`.
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
                // Nobody knows how far off it is: further than what is known to be near.
                [RequestMiss("It is not \(label).", weight: 2)]
            }
        )
    }

    /// Matches what all of several match.
    ///
    /// - Parameter matchers: The matchers; none of them match any request.
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

    /// Matches what one of several matches.
    ///
    /// - Parameter matchers: The matchers, of which the first that matches counts; none match no request.
    /// - Returns: The matcher.
    public static func anyOf(_ matchers: [RequestMatcher]) -> RequestMatcher {
        RequestMatcher(
            matchers.isEmpty ? "no request" : "(\(matchers.map(\.label).joined(separator: " or ")))",
            readsBody: matchers.contains { $0.readsBody },
            test: { reading in
                let parameters = reading.pathParameters
                return matchers.contains { matcher in
                    // What a matcher that missed read from the path is none of the others' business.
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
                let others = matchers.count == 1 ? "" : " Nothing else that it may be fits better."
                return [RequestMiss(sentences + others, weight: nearest.weight)]
            }
        )
    }

    /// Matches what both match.
    ///
    /// - Parameters:
    ///   - lhs: A matcher.
    ///   - rhs: Another, which is not asked where the first does not match.
    /// - Returns: The matcher.
    public static func && (lhs: RequestMatcher, rhs: RequestMatcher) -> RequestMatcher {
        all([lhs, rhs])
    }

    /// Matches what either matches.
    ///
    /// - Parameters:
    ///   - lhs: A matcher.
    ///   - rhs: Another, which is not asked where the first matches.
    /// - Returns: The matcher.
    public static func || (lhs: RequestMatcher, rhs: RequestMatcher) -> RequestMatcher {
        anyOf([lhs, rhs])
    }

    /// Matches what another does not.
    ///
    /// - Parameter matcher: The other.
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
    /// How far off it is in all.
    var weight: Double {
        reduce(0) { $0 + $1.weight }
    }
}
