import HTTPTypes
public import NetworkingCore

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension NetworkingComponent {
    /// Sends a request and returns the server-sent events of its response as they come, over as many connections as it
    /// takes.
    ///
    /// ```swift
    /// for try await event in try await network.events(HTTPRequestData(path: "news")) {
    ///     print(event.type, event.data)
    /// }
    /// ```
    ///
    /// The stream is read as WHATWG's HTML standard says. When a connection ends or is lost, and the request may be
    /// sent twice (a GET, or one that says so), the stream waits on the environment's clock and connects again through
    /// the whole stack, with `Last-Event-ID`. It waits as long as the server has asked, but at least 500 ms and at most
    /// an hour, and 3 s if the server has not asked; after several connections without an event, up to 30 s. A request
    /// that may not be sent twice, such as the POST that asks a model for an answer, has one connection.
    ///
    /// The stream ends with a 204, with the event whose data is `terminator`, or with an error: of any other status
    /// than 200, whatever the request's ``HTTPRequestData/acceptedStatuses``, of another media type, and of a
    /// connection that the stack's own `retry` could not make.
    ///
    /// - Parameters:
    ///   - request: The request. It accepts `text/event-stream`, unless it says what it accepts.
    ///   - terminator: What the last event says, such as `[DONE]`; it is not delivered. Nil for none.
    ///   - lastEventID: The last id of an earlier stream, to go on after it.
    ///   - maximumEventBytes: The most bytes of an event; 16 MiB by default. A longer one ends the iteration with
    ///     ``NetworkingError/Kind/tooLarge``.
    /// - Returns: The events, and the first response's head. They are read once, and giving them up ends the transfer.
    /// - Throws: What ``stream(_:)`` throws, ``NetworkingError/Kind/status`` for any other status than 200 and 204, and
    ///   ``NetworkingError/Kind/invalidResponse`` for another media type.
    /// - Precondition: `maximumEventBytes` is greater than zero.
    public func events(
        _ request: HTTPRequestData,
        until terminator: String? = nil,
        after lastEventID: String = "",
        maximumEventBytes: Int = 16 << 20
    ) async throws -> EventStream {
        let parser = ServerSentEventParser(lastEventID: lastEventID, maximumEventBytes: maximumEventBytes)
        let source = EventSource(request) { try await stream($0) }
        let first = try await source.connect(after: lastEventID)
        return EventStream(first: first, source: source, parser: parser, terminator: terminator)
    }

    /// Sends a request and returns what the data of its server-sent events decodes to.
    ///
    /// ```swift
    /// let answer = try await network.events(.completion(of: prompt), as: Token.self)
    /// for try await token in answer { print(token.text, terminator: "") }
    /// ```
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - type: The type that the data of an event decodes to.
    ///   - terminator: What the last event says; `[DONE]` by default.
    ///   - decoder: The decoder; a plain `JSONDecoder` by default.
    ///   - failures: What happens with an event that does not decode; by default it ends the iteration with
    ///     ``NetworkingError/Kind/decoding``.
    ///   - lastEventID: The last id of an earlier stream, to go on after it.
    ///   - maximumEventBytes: The most bytes of an event; 16 MiB by default.
    /// - Returns: The values, and the first response's head.
    /// - Throws: What the form without a type throws.
    /// - Precondition: `maximumEventBytes` is greater than zero.
    public func events<Value: Decodable & Sendable>(
        _ request: HTTPRequestData,
        as type: Value.Type,
        until terminator: String? = "[DONE]",
        decoder: any BodyDecoder = JSONDecoder(),
        onDecodingFailure failures: DecodingFailures = .fail,
        after lastEventID: String = "",
        maximumEventBytes: Int = 16 << 20
    ) async throws -> DecodedEvents<Value> {
        let events = try await events(
            request,
            until: terminator,
            after: lastEventID,
            maximumEventBytes: maximumEventBytes
        )
        return DecodedEvents(events: events, decoding: ElementDecoding(decoder: decoder, failures: failures))
    }
}

/// The server-sent events of a response, and of those that follow when its connection ends.
public struct EventStream: AsyncSequence, Sendable {
    /// An event.
    public typealias Element = ServerSentEvent

    /// The first response as it was when its head had come.
    public let response: HTTPResponseData

