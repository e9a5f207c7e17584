extension HAR {
    /// An exchange; or a call that had none, since it was answered from a cache, shared another's, or ended before.
    package struct Entry: Sendable, Hashable {
        package var pageref: String?
        package var startedDateTime: String
        /// The whole elapsed time in milliseconds.
        package var time: Double
        package var request: Request
        package var response: Response
        package var timings: Timings
        package var serverIPAddress: String?
        package var connection: String?
        package var comment: String?
        /// Which of its call's exchanges it is; nil for a call that had none.
        package var exchange: Exchange?
        /// What the exchange failed of.
        package var error: Failure?
        /// The call that it is part of.
        package var call: Call?
        /// What a cassette says of it; nil in other archives.
        package var tape: Tape?
        /// The request as a command for a shell; in what a page gets, and in no archive.
        package var curl: String?

        package init(startedDateTime: String, time: Double, request: Request, response: Response, timings: Timings) {
            self.startedDateTime = startedDateTime
            self.time = time
            self.request = request
            self.response = response
            self.timings = timings
        }
    }

    package struct Exchange: Sendable, Hashable {
        /// From 1.
        package var number: Int
        package var isReused: Bool?

        package init(number: Int, isReused: Bool? = nil) {
            self.number = number
            self.isReused = isReused
        }
    }

    package struct Failure: Sendable, Hashable {
        package var kind: String
        package var reason: String

        package init(kind: String, reason: String) {
            self.kind = kind
            self.reason = reason
        }
    }

    /// What the time of an exchange went to, in milliseconds; -1 where it is not known.
    package struct Timings: Sendable, Hashable {
        package var blocked = -1.0
        package var dns = -1.0
        package var connect = -1.0
        package var ssl = -1.0
        package var send = 0.0
        package var wait = 0.0
        package var receive = 0.0

        package init() {}

        /// What the parts add up to; TLS is a part of connecting.
        package var sum: Double {
            // To the microsecond, as the parts are.
            ([blocked, dns, connect, send, wait, receive].reduce(0) { $0 + max(0, $1) } * 1_000).rounded() / 1_000
        }
    }
}

extension HAR.Entry: Codable {
    private enum CodingKeys: String, CodingKey {
        case pageref, startedDateTime, time, request, response, cache, timings, serverIPAddress, connection, comment
        case exchange = "_exchange"
        case error = "_error"
        case call = "_call"
        case tape = "_cassette"
        case curl = "_curl"
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let timings: HAR.Timings = container.object(.timings) ?? HAR.Timings()
        self.init(
            startedDateTime: container.text(.startedDateTime) ?? "",
            time: container.number(.time).map { max(0, $0) } ?? timings.sum,
            // What has no request says nothing.
            request: try container.decode(HAR.Request.self, forKey: .request),
            response: container.object(.response) ?? HAR.Response(),
            timings: timings
        )
        pageref = container.text(.pageref)
        serverIPAddress = container.text(.serverIPAddress)
        connection = container.text(.connection)
        comment = container.text(.comment)
        exchange = container.object(.exchange)
        // Firefox and Chrome say why in a text, the one in the entry and the other in the response.
        let told = container.text(.error) ?? (container.object(.response) as Told?)?.error
        error = container.object(.error) ?? told.map { HAR.Failure(kind: "failed", reason: $0) }
        call = container.object(.call)
        tape = container.object(.tape)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(pageref, forKey: .pageref)
        try container.encode(startedDateTime, forKey: .startedDateTime)
        try container.encode(time, forKey: .time)
        try container.encode(request, forKey: .request)
        try container.encode(response, forKey: .response)
        // Of the caches that a browser has, this library has none.
        try container.encode([String: String](), forKey: .cache)
        try container.encode(timings, forKey: .timings)
        try container.encodeIfPresent(serverIPAddress, forKey: .serverIPAddress)
        try container.encodeIfPresent(connection, forKey: .connection)
        try container.encodeIfPresent(comment, forKey: .comment)
        try container.encodeIfPresent(exchange, forKey: .exchange)
        try container.encodeIfPresent(error, forKey: .error)
        try container.encodeIfPresent(call, forKey: .call)
        try container.encodeIfPresent(tape, forKey: .tape)
        try container.encodeIfPresent(curl, forKey: .curl)
    }
}

/// What Chrome says in a response that is none.
private struct Told: Decodable {
    let error: String?

    private enum CodingKeys: String, CodingKey {
        case error = "_error"
    }

    init(from decoder: any Decoder) throws {
        error = try decoder.container(keyedBy: CodingKeys.self).text(.error)
    }
}

extension HAR.Exchange: Codable {
    private enum CodingKeys: String, CodingKey {
        case number, isReused
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            number: container.integer(.number).flatMap { Int(exactly: $0) } ?? 1,
            isReused: container.flag(.isReused)
        )
    }
}

extension HAR.Failure: Codable {
    private enum CodingKeys: String, CodingKey {
        case kind, reason
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(kind: container.text(.kind) ?? "failed", reason: container.text(.reason) ?? "")
    }
}

extension HAR.Timings: Codable {
    private enum CodingKeys: String, CodingKey {
        case blocked, dns, connect, ssl, send, wait, receive
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        blocked = max(-1, container.number(.blocked) ?? -1)
        dns = max(-1, container.number(.dns) ?? -1)
        connect = max(-1, container.number(.connect) ?? -1)
        ssl = max(-1, container.number(.ssl) ?? -1)
        send = max(0, container.number(.send) ?? 0)
        wait = max(0, container.number(.wait) ?? 0)
        receive = max(0, container.number(.receive) ?? 0)
    }
}
