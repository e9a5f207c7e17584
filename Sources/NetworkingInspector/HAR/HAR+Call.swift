extension HAR {
    /// This library's information about a call: complete in its first entry, only the ID in the others.
    struct Call: Sendable, Hashable {
        /// The ID, unique in the archive.
        var id: Int64
        /// The summary; `nil` except in the first entry of a call.
        var summary: Summary?
    }

    struct Summary: Sendable, Hashable {
        /// The request's id as text, as in logs.
        var label: String
        /// The request's number, from `numbered`.
        var number: Int64?
        /// The request's route, or another descriptive name.
        var title: String?
        var method: String
        var url: String
        var startedDateTime: String
        /// The duration in milliseconds; `nil` while the call is in progress.
        var time: Double?
        var state: State
        var status: Int64?
        var error: Failure?
        var cache: String?
        var cacheReason: String?
        var isShared: Bool?
        var attempts: Int64 = 0
        var retries: Int64 = 0
        var redirects: Int64 = 0
        var sentBytes: Int64 = 0
        var receivedBytes: Int64 = 0
        var savedBytes: Int64 = 0
        var spans: [Span] = []
        var marks: [Mark] = []
        /// The response that the caller received, if it differs from that of the last exchange.
        var response: Response?
    }

    enum State: String, Sendable, Hashable, Codable {
        case pending, response, failure, cancelled
    }

    /// A part of a call; times in milliseconds since the call started.
    struct Span: Sendable, Hashable {
        var id: Int64
        var parent: Int64?
        var kind: String
        var name: String
        var start: Double
        var time: Double
        /// The time that no inner part accounts for.
        var own: Double
    }

    struct Mark: Sendable, Hashable {
        var name: String
        var at: Double
    }
}

extension HAR.Call: Codable {
    private enum CodingKeys: String, CodingKey {
        case id
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(id: try container.decode(Int64.self, forKey: .id), summary: try? HAR.Summary(from: decoder))
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        // Both are fields of the same JSON object.
        try summary?.encode(to: encoder)
    }
}

extension HAR.Summary: Codable {
    private enum CodingKeys: String, CodingKey {
        case label, number, title, method, url, startedDateTime, time, state, status, error, cache, cacheReason
        case isShared = "shared"
        case attempts, retries, redirects, sentBytes, receivedBytes, savedBytes, spans, marks, response
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            label: container.text(.label) ?? "",
            method: container.text(.method) ?? "",
            url: container.text(.url) ?? "",
            startedDateTime: container.text(.startedDateTime) ?? "",
            // Without this field, there is no summary.
            state: try container.decode(HAR.State.self, forKey: .state)
        )
        container.read(container.integer, [.number: \.number, .status: \.status], into: &self)
        container.read(container.text, [.title: \.title, .cache: \.cache, .cacheReason: \.cacheReason], into: &self)
        container.read(
            container.integer,
            [.attempts: \.attempts, .retries: \.retries, .redirects: \.redirects],
            into: &self
        )
        container.read(
            container.integer,
            [.sentBytes: \.sentBytes, .receivedBytes: \.receivedBytes, .savedBytes: \.savedBytes],
            into: &self
        )
        time = container.number(.time).map { max(0, $0) }
        isShared = container.flag(.isShared)
        error = container.object(.error)
        // The recorder never writes more; a larger number would only exhaust memory.
        spans = Array(container.list(.spans).prefix(5_000))
        marks = Array(container.list(.marks).prefix(5_000))
        response = container.object(.response)
    }
}

extension HAR.Span: Codable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            id: try container.decode(Int64.self, forKey: .id),
            parent: container.integer(.parent),
            kind: container.text(.kind) ?? "",
            name: container.text(.name) ?? "",
            start: container.number(.start) ?? 0,
            time: max(0, container.number(.time) ?? 0),
            own: max(0, container.number(.own) ?? 0)
        )
    }
}

extension HAR.Mark: Codable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(name: container.text(.name) ?? "", at: container.number(.at) ?? 0)
    }
}
