public import HTTPTypes
import NetworkingMocking

extension Cassette {
    /// A property that a request and a recorded request must share for the recorded response to be replayed.
    ///
    /// Both are compared after redaction, because the file does not contain secrets.
    ///
    /// ```swift
    /// var options = Cassette.Options()
    /// options.matching = .standard + [.headerFields(.accept), .jsonBody]
    /// options.matching = [
    ///     .method, .path, .custom("version") { $0.headerFields[.version] == $1.headerFields[.version] },
    /// ]
    /// ```
    public struct Matcher: Sendable {
        /// The name of the matcher in messages.
        public let name: String
        /// The weight of a difference when the nearest interaction is searched.
        let weight: Int
        /// Whether it reads the body of a request; a custom matcher may.
        var readsBody = false
        /// Whether it cannot work without the body.
        var needsBody = false
        /// A key that is equal exactly for matching requests; nil if only a comparison can decide.
        var key: (@Sendable (CassetteFacts) -> String)?
        /// The differences between a recorded and a new request, one line each; empty if they match.
        let differences: @Sendable (_ recorded: CassetteFacts, _ request: CassetteFacts) -> [String]
    }
}

extension Cassette.Matcher {
    /// The method.
    public static let method = equality(of: "method", weight: 4) { $0.request.method.rawValue }

    /// `http` or `https`.
    public static let scheme = equality(of: "scheme", weight: 2) { $0.scheme }

    /// The host, ignoring case.
    public static let host = equality(of: "host", weight: 8) { $0.host }

    /// The port; if the URL has none, the default port of the scheme.
    public static let port = equality(of: "port", weight: 2) { $0.port }

    /// The path, byte for byte.
    public static let path = equality(of: "path", weight: 6) { $0.path }

    /// The items of the query: values of the same name are compared in order, names in any order.
    public static let query = Cassette.Matcher(
        name: "query",
        weight: 1,
        key: { "\($0.query.sorted { $0.key < $1.key })" },
        differences: { recorded, request in differences("the query item", recorded.query, request.query) }
    )

    /// The bytes of the body.
    ///
    /// A body from a file or a stream is read before it is sent. A body longer than
    /// ``Cassette/Options/maximumBodyBytes`` equals any other of the same length, or, if its length is not known in
    /// advance, any other such body. A body that can be read only once equals any other such body. A body with a
    /// redacted part that cannot be replaced, such as a redacted form part, equals none: its request is not recorded,
    /// and ``Cassette/finish()`` reports it.
    public static let body = Cassette.Matcher(name: "body", weight: 1, readsBody: true, needsBody: true) {
        recorded,
        request in
        guard !recorded.hasSameBody(as: request) else { return [] }
        let lines = jsonDifferences(recorded, request) ?? []
        return lines.isEmpty ? [bodyDifference(recorded, request)] : lines
    }

    /// The body as JSON, ignoring the order of fields and whitespace.
    ///
    /// A body that is not JSON is compared by its bytes. The limits of ``body`` apply here, too.
    public static let jsonBody = Cassette.Matcher(name: "JSON body", weight: 1, readsBody: true, needsBody: true) {
        recorded,
        request in
        guard !recorded.hasSameBody(as: request) else { return [] }
        return jsonDifferences(recorded, request) ?? [bodyDifference(recorded, request)]
    }

    /// Certain header fields, with all their values in order; other fields are ignored.
    ///
    /// - Parameter names: The names of the header fields.
    /// - Returns: The matcher.
    public static func headerFields(_ names: HTTPField.Name...) -> Cassette.Matcher {
        Cassette.Matcher(name: "header fields", weight: 1) { recorded, request in
            names.flatMap { name in
                difference(
                    "the field \(name.rawName)",
                    recorded.request.headerFields[values: name].joined(separator: ", "),
                    request.request.headerFields[values: name].joined(separator: ", ")
                )
            }
        }
    }

    /// A custom comparison.
    ///
    /// - Parameters:
    ///   - name: The name of the matcher in the message about a request without a match.
    ///   - matches: Compares a recorded request with a new one.
    /// - Returns: The matcher.
    public static func custom(
        _ name: String,
        _ matches: @escaping @Sendable (Cassette.Interaction.Request, Cassette.Interaction.Request) -> Bool
    ) -> Cassette.Matcher {
        Cassette.Matcher(name: name, weight: 1, readsBody: true) { recorded, request in
            matches(recorded.request, request.request) ? [] : ["\(name): they do not match"]
        }
    }

    private static func equality(
        of name: String,
        weight: Int,
        _ value: @escaping @Sendable (CassetteFacts) -> String
    ) -> Cassette.Matcher {
        Cassette.Matcher(
            name: name,
            weight: weight,
            key: value,
            differences: { recorded, request in difference("the \(name)", value(recorded), value(request)) }
        )
    }

    /// The differences between two JSON bodies, one line each; nil if either body is not JSON.
    ///
    /// No redaction is necessary here, because the bodies no longer contain secrets.
    private static func jsonDifferences(_ recorded: CassetteFacts, _ request: CassetteFacts) -> [String]? {
        guard let recorded = JSONDocument(recorded.request.body), let request = JSONDocument(request.request.body)
        else { return nil }
        return request.differences(from: recorded, .equal) { _ in false }.map { "the body: \($0)" }
    }

    private static func bodyDifference(_ recorded: CassetteFacts, _ request: CassetteFacts) -> String {
        "the body: recorded \(recorded.bodyText), now \(request.bodyText)"
    }

    private static func difference(_ name: String, _ recorded: String, _ request: String) -> [String] {
        recorded == request ? [] : ["\(name): recorded \(Cassette.quoted(recorded)), now \(Cassette.quoted(request))"]
    }

    private static func differences(
        _ name: String,
        _ recorded: [String: [String]],
        _ request: [String: [String]]
    ) -> [String] {
        guard recorded != request else { return [] }
        return Set(recorded.keys).union(request.keys).sorted()
            .flatMap { key -> [String] in
                let label = "\(name) \(Cassette.quoted(key))"
                switch (recorded[key], request[key]) {
                case (let recorded?, let request?):
                    return difference(label, recorded.joined(separator: ", "), request.joined(separator: ", "))
                case (let recorded?, nil):
                    return ["\(label): recorded \(Cassette.quoted(recorded.joined(separator: ", "))), now missing"]
                case (nil, let request?):
                    return ["\(label): not recorded, now \(Cassette.quoted(request.joined(separator: ", ")))"]
                case (nil, nil):
                    return []
                }
            }
    }
}

extension [Cassette.Matcher] {
    /// Method, scheme, host, port, path and query.
    public static let standard: [Cassette.Matcher] = [.method, .scheme, .host, .port, .path, .query]
}

extension Cassette.Matcher: CustomStringConvertible {
    /// The name.
    public var description: String {
        name
    }
}
