extension HAR {
    /// An exchange, or a call without one because it used a cached response, shared another exchange or ended early.
    package struct Entry: Sendable, Hashable {
        package var pageref: String?
        package var startedDateTime: String
        /// The elapsed time in milliseconds.
        package var time: Double
        package var request: Request
        package var response: Response
        /// Empty, but required by HAR: this library does not have the caches of a browser.
        private var cache: [String: String] = [:]
        package var timings: Timings
        package var serverIPAddress: String?
        package var connection: String?
        var comment: String?
        /// The number of the exchange in its call; `nil` for a call without an exchange.
        package var exchange: Exchange?
        /// The reason why the exchange failed.
        package var error: Failure?
        /// The call that the exchange belongs to.
        package var call: Call?
        /// The cassette's metadata for the entry; `nil` in other archives.
        package var tape: Tape?
        /// The request as a shell command; only in the data of a page, never in an archive.
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
        /// The number, starting at 1.
        package var number: Int
        var isReused: Bool?

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

    /// The timings of an exchange, in milliseconds; -1 if unknown.
    package struct Timings: Sendable, Hashable {
        package var blocked = -1.0
        package var dns = -1.0
        package var connect = -1.0
        package var ssl = -1.0
        package var send = 0.0
        package var wait = 0.0
        package var receive = 0.0

        package init() {}

        /// The sum of the parts; TLS is included in connecting.
        package var sum: Double {
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
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            number: container.integer(.number).flatMap { Int(exactly: $0) } ?? 1,
            isReused: container.flag(.isReused)
        )
    }
}

extension HAR.Failure: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(kind: container.text(.kind) ?? "failed", reason: container.text(.reason) ?? "")
    }
}

extension HAR.Timings: Codable {
    package init(from decoder: any Decoder) throws {
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
