import FoundationForNetworking
import HTTPTypes
public import NetworkingCore

extension NetworkingComponent {
    /// Sends a request and returns the server-sent events of its response as they arrive, reconnecting when necessary.
    ///
    /// ```swift
    /// for try await event in try await network.events(HTTPRequestData(path: "news")) {
    ///     print(event.type, event.data)
    /// }
    /// ```
    ///
    /// The stream is parsed as specified by WHATWG's HTML standard. If a connection ends or is lost, and the request
    /// may be sent twice (a GET, or a request that says so), the stream waits on the environment's clock and connects
    /// again through the whole stack, with `Last-Event-ID`. It waits for the time that the server has requested, but at
    /// least 500 ms and at most an hour, and 3 s if the server has not requested a time. After several connections
    /// without an event, it waits longer, up to 30 s. A request that may not be sent twice, such as the POST that sends
    /// a prompt to a model, has one connection, and the stream ends with it.
    ///
    /// The stack resolves the request once, so the stream stays with its server if the app changes a
    /// `SwitchableServer`. A `deadline` in the stack covers all connections and the waits between them.
    ///
    /// The stream ends with a 204, with an event that has the data `terminator`, or with an error. It fails for any
    /// other status than 200, whatever the request's ``HTTPRequestData/acceptedStatuses``, and for another media type.
    /// It also fails if the stack, including its `retry`, cannot establish a connection.
    ///
    /// - Parameters:
    ///   - request: The request. It is sent with `Accept: text/event-stream` and `Cache-Control: no-store`, unless it
    ///     sets these fields itself.
    ///   - terminator: The data of the last event, such as `[DONE]`, which is not delivered; `nil` if there is none.
    ///   - lastEventID: The last id of an earlier stream, to continue after that event.
    ///   - maximumEventBytes: The maximum size of an event, in bytes; 16 MiB by default. A longer event ends the
    ///     iteration with ``NetworkingError/Kind/tooLarge``.
    /// - Returns: The events, and the head of the first response. They can be read once. Ending the iteration ends the
    ///   transfer.
    /// - Throws: The errors of ``stream(_:)``, ``NetworkingError/Kind/status`` for any status other than 200 and 204,
    ///   and ``NetworkingError/Kind/invalidResponse`` for another media type.
    /// - Precondition: `maximumEventBytes` is greater than zero.
    public func events(
        _ request: HTTPRequestData,
        until terminator: String? = nil,
        after lastEventID: String = "",
        maximumEventBytes: Int = 16 << 20
    ) async throws -> EventStream {
        let parser = ServerSentEventParser(lastEventID: lastEventID, maximumEventBytes: maximumEventBytes)
        // Later connections belong to the same user as the first, like the id of the last event.
        let source = EventSource(
            notingUsers(of: request),
            in: environmentOfStack,
            resolving: { resolved($0) },
            sending: { try await stream($0) }
        )
        let first = try await source.connect(after: lastEventID)
        return EventStream(first: first, source: source, parser: parser, terminator: terminator)
    }

    /// Sends a request and decodes the data of its server-sent events.
    ///
    /// ```swift
    /// let tokens = try await network.events(.completion(of: prompt), as: Token.self)
    /// for try await token in tokens { print(token.text, terminator: "") }
    /// ```
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - type: The type that the data of an event decodes to.
    ///   - terminator: The data of the last event; `[DONE]` by default.
    ///   - decoder: The decoder; `nil` to use the request's, the stack's or a plain `JSONDecoder`.
    ///   - failures: The policy for an event that cannot be decoded; by default it ends the iteration with
    ///     ``NetworkingError/Kind/decoding``.
    ///   - lastEventID: The last id of an earlier stream, to continue after that event.
    ///   - maximumEventBytes: The maximum size of an event, in bytes; 16 MiB by default.
    /// - Returns: The values, and the head of the first response.
    /// - Throws: The same errors as the method without a type.
    /// - Precondition: `maximumEventBytes` is greater than zero.
    public func events<Value: Decodable & Sendable>(
        _ request: HTTPRequestData,
        as type: Value.Type,
        until terminator: String? = "[DONE]",
        decoder: (any BodyDecoder)? = nil,
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
        let decoder: any BodyDecoder = decoder ?? resolved(request).decoder ?? JSONDecoder()
        return DecodedEvents(events: events, decoding: ElementDecoding(decoder: decoder, failures: failures))
    }
}

/// The server-sent events of a response, and of the responses of later connections.
public struct EventStream: AsyncSequence, Sendable {
    /// An event.
    public typealias Element = ServerSentEvent

