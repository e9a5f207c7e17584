import HTTPTypes
import NetworkingCore

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// One event of a `text/event-stream`.
public struct ServerSentEvent: Sendable, Hashable {
    /// Its type: `message` unless the server names one.
    public var type: String
    /// What it says; several lines are joined by line feeds.
    public var data: String
    /// The last id that the server has sent, with this event or before; empty when there was none.
    public var id: String

    /// Creates an event.
    ///
    /// - Parameters:
    ///   - type: Its type.
    ///   - data: What it says.
    ///   - id: The last id.
    public init(type: String = "message", data: String, id: String = "") {
        self.type = type
        self.data = data
        self.id = id
    }
}

/// Reads a `text/event-stream` to the letter of WHATWG's HTML standard (section 9.2.6), from bytes in any chunks.
///
/// ```swift
/// var parser = ServerSentEventParser()
/// for try await chunk in stream {
///     for event in try parser.parse(chunk) { … }
/// }
/// ```
///
/// Bytes that are not UTF-8 become U+FFFD. An event that has not ended at the end of the stream is ignored.
///
/// An id that `Last-Event-ID` cannot carry back to the server is ignored, as the standard ignores one with a NUL, and
/// the id before it stays: one with a control byte, with white space at its start or end, or of more than 4 KiB.
public struct ServerSentEventParser: Sendable {
    /// The last id that the server has sent; what a reconnection names in `Last-Event-ID`.
    public private(set) var lastEventID: String

    /// How long the server wants clients to wait before they connect again; nil when it does not say.
    public private(set) var reconnectionTime: Duration?

    /// The most bytes of an id.
    ///
    /// Most servers refuse requests whose header fields have more than 8 KiB.
    static let maximumIDBytes = 4_096

    private let maximumEventBytes: Int
    private var lines = LineSplitter()
    /// How much of a byte order mark has come; nil when it cannot come any more.
    private var markLength: Int? = 0
    /// What is wrong with the event after those that a chunk completed.
    private var refusal: StreamTooLong?
    private var type: [UInt8] = []
    private var data: [UInt8] = []
    private var hasData = false
    /// An id counts from the end of its event on.
    private var nextID: String

    /// Creates a parser at the start of a stream.
    ///
    /// - Parameters:
    ///   - lastEventID: The last id of the connection before.
    ///   - maximumEventBytes: The most bytes of an event, whether it ends or not; 16 MiB by default.
    /// - Precondition: `maximumEventBytes` is greater than zero.
    public init(lastEventID: String = "", maximumEventBytes: Int = 16 << 20) {
        precondition(maximumEventBytes > 0, "maximumEventBytes must be greater than zero (is \(maximumEventBytes))")
        self.lastEventID = lastEventID
        nextID = lastEventID
        self.maximumEventBytes = maximumEventBytes
    }

    /// Begins to read another connection's stream: what had not ended is dropped, the last id and the time stay.
    mutating func reconnect() {
        var parser = ServerSentEventParser(lastEventID: lastEventID, maximumEventBytes: maximumEventBytes)
        parser.reconnectionTime = reconnectionTime
        self = parser
    }

    /// Reads the next bytes.
    ///
    /// - Parameter chunk: The bytes.
    /// - Returns: The events that they complete. Those before one that is too long are returned, and the next call
    ///   throws.
    /// - Throws: ``StreamTooLong`` when an event is longer than it may be.
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

    /// Reads up to the end of an event; nil when the chunk ends before that.
    mutating func next(
        in bytes: UnsafeRawBufferPointer,
        from position: inout Int
    ) throws(StreamTooLong) -> ServerSentEvent? {
        skipMark(in: bytes, from: &position)
        while position < bytes.count {
            // Out of the way, for the closure to change the rest.
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

    /// Passes over a byte order mark, which may come in three chunks.
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

    /// The limit counts what an event has, and the whole line that it gets: the same wherever the chunks end.
    private func check(_ count: Int) throws(StreamTooLong) {
        guard data.count + count <= maximumEventBytes else {
            throw StreamTooLong(what: "event", limit: maximumEventBytes)
        }
    }

    /// Reads a line; answers the event that it ends, if it ends one.
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
            // The limit is longer than any wait.
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

/// A line, an event or a document of a stream that is longer than it may be.
public struct StreamTooLong: LocalizedError, Hashable, CustomStringConvertible {
    /// What it is: a line, an event, a document.
    public let what: String
    /// The most bytes that it may have.
    public let limit: Int

    /// What happened and what to do about it.
    public var description: String {
        "The stream holds a \(what) of more than \(limit) bytes. Raise the limit if this server is to be trusted."
    }

    /// One sentence for the user of the app, which `localizedDescription` returns.
    public var errorDescription: String? {
        NetworkingError.Kind.tooLarge.userText
    }
}
