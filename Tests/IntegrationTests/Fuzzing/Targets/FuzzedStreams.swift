import Foundation

@testable import NetworkingTransfers

extension FuzzTarget {
    /// Bodies that are read while they arrive.
    static let streams = [
        FuzzTarget("event-stream", of: "NetworkingTransfers/Streaming/ServerSentEvent.swift") { bytes in
            let whole = EventStreamOutcome(of: [bytes])
            try requireEqual(whole, EventStreamOutcome(of: bytes.chunks), "chunks change the events")
            try requireEqual(whole.events, EventStreamModel(bytes).events, "the events differ from the model's")
            let limited = EventStreamOutcome(of: [bytes], limit: 16)
            try requireEqual(limited, EventStreamOutcome(of: bytes.chunks, limit: 16), "chunks change the limit")
            try require(
                limited.events.allSatisfy { $0.data.utf8.count <= 16 * 3 } || !limited.isRefused,
                "an event exceeds the limit"
            )
            try require(
                limited.events.elementsEqual(whole.events.prefix(limited.events.count)),
                "the limit adds events"
            )
        },
        FuzzTarget("lines", of: "NetworkingTransfers/Streaming/LineSplitter.swift") { bytes in
            let whole = LineSplitter.lines(of: [bytes])
            try requireEqual(whole, LineSplitter.lines(of: bytes.chunks), "chunks change the lines")
            try requireEqual(whole, LineSplitter.lines(of: bytes.map { [$0] }), "single bytes change the lines")
            try requireEqual(whole, LineSplitter.model(of: bytes), "the lines differ from the model's")
        },
        FuzzTarget("json-stream", of: "NetworkingTransfers/Streaming/JSONStream.swift") { bytes in
            for format in [JSONStreamFormat.lines, .sequence, .concatenated] {
                let whole = JSONStreamOutcome(of: [bytes], format)
                try requireEqual(whole, JSONStreamOutcome(of: bytes.chunks, format), "chunks change the documents")
                let limited = JSONStreamOutcome(of: [bytes], format, limit: 8)
                try requireEqual(
                    limited,
                    JSONStreamOutcome(of: bytes.chunks, format, limit: 8),
                    "chunks change the limit"
                )
                try require(limited.documents.allSatisfy { $0.data.count <= 8 }, "a document exceeds the limit")
                if whole.documents.count == 1, format == .concatenated, let document = whole.documents.first {
                    let again = JSONStreamOutcome(of: [[UInt8](document.data)], format)
                    try require(again.documents.count <= 1, "a document splits again")
                }
            }
        },
    ]
}

/// The events of a stream, up to the first one that is too long.
private struct EventStreamOutcome: Equatable {
    var events: [ServerSentEvent] = []
    var isRefused = false
    var lastEventID = ""
    var reconnectionTime: Duration?

    init(of chunks: [[UInt8]], limit: Int = 1 << 20) {
        var parser = ServerSentEventParser(maximumEventBytes: limit)
        do {
            for chunk in chunks {
                events += try parser.parse(Data(chunk))
            }
            _ = try parser.parse(Data())
        } catch {
            isRefused = true
        }
        guard !isRefused else { return }
        (lastEventID, reconnectionTime) = (parser.lastEventID, parser.reconnectionTime)
    }
}

/// A simple parser of event streams, in the words of the HTML standard.
private struct EventStreamModel {
    private(set) var events: [ServerSentEvent] = []

    init(_ bytes: [UInt8]) {
        var (type, id, lastID) = ("", "", "")
        var data: [String]?
        let stream = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
        // The rest after the last line break is no line yet.
        for line in LineSplitter.model(of: stream).dropLast(Self.endsInBreak(stream) ? 0 : 1) {
            guard !line.isEmpty else {
                lastID = id
                if let data {
                    let text = data.joined(separator: "\n")
                    events.append(ServerSentEvent(type: type.isEmpty ? "message" : type, data: text, id: lastID))
                }
                (type, data) = ("", nil)
                continue
            }
            let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.count
            var value = line[min(colon + 1, line.count)...]
            if value.first == UInt8(ascii: " ") { value.removeFirst() }
            let text = String(decoding: value, as: UTF8.self)
            switch String(decoding: line[..<colon], as: UTF8.self) {
            case "event": type = text
            case "data": data = (data ?? []) + [text]
            case "id" where Self.isID(value): id = text
            default: break
            }
        }
    }

    private static func endsInBreak(_ bytes: [UInt8]) -> Bool {
        bytes.last == UInt8(ascii: "\n") || bytes.last == UInt8(ascii: "\r")
    }

    private static func isID(_ value: ArraySlice<UInt8>) -> Bool {
        let isBlank = { (byte: UInt8?) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        return value.count <= 4_096 && !isBlank(value.first) && !isBlank(value.last)
            && value.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }
}

extension LineSplitter {
    fileprivate static func lines(of chunks: [[UInt8]]) -> [[UInt8]] {
        var splitter = LineSplitter()
        var lines: [[UInt8]] = []
        for chunk in chunks {
            chunk.withUnsafeBytes { bytes in
                var position = 0
                while let line = splitter.next(in: bytes, from: &position, { Array($0) }) {
                    lines.append(line)
                }
            }
        }
        return lines + [splitter.takeRest()].compactMap { $0 }
    }

    /// The lines, found one byte after the other.
    fileprivate static func model(of bytes: [UInt8]) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        var line: [UInt8] = []
        for (index, byte) in bytes.enumerated() {
            switch byte {
            case .lineFeed where index > 0 && bytes[index - 1] == .carriageReturn: break
            case .lineFeed, .carriageReturn:
                lines.append(line)
                line = []
            default: line.append(byte)
            }
        }
        return line.isEmpty ? lines : lines + [line]
    }
}

/// The documents of a stream, up to the first one that is too long.
private struct JSONStreamOutcome: Equatable {
    var documents: [StreamDocument] = []
    var isRefused = false

    init(of chunks: [[UInt8]], _ format: JSONStreamFormat, limit: Int = 1 << 20) {
        var splitter = JSONSplitter(format: format, limit: limit)
        for chunk in chunks where !isRefused {
            chunk.withUnsafeBytes { bytes in
                var position = 0
                do {
                    while let document = try splitter.next(in: bytes, from: &position) {
                        documents.append(document)
                    }
                } catch {
                    isRefused = true
                }
            }
        }
        if !isRefused, let last = splitter.end() {
            documents.append(last)
        }
    }
}