    /// The first response, as it was when its head arrived.
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

    /// Starts to read.
    ///
    /// Only one iterator receives the events; any other fails.
    public func makeAsyncIterator() -> Iterator {
        Iterator(bytes: first?.makeAsyncIterator(), source: source, parser: parser, terminator: terminator)
    }

    /// Reads the events once; releasing the iterator ends the transfer.
    public struct Iterator: AsyncIteratorProtocol {
        private var bytes: ResponseStream.Iterator?
        private let source: EventSource
        private var parser: ServerSentEventParser
        private let terminator: String?
        private var chunk = Data()
        private var position = 0
        /// The number of consecutive connections without an event.
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

        /// The last id up to the most recent event, for continuing after it in another stream.
        public var lastEventID: String {
            parser.lastEventID
        }

        /// Returns the next event; `nil` after the last.
        ///
        /// - Throws: A ``NetworkingError`` if the stream fails, or `CancellationError` if the caller is cancelled.
        public mutating func next() async throws -> ServerSentEvent? {
            do {
                while true {
                    if let event = try readEvent() {
                        fruitless = 0
                        guard event.data != terminator else { break }
                        return source.attached(event)
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

        /// Returns the next event of the current chunk.
        private mutating func readEvent() throws -> ServerSentEvent? {
            do throws(StreamTooLong) {
                return try chunk.withBytes { (bytes) throws(StreamTooLong) in
                    try parser.next(in: bytes, from: &position)
                }
            } catch {
                throw NetworkingError(.tooLarge, request: source.request, reason: error.description)
            }
        }

        /// Reads the next chunk, over a new connection if the previous one has ended; returns `false` at the end.
        private mutating func read() async throws -> Bool {
            guard bytes != nil else { return false }
            do {
                if let next = try await bytes?.next() {
                    (chunk, position) = (next, 0)
                    return true
                }
            } catch let error as NetworkingError where source.mayReconnect(after: error) {
                // A lost connection is treated like one that has ended.
            }
            close()
            guard source.mayReconnect else { return false }
            fruitless += 1
            try await source.wait(parser.reconnectionTime, afterFruitless: fruitless)
            bytes = try await source.connect(after: parser.lastEventID).stream?.makeAsyncIterator()
            // An incomplete event is dropped, because a new stream starts at its first byte. The last id and the
            // reconnection time are kept.
            parser.reconnect()
            return bytes != nil
        }

        private mutating func close() {
            bytes = nil
            (chunk, position) = (Data(), 0)
        }
    }
}

/// The values decoded from the data of server-sent events.
public struct DecodedEvents<Value: Decodable & Sendable>: AsyncSequence, Sendable {
    /// A value decoded from an event.
    public typealias Element = Value

    let events: EventStream
    let decoding: ElementDecoding

    /// The first response, as it was when its head arrived.
    public var response: HTTPResponseData {
        events.response
    }

    /// Starts to read.
    ///
    /// Only one iterator receives the events; any other fails.
    public func makeAsyncIterator() -> Iterator {
        let documents = EventDocuments(events: events.makeAsyncIterator())
        return Iterator(reader: DecodingReader(documents, decoding: decoding, of: events.response.request))
    }

    /// Reads the events once; releasing the iterator ends the transfer.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var reader: DecodingReader<EventDocuments, Value>

        /// Returns the next value; `nil` after the last.
        ///
        /// - Throws: The errors of the iterator of an ``EventStream``, and ``NetworkingError/Kind/decoding`` if an
        ///   event cannot be decoded and the policy does not skip it.
        public mutating func next() async throws -> Value? {
            try await reader.next()
        }
    }
}

/// The data of server-sent events as documents.
struct EventDocuments: DocumentReader {
    var events: EventStream.Iterator

    mutating func next() async throws -> StreamDocument? {
        try await events.next().map { event in StreamDocument(data: Data(event.data.utf8)) }
    }
}

/// Opens the connections of an event stream.
struct EventSource: Sendable {
    struct Connection {
        let response: HTTPResponseData
        /// The body; `nil` if the server has no more events (204).
        let stream: ResponseStream?
    }

    private static let standardReconnectionTime = Duration.seconds(3)
    /// The minimum wait, which is the same as in Firefox.
    ///
    /// Without a minimum, a server that sends `retry: 0` and ends each connection after one event would receive
    /// requests without a pause.
    private static let minimumReconnectionTime = Duration.milliseconds(500)
    private static let minimumBackoff = Duration.seconds(1)
    private static let maximumBackoff = Duration.seconds(30)
    /// The maximum wait that a server can request.
    private static let maximumReconnectionTime = Duration.seconds(3_600)

    let request: HTTPRequestData
    /// The request as the stack has resolved it for all connections.
    private let resolved: HTTPRequestData
    /// The environment of the waits between two connections.
    private let environment: NetworkEnvironment
    private let deadline = SpanningDeadline()
    private let stream: ServerSentEvent.Stream
    private let send: @Sendable (HTTPRequestData) async throws -> ResponseStream

    init(
        _ request: HTTPRequestData,
        in environment: NetworkEnvironment,
        resolving resolve: (HTTPRequestData) -> HTTPRequestData,
        sending send: @escaping @Sendable (HTTPRequestData) async throws -> ResponseStream
    ) {
        self.environment = environment
        var request = request
        if !request.headerFields.contains(.accept) {
            request.headerFields[.accept] = "text/event-stream"
        }
        if !request.headerFields.contains(.cacheControl) {
            request.headerFields[.cacheControl] = "no-store"
        }
        request.acceptedStatuses = [200, 204]
        self.request = request
        var resolved = resolve(request)
        resolved.spanningDeadline = deadline
        self.resolved = resolved
        stream = ServerSentEvent.Stream(request, resolved.decoder)
        self.send = send
    }

    /// Returns an event of the stream, which decodes its data with the decoder of the stack.
    func attached(_ event: ServerSentEvent) -> ServerSentEvent {
        var event = event
        event.stream = stream
        return event
    }

    /// Whether the stream may connect again after a connection has ended.
    var mayReconnect: Bool {
        request.mayBeSentTwice && request.body?.isReplayable ?? true
    }

    /// Returns whether the stream may connect again after a connection was lost.
    func mayReconnect(after error: NetworkingError) -> Bool {
        error.kind.meaning == .interrupted && mayReconnect
    }

    /// Waits before the next connection: for the time that the server requests, within limits, and longer after several
    /// connections without an event.
    ///
    /// - Throws: ``NetworkingError/Kind/deadline`` when the deadline of the stack passes during the wait.
    func wait(_ time: Duration?, afterFruitless count: Int) async throws {
        var time = time ?? Self.standardReconnectionTime
        time = min(max(time, Self.minimumReconnectionTime), Self.maximumReconnectionTime)
        if count > 1 {
            // Without the backoff, a server that ends each connection at once would receive requests without a pause,
            // and from all clients at the same moment.
            let backoff = Backoff.exponential(
                base: max(time, Self.minimumBackoff),
                cap: max(time, Self.maximumBackoff),
                jitter: .equal
            )
            var random = environment.random
            time = max(time, backoff.delay(beforeRetry: count, using: &random))
        }
        guard let next = deadline.next, next.timeLeft <= time else {
            return try await request.wait(.reconnection, for: time, on: environment.clock)
        }
        if next.timeLeft > .zero {
            try await request.wait(.reconnection, for: next.timeLeft, on: environment.clock)
        }
        throw NetworkingError.deadlineExceeded(next.limit, by: request)
    }

    func connect(after lastEventID: String) async throws -> Connection {
        var (request, resolved) = (request, resolved)
        if !lastEventID.isEmpty {
            request.headerFields[.lastEventID] = lastEventID
            resolved.headerFields[.lastEventID] = lastEventID
        }
        let stream = try await send(resolved)
        var response = stream.response
        response.request = request
        if response.status == .noContent {
            // Reads to the end, so that a complete exchange is not cancelled.
            for try await _ in stream {}
            return Connection(response: response, stream: nil)
        }
        // A stack may accept more statuses than this request does.
        guard response.status == .ok else { throw NetworkingError.refusedStatus(of: response) }
        let type = BodyType(response.headerFields[singleton: .contentType]).essence
        guard type == "text/event-stream" else {
            throw NetworkingError(
                .invalidResponse,
                request: request,
                response: response,
                reason:
                    "The server sent \(type.isEmpty ? "no media type" : PrintableText.singleLine(type)) instead of "
                    + "text/event-stream. Check the URL."
            )
        }
        return Connection(response: response, stream: stream)
    }
}

extension HTTPField.Name {
    // The name is valid, so the initializer returns a value.
    fileprivate static let lastEventID = HTTPField.Name("Last-Event-ID")!
}

extension Wait {
    /// The wait of `events` before it connects again.
    ///
    /// The wait takes place between two calls, so only the request's own observers are notified.
    public static let reconnection = Wait("reconnection", isTimed: true)
}
