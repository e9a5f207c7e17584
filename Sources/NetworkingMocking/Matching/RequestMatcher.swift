public import NetworkingCore

/// A condition on requests that can explain why a request does not match.
///
/// ```swift
/// transport.on(.request(.post, "/login") && .json(including: ["user": "emily"])) { _ in .json(session) }
/// transport.on(.host("*.example.com") && !.headerField(.authorization)) { _ in .status(.unauthorized) }
/// ```
///
/// Matchers are values: store them, combine them with `&&`, `||` and `!`, or use them without a transport, where
/// ``mismatches(in:)`` describes the mismatches in sentences. The sentences contain no secrets: neither values that
/// ``Redaction/standard`` redacts, nor values that a request marks as secret.
public struct RequestMatcher: Sendable {
    /// The name of the matcher in messages, without secrets.
    let label: String
    /// Whether it reads the body, which must then be in memory.
    package let readsBody: Bool
    /// Returns whether a request matches.
    ///
    /// It must be fast, because a transport calls it for each request and each stub.
    let test: @Sendable (inout RequestReading) -> Bool
    /// Returns the mismatches of a request that does not match.
    ///
    /// It is only called to create an error.
    let explain: @Sendable (inout RequestReading) -> [RequestMiss]

    init(
        _ label: String,
        readsBody: Bool = false,
        test: @escaping @Sendable (inout RequestReading) -> Bool,
        explain: @escaping @Sendable (inout RequestReading) -> [RequestMiss]
    ) {
        self.label = PrintableText.cut(PrintableText.singleLine(label), to: 256)
        self.readsBody = readsBody
        self.test = test
        self.explain = explain
    }

    /// Returns whether a request matches.
    ///
    /// - Parameter request: The request; its body is only read if it is in memory.
    /// - Returns: `true` if the request matches.
    public func matches(_ request: HTTPRequestData) -> Bool {
        var reading = RequestReading(request)
        return test(&reading)
    }

    /// Returns the reasons why a request does not match, one sentence each.
    ///
    /// ```swift
    /// #expect(RequestMatcher.request(.get, "/users").mismatches(in: request) == [])
    /// ```
    ///
    /// - Parameter request: The request; its body is only read if it is in memory.
    /// - Returns: The sentences, without secrets; empty if the request matches.
    public func mismatches(in request: HTTPRequestData) -> [String] {
        var reading = RequestReading(request)
        return misses(in: &reading).map(\.sentence)
    }

    /// Returns the mismatches of a request; empty if it matches.
    func misses(in reading: inout RequestReading) -> [RequestMiss] {
        test(&reading) ? [] : explain(&reading)
    }

    /// Returns this matcher with another label.
    func labelled(_ label: String) -> RequestMatcher {
        RequestMatcher(label, readsBody: readsBody, test: test, explain: explain)
    }
}

extension RequestMatcher: CustomStringConvertible, CustomReflectable {
    /// A summary without secrets, such as `POST /login and JSON including {"user":"emily"}`.
    public var description: String {
        label
    }

    /// A dump without secrets.
    public var customMirror: Mirror {
        Mirror(self, children: ["label": label])
    }
}

/// A single mismatch of a request.
struct RequestMiss: Sendable {
    /// The description of the mismatch, without secrets.
    let sentence: String
    /// The size of the mismatch, for finding the nearest of several stubs.
    let weight: Double

    init(_ sentence: String, weight: Double = 1) {
        self.sentence = sentence
        self.weight = weight
    }
}
