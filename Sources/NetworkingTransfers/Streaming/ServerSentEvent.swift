public import FoundationForNetworking
import HTTPTypes
public import NetworkingCore

/// One event of a `text/event-stream`.
public struct ServerSentEvent: Sendable, Hashable {
    /// The type of the event; `message` if the server sends none.
    public var type: String
    /// The data of the event, with several lines joined by line feeds.
    public var data: String
    /// The last id that the server has sent, with this event or before; empty if there was none.
    public var id: String

    /// The stream that has returned the event; `nil` for an event that was created otherwise.
    var stream: Stream?

    /// Creates an event.
    ///
    /// - Parameters:
    ///   - type: The type of the event.
    ///   - data: The data of the event.
    ///   - id: The last id.
    public init(type: String = "message", data: String, id: String = "") {
        self.type = type
        self.data = data
        self.id = id
    }

    /// Decodes the data.
    ///
    /// ```swift
    /// for try await event in try await network.events(.get("news")) where event.type == "numbers" {
    ///     print(try event.json(as: [Int].self))
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - decoder: The decoder; `nil` uses that of the request or the stack, and then a plain `JSONDecoder`.
    /// - Returns: The value.
    /// - Throws: A ``NetworkingError`` of kind ``NetworkingError/Kind/decoding``.
    public func json<Value: Decodable>(
        as type: Value.Type = Value.self,
        decoder: (any BodyDecoder)? = nil
    ) throws(NetworkingError) -> Value {
        let bytes = Data(data.utf8)
        do {
            return try (decoder ?? stream?.decoder ?? JSONDecoder()).decode(type, from: bytes)
        } catch {
            let request = stream?.request ?? HTTPRequestData()
            throw NetworkingError.undecodableElement(bytes, of: request, as: type, error, canBeSkipped: false)
        }
    }

    /// The part of a stream that its events need to decode their data.
    final class Stream: Sendable {
        let request: HTTPRequestData
        let decoder: (any BodyDecoder)?

        init(_ request: HTTPRequestData, _ decoder: (any BodyDecoder)?) {
            self.request = request
            self.decoder = decoder
        }
    }
}

extension ServerSentEvent {
    /// Whether two events have the same type, data and id.
    public static func == (lhs: ServerSentEvent, rhs: ServerSentEvent) -> Bool {
        lhs.type == rhs.type && lhs.data == rhs.data && lhs.id == rhs.id
    }

    /// Hashes the type, the data and the id.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(type)
        hasher.combine(data)
        hasher.combine(id)
    }
}

/// A parser for `text/event-stream` that follows WHATWG's HTML standard (section 9.2.6), for chunks of any size.
///
/// ```swift
/// var parser = ServerSentEventParser()
/// for try await chunk in try await network.stream(request) {
///     for event in try parser.parse(chunk) { print(event.type, event.data) }
/// }
/// ```
///
/// Bytes that are not valid UTF-8 become U+FFFD. An event that is incomplete at the end of the stream is ignored.
///
/// One rule is stricter than the standard's: an id that `Last-Event-ID` cannot send back to the server is ignored, like
/// an id with a NUL, and the previous id stays. This applies to an id with a control byte, with white space at its
/// start or end, or of more than 4 KiB.
public struct ServerSentEventParser: Sendable {
    /// The last id that the server has sent, which a reconnection sends in `Last-Event-ID`.
    public private(set) var lastEventID: String

    /// The time that the server wants clients to wait before they reconnect; `nil` if it has not requested one.
    public private(set) var reconnectionTime: Duration?

    /// The maximum size of an id, in bytes.
    ///
    /// Most servers refuse requests with more than 8 KiB of header fields.
    static let maximumIDBytes = 4_096

    private let maximumEventBytes: Int
    private var lines = LineSplitter()
    /// The number of bytes of a byte order mark read so far; `nil` if no mark can follow any more.
    private var markLength: Int? = 0
    /// The error of the event that follows the complete ones of a chunk.
    private var refusal: StreamTooLong?
    private var type: [UInt8] = []
    private var data: [UInt8] = []
    private var hasData = false
    /// The new id, which takes effect at the end of its event.
    private var nextID: String

    /// Creates a parser at the start of a stream.
    ///
    /// - Parameters:
    ///   - lastEventID: The last id of the previous connection.
    ///   - maximumEventBytes: The maximum size of an event, complete or not, in bytes; 16 MiB by default.
    /// - Precondition: `maximumEventBytes` is greater than zero.
    public init(lastEventID: String = "", maximumEventBytes: Int = 16 << 20) {
        precondition(maximumEventBytes > 0, "maximumEventBytes must be greater than zero (is \(maximumEventBytes))")
        self.lastEventID = lastEventID
        nextID = lastEventID
        self.maximumEventBytes = maximumEventBytes
    }

    /// Starts to read the stream of a new connection; drops the incomplete event and keeps the last id and the time.
    mutating func reconnect() {
        var parser = ServerSentEventParser(lastEventID: lastEventID, maximumEventBytes: maximumEventBytes)
        parser.reconnectionTime = reconnectionTime
        self = parser
    }

