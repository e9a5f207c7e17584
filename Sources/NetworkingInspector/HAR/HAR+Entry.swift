extension HAR {
    /// An exchange, or a call without one because it used a cached response, shared another exchange or ended early.
    package struct Entry: Sendable, Hashable {
        var pageref: String?
        var startedDateTime: String
        /// The elapsed time in milliseconds.
        var time: Double
        var request: Request
        var response: Response
        /// Empty, but required by HAR: this library does not have the caches of a browser.
        var cache: [String: String] = [:]
        var timings: Timings
        var serverIPAddress: String?
        var connection: String?
        var comment: String?
        /// The number of the exchange in its call; `nil` for a call without an exchange.
        var exchange: Exchange?
        /// The reason why the exchange failed.
        var error: Failure?
        /// The call that the exchange belongs to.
        var call: Call?
        /// The cassette's metadata for the entry; `nil` in other archives.
        var tape: Tape?
        /// The request as a shell command; only in the data of a page, never in an archive.
        var curl: String?
    }

    struct Exchange: Sendable, Hashable {
        /// The number, starting at 1.
        var number: Int
        var isReused: Bool?
    }

    struct Failure: Sendable, Hashable {
        var kind: String
        var reason: String
    }

    /// The timings of an exchange, in milliseconds; -1 if unknown.
    struct Timings: Sendable, Hashable {
        var blocked = -1.0
        var dns = -1.0
        var connect = -1.0
        var ssl = -1.0
        var send = 0.0
        var wait = 0.0
        var receive = 0.0

        /// The sum of the parts; TLS is included in connecting.
        var sum: Double {
            // Rounded to the microsecond, like the parts.
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
            // An entry without a request is skipped.
            request: try container.decode(HAR.Request.self, forKey: .request),
            response: container.object(.response) ?? HAR.Response(),
            timings: timings
        )
        container.read(
            container.text,
            [.pageref: \.pageref, .serverIPAddress: \.serverIPAddress, .connection: \.connection, .comment: \.comment],
            into: &self
        )
        exchange = container.object(.exchange)
        // Firefox and Chrome report the reason as text, the former in the entry and the latter in the response.
        let reason = container.text(.error) ?? (container.object(.response) as ResponseError?)?.error
        error = container.object(.error) ?? reason.map { HAR.Failure(kind: "failed", reason: $0) }
        call = container.object(.call)
        tape = container.object(.tape)
    }
}

/// Chrome's error in a response that never arrived.
private struct ResponseError: Decodable {
    let error: String?

    private enum CodingKeys: String, CodingKey {
        case error = "_error"
    }

    init(from decoder: any Decoder) throws {
        error = try decoder.container(keyedBy: CodingKeys.self).text(.error)
    }
}

extension HAR.Exchange: Codable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            number: container.integer(.number).flatMap { Int(exactly: $0) } ?? 1,
            isReused: container.flag(.isReused)
        )
    }
}

extension HAR.Failure: Codable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(kind: container.text(.kind) ?? "failed", reason: container.text(.reason) ?? "")
    }
}

extension HAR.Timings: Codable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        container.read(
            container.number,
            [
                .blocked: \.blocked, .dns: \.dns, .connect: \.connect, .ssl: \.ssl, .send: \.send, .wait: \.wait,
                .receive: \.receive,
            ],
            into: &self
        )
        (blocked, dns, connect, ssl) = (max(-1, blocked), max(-1, dns), max(-1, connect), max(-1, ssl))
        (send, wait, receive) = (max(0, send), max(0, wait), max(0, receive))
    }
}
