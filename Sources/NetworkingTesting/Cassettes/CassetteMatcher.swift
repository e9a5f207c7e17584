public import HTTPTypes
import Networking

extension Cassette {
    /// Something that a request and a recorded one must have in common for that one's response to be replayed.
    ///
    /// Both are compared with their secrets hidden, since the file does not have them.
    ///
    /// ```swift
    /// options.matching = .standard + [.headerFields(.accept), .jsonBody]
    /// options.matching = [.method, .path, .custom("version") { $0.headerFields[.version] == $1.headerFields[.version] }]
    /// ```
    public struct Matcher: Sendable {
        /// What a message calls it.
        public let name: String
        /// How much a difference counts when the nearest interaction is looked for.
        let weight: Int
        /// Whether it needs the body of a request; a comparison of somebody's own may.
        var readsBody = false
        /// Whether it cannot do without the body.
        var needsBody = false
        /// What is the same for those that match, and no others; nil where only a comparison can tell.
        var key: (@Sendable (CassetteFacts) -> String)?
        /// In what a recorded request and one that came differ, a line each; none where they match.
        let differences: @Sendable (_ recorded: CassetteFacts, _ request: CassetteFacts) -> [String]
    }
}

extension Cassette.Matcher {
    /// The method.
    public static let method = equality(of: "method", weight: 4) { $0.request.method.rawValue }

    /// `http` or `https`.
    public static let scheme = equality(of: "scheme", weight: 2) { $0.scheme }

    /// The host, without regard to case.
    public static let host = equality(of: "host", weight: 8) { $0.host }

    /// The port; one that is not named is the scheme's own.
    public static let port = equality(of: "port", weight: 2) { $0.port }

    /// The path, to the byte.
    public static let path = equality(of: "path", weight: 6) { $0.path }

    /// The items of the query: those of one name in order, the names in any.
    public static let query = Cassette.Matcher(
        name: "query",
        weight: 1,
        key: { "\($0.query.sorted { $0.key < $1.key })" },
        differences: { recorded, request in differences("the query item", recorded.query, request.query) }
    )

    /// The bytes of the body.
    ///
    /// A body that is read from a file or made as a stream is read for that before it is sent. One that is longer than
    /// ``Cassette/Options/maximumBodyBytes`` equals any other of its length, and one that can be read only once any
    /// other such. A body with something in it that is hidden and cannot be replaced, such as a hidden part of a form,
    /// equals none: its request is not recorded, and ``Cassette/finish()`` says so.
    public static let body = Cassette.Matcher(name: "body", weight: 1, readsBody: true, needsBody: true) {
        recorded,
        request in
        guard !recorded.hasSameBody(as: request) else { return [] }
        let lines = jsonDifferences(recorded, request) ?? []
        return lines.isEmpty ? [bodyDifference(recorded, request)] : lines
    }

    /// The body as JSON: the order of fields and the space between them do not count.
    ///
    /// A body that is none is compared by its bytes. What is said of ``body`` is true of this one, too.
    public static let jsonBody = Cassette.Matcher(name: "JSON body", weight: 1, readsBody: true, needsBody: true) {
        recorded,
        request in
        guard !recorded.hasSameBody(as: request) else { return [] }
        return jsonDifferences(recorded, request) ?? [bodyDifference(recorded, request)]
    }

    /// Header fields, with all their values in order; others do not count.
    ///
    /// - Parameter names: Their names.
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

    /// A comparison of your own.
    ///
    /// - Parameters:
    ///   - name: What the message about a request that matches nothing calls it.
    ///   - matches: Compares a recorded request with one that came.
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

    /// In what two JSON bodies differ, a line each; nil where one of the two is no JSON.
    ///
    /// Nothing is hidden here, since secrets are not in them any more.
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
