extension HAR {
    /// This library's information about a call: complete in its first entry, only the ID in the others.
    package struct Call: Sendable, Hashable {
        /// The ID, unique in the archive.
        package var id: Int64
        /// The summary; `nil` except in the first entry of a call.
        package var summary: Summary?

        package init(id: Int64, summary: Summary? = nil) {
            self.id = id
            self.summary = summary
        }
    }

    package struct Summary: Sendable, Hashable {
        /// The request's id as text, as in logs.
        package var label: String
        /// The request's number, from `numbered`.
        package var number: Int64?
        /// The request's route, or another descriptive name.
        package var title: String?
        package var method: String
        package var url: String
        package var startedDateTime: String
        /// The duration in milliseconds; `nil` while the call is in progress.
        package var time: Double?
        package var state: State
        package var status: Int64?
        package var error: Failure?
        package var cache: String?
        package var cacheReason: String?
        package var isShared: Bool?
        package var attempts: Int64 = 0
        package var retries: Int64 = 0
        package var redirects: Int64 = 0
        package var sentBytes: Int64 = 0
        package var receivedBytes: Int64 = 0
        package var savedBytes: Int64 = 0
        package var spans: [Span] = []
        package var marks: [Mark] = []
        /// The response that the caller received, if it differs from that of the last exchange.
        package var response: Response?

        package init(label: String, method: String, url: String, startedDateTime: String, state: State) {
            self.label = label
            self.method = method
            self.url = url
            self.startedDateTime = startedDateTime
            self.state = state
        }
    }

    package enum State: String, Sendable, Hashable, Codable {
        case pending, response, failure, cancelled
    }

    /// A part of a call; times in milliseconds since the call started.
    package struct Span: Sendable, Hashable {
        var id: Int64
        var parent: Int64?
        package var kind: String
        package var name: String
        var start: Double
        package var time: Double
        /// The time that no inner part accounts for.
        var own: Double

        package init(
            id: Int64,
            parent: Int64?,
            kind: String,
            name: String,
            start: Double,
            time: Double,
            own: Double
        ) {
            self.id = id
            self.parent = parent
            self.kind = kind
            self.name = name
            self.start = start
            self.time = time
            self.own = own
        }
    }

    package struct Mark: Sendable, Hashable {
        package var name: String
        var at: Double

        package init(name: String, at: Double) {
            self.name = name
            self.at = at
        }
    }
}

extension HAR.Call: Codable {
    private enum CodingKeys: String, CodingKey {
        case id
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(id: try container.decode(Int64.self, forKey: .id), summary: try? HAR.Summary(from: decoder))
    }

    package func encode(to encoder: any Encoder) throws {
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

    package init(from decoder: any Decoder) throws {
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
    package init(from decoder: any Decoder) throws {
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
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(name: container.text(.name) ?? "", at: container.number(.at) ?? 0)
    }
}
