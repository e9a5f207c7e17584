public import NetworkingCore

/// Says whether a request is one of those that are meant, and if not, why.
///
/// ```swift
/// transport.on(.request(.post, "/login") && .json(including: ["user": "emily"])) { _ in .json(session) }
/// transport.on(.host("*.example.com") && !.header(.authorization)) { _ in .status(.unauthorized) }
/// ```
///
/// Matchers are values: they can be kept, combined with `&&`, `||` and `!`, and used away from a transport, since
/// ``mismatches(in:)`` says in sentences what does not fit. Those show no secret: what ``Redaction/standard`` hides,
/// and what a request marks as secret, is not in them.
public struct RequestMatcher: Sendable {
    /// What a message calls it; without secrets.
    let label: String
    /// Whether it looks at the body, which then has to be in memory.
    package let readsBody: Bool
    /// Whether a request matches.
    ///
    /// Quick, since a transport asks it of each request and each stub.
    let test: @Sendable (inout RequestReading) -> Bool
    /// What does not fit, of a request that does not match.
    ///
    /// Only an error asks for it.
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

    /// Whether a request matches.
    ///
    /// - Parameter request: The request; of its body, only what is in memory is looked at.
    /// - Returns: Whether nothing of it is other than it should be.
    public func matches(_ request: HTTPRequestData) -> Bool {
        var reading = RequestReading(request)
        return test(&reading)
    }

    /// What keeps a request from matching, a sentence each.
    ///
    /// ```swift
    /// #expect(RequestMatcher.request(.get, "/users").mismatches(in: request) == [])
    /// ```
    ///
    /// - Parameter request: The request; of its body, only what is in memory is looked at.
    /// - Returns: The sentences, without secrets; none for a request that matches.
    public func mismatches(in request: HTTPRequestData) -> [String] {
        var reading = RequestReading(request)
        return misses(in: &reading).map(\.sentence)
    }

    /// What keeps a request from matching; empty for one that does.
    func misses(in reading: inout RequestReading) -> [RequestMiss] {
        test(&reading) ? [] : explain(&reading)
    }

    /// This matcher under another name.
    func labelled(_ label: String) -> RequestMatcher {
        RequestMatcher(label, readsBody: readsBody, test: test, explain: explain)
    }
}

extension RequestMatcher: CustomStringConvertible, CustomReflectable {
    /// What it asks for, in short and without secrets: `POST /login and JSON including {"user":"emily"}`.
    public var description: String {
        label
    }

    /// What a dump shows: no secret.
    public var customMirror: Mirror {
        Mirror(self, children: ["label": label])
    }
}

/// One thing about a request that does not fit.
struct RequestMiss: Sendable {
    /// What it is; without secrets.
    let sentence: String
    /// How far off it is, to tell the nearest of several stubs.
    let weight: Double

    init(_ sentence: String, weight: Double = 1) {
        self.sentence = sentence
        self.weight = weight
    }
}
