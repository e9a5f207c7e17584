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

/// Reads a `text/event-stream` to the letter of WHATWG's HTML standard (section 9.2.6), from bytes in any portions.
///
/// ```swift
/// var parser = ServerSentEventParser()
/// for try await chunk in stream {
///     for event in try parser.parse(chunk) { … }
/// }
/// ```
///
/// Bytes that are not UTF-8 become U+FFFD. An event that has not ended at the end of the stream is none.
public struct ServerSentEventParser: Sendable {
    /// The last id that the server has sent; what a reconnection names in `Last-Event-ID`.
    public private(set) var lastEventID: String

    /// How long the server wants clients to wait before they connect again; nil when it does not say.
    public private(set) var reconnectionTime: Duration?

    private let maximumEventBytes: Int
    private var lines = LineSplitter()
    private var isAtStart = true
    private var start: [UInt8] = []
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
    /// - Returns: The events that they complete.
    /// - Throws: ``StreamTooLong`` when an event is longer than it may be.
    public mutating func parse(_ chunk: Data) throws(StreamTooLong) -> [ServerSentEvent] {
        var events: [ServerSentEvent] = []
        var chunk = chunk
        if isAtStart {
            // A byte order mark may come in three portions.
            start.append(contentsOf: chunk)
            let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
            guard start.count >= 3 || !mark.starts(with: start) else { return [] }
            chunk = Data(start.starts(with: mark) ? start.dropFirst(3) : start[...])
            (isAtStart, start) = (false, [])
        }
        var lines = self.lines
        self.lines = LineSplitter()
        lines.split(chunk) { line in
            if let event = read(line) {
                events.append(event)
            }
        }
        self.lines = lines
        guard data.count + lines.rest.count <= maximumEventBytes else {
            throw StreamTooLong(what: "event", limit: maximumEventBytes)
        }
        return events
    }

    private mutating func read(_ line: UnsafeRawBufferPointer) -> ServerSentEvent? {
        guard !line.isEmpty else { return dispatch() }
        let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.count
        guard colon > 0 else { return nil }
        var valueStart = min(line.count, colon + 1)
        if valueStart < line.count, line[valueStart] == UInt8(ascii: " ") {
            valueStart += 1
        }
        let value = line[valueStart...]
        switch (colon, line[0]) {
        case (4, UInt8(ascii: "d")) where line.starts(with: "data".utf8):
            // What a hostile server repeats in one portion must not pile up before the limit is looked at.
            if data.count <= maximumEventBytes {
                data.append(contentsOf: value)
                data.append(.lineFeed)
            }
            hasData = true
        case (5, UInt8(ascii: "e")) where line.starts(with: "event".utf8):
            type = Array(value)
        case (2, UInt8(ascii: "i")) where line.starts(with: "id".utf8):
            if !value.contains(0) {
                nextID = String(decoding: value, as: UTF8.self)
            }
        case (5, UInt8(ascii: "r")) where line.starts(with: "retry".utf8):
            if !value.isEmpty, value.allSatisfy({ 0x30...0x39 ~= $0 }) {
                // More than any wait, and more than a number holds, are alike.
                let milliseconds = value.reduce(Int64(0)) { min($0 * 10 + Int64($1 - 0x30), 1 << 50) }
                reconnectionTime = .milliseconds(milliseconds)
            }
        default:
            break
        }
        return nil
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
public struct StreamTooLong: Error, Hashable, CustomStringConvertible {
    /// What it is: a line, an event, a document.
    public let what: String
    /// The most bytes that it may have.
    public let limit: Int

    /// What happened and what to do about it.
    public var description: String {
        "The stream holds a \(what) of more than \(limit) bytes. Raise the limit if this server is to be trusted."
    }
}