    private let first: ResponseStream?
    private let source: EventSource
    private let parser: ServerSentEventParser
    private let terminator: String?

    init(first: EventSource.Connection, source: EventSource, parser: ServerSentEventParser, terminator: String?) {
        response = first.response
        self.first = first.stream
        self.source = source
        self.parser = parser
        self.terminator = terminator
    }

    /// Begins to read.
    ///
    /// Only one iterator gets the events; any other fails.
    public func makeAsyncIterator() -> Iterator {
        Iterator(bytes: first?.makeAsyncIterator(), source: source, parser: parser, terminator: terminator)
    }

    /// Reads the events once, and ends the transfer when it goes.
    public struct Iterator: AsyncIteratorProtocol {
        private var bytes: ResponseStream.Iterator?
        private let source: EventSource
        private var parser: ServerSentEventParser
        private let terminator: String?
        private var chunk = Data()
        private var position = 0
        /// The connections in a row that brought no event.
        private var fruitless = 0

        fileprivate init(
            bytes: ResponseStream.Iterator?,
            source: EventSource,
            parser: ServerSentEventParser,
            terminator: String?
        ) {
            self.bytes = bytes
            self.source = source
            self.parser = parser
            self.terminator = terminator
        }

        /// The last id up to the event that was brought last, to go on after it in another stream.
        public var lastEventID: String {
            parser.lastEventID
        }

        /// Brings the next event; nil after the last.
        ///
        /// - Throws: A ``NetworkingError`` for what ended the stream, `CancellationError` when the caller is cancelled.
        public mutating func next() async throws -> ServerSentEvent? {
            do {
                while true {
                    if let event = try readEvent() {
                        fruitless = 0
                        guard event.data != terminator else { break }
                        return event
                    }
                    guard try await read() else { break }
                }
                close()
                return nil
            } catch {
                close()
                throw error
            }
        }

        /// The next event of the chunk that is there.
        private mutating func readEvent() throws -> ServerSentEvent? {
            do throws(StreamTooLong) {
                return try chunk.withBytes { (bytes) throws(StreamTooLong) in
                    try parser.next(in: bytes, from: &position)
                }
            } catch {
                throw NetworkingError(.tooLarge, request: source.request, reason: error.description)
            }
        }

        /// Reads what comes next, over another connection where one has ended; false at the end.
        private mutating func read() async throws -> Bool {
            guard bytes != nil else { return false }
            do {
                if let next = try await bytes?.next() {
                    (chunk, position) = (next, 0)
                    return true
                }
            } catch let error as NetworkingError where source.mayReconnect(after: error) {
                // Lost: the same as if it had ended.
            }
            close()
            guard source.mayReconnect else { return false }
            fruitless += 1
            try await source.wait(parser.reconnectionTime, afterFruitless: fruitless)
            bytes = try await source.connect(after: parser.lastEventID).stream?.makeAsyncIterator()
            // What had not ended is none, and a stream begins anew; its id and its time stay.
            parser.reconnect()
            return bytes != nil
        }

        private mutating func close() {
            bytes = nil
            (chunk, position) = (Data(), 0)
        }
    }
}

/// What the data of server-sent events decodes to.
public struct DecodedEvents<Value: Decodable & Sendable>: AsyncSequence, Sendable {
    /// An event's value.
    public typealias Element = Value

    private let events: EventStream
    private let decoding: ElementDecoding

    init(events: EventStream, decoding: ElementDecoding) {
        self.events = events
        self.decoding = decoding
    }

    /// The first response as it was when its head had come.
    public var response: HTTPResponseData {
        events.response
    }

    /// Begins to read.
    ///
    /// Only one iterator gets the events; any other fails.
    public func makeAsyncIterator() -> Iterator {
        Iterator(events: events.makeAsyncIterator(), decoding: decoding, request: events.response.request)
    }

    /// Reads the events once, and ends the transfer when it goes.
    public struct Iterator: AsyncIteratorProtocol {
        private var events: EventStream.Iterator?
        private let decoding: ElementDecoding
        private let request: HTTPRequestData

        fileprivate init(events: EventStream.Iterator, decoding: ElementDecoding, request: HTTPRequestData) {
            self.events = events
            self.decoding = decoding
            self.request = request
        }