    /// Reads the next bytes.
    ///
    /// - Parameter chunk: The bytes.
    /// - Returns: The events that the bytes complete. Events before one that is too long are returned, and the next
    ///   call throws.
    /// - Throws: ``StreamTooLong`` if an event exceeds the limit.
    public mutating func parse(_ chunk: Data) throws(StreamTooLong) -> [ServerSentEvent] {
        if let refusal { throw refusal }
        var events: [ServerSentEvent] = []
        var position = 0
        do throws(StreamTooLong) {
            try chunk.withBytes { (bytes) throws(StreamTooLong) in
                while let event = try next(in: bytes, from: &position) {
                    events.append(event)
                }
            }
        } catch {
            guard !events.isEmpty else { throw error }
            refusal = error
        }
        return events
    }

    /// Reads up to the end of an event; returns `nil` if the chunk ends before that.
    mutating func next(
        in bytes: UnsafeRawBufferPointer,
        from position: inout Int
    ) throws(StreamTooLong) -> ServerSentEvent? {
        skipMark(in: bytes, from: &position)
        while position < bytes.count {
            // The splitter is moved out, so that the closure can change the other properties.
            var lines = self.lines
            self.lines = LineSplitter()
            defer { self.lines = lines }
            let event = try lines.next(in: bytes, from: &position) { (line) throws(StreamTooLong) in try read(line) }
            guard let event else {
                try check(lines.rest.count)
                return nil
            }
            if let event { return event }
        }
        return nil
    }

    /// Skips a byte order mark, which may be split over three chunks.
    private mutating func skipMark(in bytes: UnsafeRawBufferPointer, from position: inout Int) {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        while let length = markLength, position < bytes.count {
            if bytes[position] == mark[length] {
                position += 1
                markLength = length == 2 ? nil : length + 1
            } else {
                lines = LineSplitter(after: Array(mark[..<length]))
                markLength = nil
            }
        }
    }

    /// Throws if the data of the event and the whole current line exceed the limit, independent of chunk boundaries.
    private func check(_ count: Int) throws(StreamTooLong) {
        guard data.count + count <= maximumEventBytes else {
            throw StreamTooLong(what: "event", limit: maximumEventBytes)
        }
    }

    /// Reads a line, and returns the event if the line completes one.
    private mutating func read(_ line: UnsafeRawBufferPointer) throws(StreamTooLong) -> ServerSentEvent? {
        guard !line.isEmpty else { return dispatch() }
        try check(line.count)
        let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.count
        guard colon > 0 else { return nil }
        var valueStart = min(line.count, colon + 1)
        if valueStart < line.count, line[valueStart] == UInt8(ascii: " ") {
            valueStart += 1
        }
        let value = line[valueStart...]
        switch (colon, line[0]) {
        case (4, UInt8(ascii: "d")) where line.starts(with: "data".utf8):
            data.append(contentsOf: value)
            data.append(.lineFeed)
            hasData = true
        case (5, UInt8(ascii: "e")) where line.starts(with: "event".utf8):
            type = Array(value)
        case (2, UInt8(ascii: "i")) where line.starts(with: "id".utf8):
            if let id = Self.id(of: value) {
                nextID = id
            }
        case (5, UInt8(ascii: "r")) where line.starts(with: "retry".utf8):
            // A larger number becomes the limit, which is longer than any wait.
            if let milliseconds = DecimalDigits.number(value, limit: 1 << 50) {
                reconnectionTime = .milliseconds(milliseconds)
            }
        default:
            break
        }
        return nil
    }

    /// Returns the id in the value of a field; `nil` for one that cannot be sent in a header field.
    private static func id(of value: Slice<UnsafeRawBufferPointer>) -> String? {
        guard value.count <= maximumIDBytes else { return nil }
        let id = String(decoding: value, as: UTF8.self)
        return HTTPField.isValidValue(id) ? id : nil
    }

    private mutating func dispatch() -> ServerSentEvent? {
        lastEventID = nextID
        defer {
            data.removeAll(keepingCapacity: data.capacity < 1 << 16)
            (type, hasData) = ([], false)
        }
        guard hasData else { return nil }
        return ServerSentEvent(
            type: type.isEmpty ? "message" : String(decoding: type, as: UTF8.self),
            data: String(decoding: data.dropLast(), as: UTF8.self),
            id: lastEventID
        )
    }
}

/// A line, an event or a document of a stream that exceeds its maximum size.
public struct StreamTooLong: LocalizedError, ErrorWithUserText, Hashable, CustomStringConvertible {
    /// The kind of element: a line, an event or a document.
    public let what: String
    /// The maximum size, in bytes.
    public let limit: Int

    /// What happened, and how to solve it.
    public var description: String {
        "The stream contains a \(what) of more than \(limit) bytes. Raise the limit if you trust this server."
    }

    package var userText: UserText {
        NetworkingError.Kind.tooLarge.text
    }
}