        /// Brings the next value; nil after the last.
        ///
        /// - Throws: What the iterator of an ``EventStream`` throws, and ``NetworkingError/Kind/decoding`` if an event
        ///   does not decode and is not to be skipped.
        public mutating func next() async throws -> Value? {
            do {
                while let event = try await events?.next() {
                    let data = Data(event.data.utf8)
                    if let value = try await decoding.decode(Value.self, from: data, of: request) { return value }
                }
                return nil
            } catch {
                // Ends the transfer, too.
                events = nil
                throw error
            }
        }
    }
}

/// Makes the connections of an event stream.
struct EventSource: Sendable {
    struct Connection {
        let response: HTTPResponseData
        /// Nil where the server has nothing more to say (204).
        let stream: ResponseStream?
    }

    private static let standardReconnectionTime = Duration.seconds(3)
    /// The shortest wait, as Firefox has it.
    ///
    /// Without one, a server that says `retry: 0` and ends each connection after one event would be asked without a
    /// pause.
    private static let minimumReconnectionTime = Duration.milliseconds(500)
    private static let leastBackoff = Duration.seconds(1)
    private static let maximumBackoff = Duration.seconds(30)
    /// The longest that a server may have a client wait.
    private static let maximumReconnectionTime = Duration.seconds(3_600)

    let request: HTTPRequestData
    private let send: @Sendable (HTTPRequestData) async throws -> ResponseStream

    init(_ request: HTTPRequestData, send: @escaping @Sendable (HTTPRequestData) async throws -> ResponseStream) {
        var request = request
        if !request.headerFields.contains(.accept) {
            request.headerFields[.accept] = "text/event-stream"
        }
        if !request.headerFields.contains(.cacheControl) {
            request.headerFields[.cacheControl] = "no-store"
        }
        request.acceptedStatuses = [200, 204]
        self.request = request
        self.send = send
    }

    /// Whether another connection may be made after one has ended.
    var mayReconnect: Bool {
        request.mayBeSentTwice && request.body?.isReplayable ?? true
    }

    /// Whether another connection may be made after one was lost.
    func mayReconnect(after error: NetworkingError) -> Bool {
        switch error.kind {
        case .connectionLost, .truncated, .timeout: mayReconnect
        default: false
        }
    }

    /// Waits before the next connection: as long as the server wants, within limits, and longer after several that
    /// brought nothing.
    func wait(_ time: Duration?, afterFruitless count: Int) async throws {
        var time = time ?? Self.standardReconnectionTime
        time = min(max(time, Self.minimumReconnectionTime), Self.maximumReconnectionTime)
        if count > 1 {
            // A server that ends each at once would be asked without a pause, and by all clients at the same moment.
            let longest = max(time, Self.maximumBackoff)
            let growing = min(longest, max(time, Self.leastBackoff) * (1 << min(count - 1, 10)))
            time = max(time, growing * NetworkEnvironment.current.random.halfToOne())
        }
        try await request.wait(.reconnection, for: time, on: NetworkEnvironment.current.clock)
    }

    func connect(after lastEventID: String) async throws -> Connection {
        var request = request
        if !lastEventID.isEmpty {
            request.headerFields[.lastEventID] = lastEventID
        }
        let stream = try await send(request)
        let response = stream.response
        if response.status == .noContent {
            // Reads to the end, so that the exchange is not cancelled where it is complete.
            for try await _ in stream {}
            return Connection(response: response, stream: nil)
        }
        // A stack may accept more than this request does.
        guard response.status == .ok else { throw NetworkingError.refusedStatus(of: response) }
        let type = BodyType(response.headerFields[.contentType]).essence
        guard type == "text/event-stream" else {
            throw NetworkingError(
                .invalidResponse,
                request: request,
                response: response,
                reason:
                    "The server answered with \(type.isEmpty ? "no media type" : PrintableText.singleLine(type)), where "
                    + "text/event-stream is due. Check the URL."
            )
        }
        return Connection(response: response, stream: stream)
    }
}

extension HTTPField.Name {
    // A valid name, so there is a value.
    fileprivate static let lastEventID = HTTPField.Name("Last-Event-ID")!
}

extension Wait {
    /// `events` waits before it connects again: between two calls, so that only the request's own observers receive it.
    public static let reconnection = Wait("reconnection", isTimed: true)
}
