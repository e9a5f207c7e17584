import HTTPTypes
import NetworkingCore
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The sink that writes a body into the part that is kept, behind what is there if it is of the same file.
final class DownloadSink: ResponseSink {
    private let request: HTTPRequestData
    private let part: PartialFile
    private let resource: String
    private let changedFile: DownloadOptions.ChangedFile
    /// Whether the request may be answered with the rest alone.
    private let mayResume: Bool
    private let report: @Sendable (BytesReceived) -> Void
    private let state: Mutex<State>

    private struct State {
        /// What is known of the bytes that are there; nil when nothing has come and nothing was kept.
        var record: DownloadRecord?
        /// How many bytes are there, from the first.
        var count: Int64
        /// From where the exchange under way was asked to send; nil for the whole.
        var asked: Int64?
        /// Where the next bytes of the body go.
        var position: Int64 = 0
        /// Where the body begins, and where it ends if that is known.
        var start: Int64 = 0
        var end: Int64?
        var isComplete = false
        /// Whether a body has been taken from its first byte on: then nothing is there but what came since.
        var hasBegun = false
        /// Whether the server has shown that what is kept is not of what it has.
        var hasChanged = false
        var isAskedForAnew = false
        var isClosed = false
        /// How much of what was kept when the download began has been used.
        var resumedCount: Int64 = 0

        var isResumable: Bool {
            count > 0 && record?.validator != nil && record?.length != nil
        }
    }

    /// Creates a sink.
    ///
    /// - Parameters:
    ///   - part: Where the body goes.
    ///   - request: The request as it is sent, for errors and for what it says of parts.
    ///   - resource: What is downloaded, by a digest.
    ///   - changedFile: What is done when what is kept is of another file than the server has.
    ///   - report: Hears how many bytes are there.
    init(
        into part: PartialFile,
        for request: HTTPRequestData,
        _ resource: String,
        _ changedFile: DownloadOptions.ChangedFile,
        report: @escaping @Sendable (BytesReceived) -> Void
    ) {
        self.part = part
        self.request = request
        self.resource = resource
        self.changedFile = changedFile
        self.report = report
        // Who asks for a part wants that one.
        mayResume =
            request.method == .get && request.body == nil && !request.headerFields.contains(.range)
            && !request.headerFields.contains(.ifRange)
        state = Mutex(State(record: part.record, count: part.count, resumedCount: part.count))
    }

    /// How many bytes are there, and how many there will be.
    var received: BytesReceived {
        state.withLock { BytesReceived(count: $0.count, expected: $0.record?.length) }
    }

    /// How many of the bytes were there before.
    var resumedCount: Int64 {
        state.withLock { $0.resumedCount }
    }

    /// Whether what is there stays when the download ends early: what can be gone on with, and what it has not touched.
    var isKept: Bool {
        state.withLock { $0.hasBegun ? mayResume && $0.isResumable : part.wasThere }
    }

    /// Whether a response says that what was asked for is not there, though it was kept; then it is not gone on with.
    func refusesRest(_ response: HTTPResponseData) throws -> Bool {
        // Once: what is asked for as a whole, and breaks, may be refused again.
        let isRefused = state.withLock { state in
            guard response.status == .rangeNotSatisfiable, state.asked != nil, !state.isAskedForAnew else {
                return false
            }
            state.isAskedForAnew = true
            return true
        }
        guard isRefused else { return false }
        try giveUpWhatIsKept(after: response.http)
        return true
    }

    /// Whether the download has to go on with another exchange: nil once it is complete.
    func progressed(from count: Int64) -> Bool? {
        state.withLock { state in
            if state.isComplete { return nil }
            // It is asked for as a whole once; an answer that begins nothing brings it no further.
            guard state.hasChanged else { return state.count > count }
            defer { state.isAskedForAnew = true }
            return !state.isAskedForAnew
        }
    }

    /// Takes nothing more.
    func close() {
        state.withLock { $0.isClosed = true }
    }

    // MARK: ResponseSink

    var canRestart: Bool {
        true
    }

    func prepare(_ request: inout HTTPRequestData) {
        guard mayResume else { return }
        let (start, validator, received) = state.withLock { state in
            state.asked = nil
            if !state.hasChanged, state.isResumable, let length = state.record?.length {
                // At least one byte, so that a file which is there already is confirmed by a response like any other.
                state.asked = min(state.count, length - 1)
            }
            return (
                state.asked, state.record?.validator,
                BytesReceived(count: state.asked == nil ? 0 : state.count, expected: state.record?.length)
            )
        }
        request.headerFields[.range] = start.map { "bytes=\($0)-" }
        request.headerFields[.ifRange] = start == nil ? nil : validator?.field
        report(received)
    }

    func offer(_ head: HTTPResponse) async throws -> SinkAnswer {
        guard request.acceptedStatuses.contains(head.status) else { return .collect(upTo: 1 << 20) }
        guard head.status == .partialContent, mayResume else {
            try await begin(with: head)
            return .take
        }
        return try await goOn(with: head) ? .take : .refuse
    }

    func receive(_ chunk: Data) async throws {
        try Task.checkCancellation()
        let (position, start, end, isClosed) = state.withLock { ($0.position, $0.start, $0.end, $0.isClosed) }
        guard !isClosed else { throw CancellationError() }
        if let end, Int64(chunk.count) > end - position {
            // Who miscounts may have sent anything: what was there before is all that is trusted.
            let known = state.withLock { $0.record }
            let record = try await storing { () throws(FileFault) in try await part.giveUp(behind: start, known) }
            state.withLock { state in
                state.record = record
                state.count = min(state.count, start)
            }
            let rest = start > 0 ? " The \(start) bytes before that are still there." : ""
            throw failure(.invalidResponse, "The server sent more than it had announced.\(rest)")
        }
        try await storing { () throws(FileFault) in try part.write(chunk, at: position) }
        let (received, record) = state.withLock { state in
            state.position += Int64(chunk.count)
            state.count = max(state.count, state.position)
            return (BytesReceived(count: state.position, expected: state.record?.length), state.record)
        }
        if let record {
            let synchronized = try await storing { () throws(FileFault) in
                try await part.synchronize(record, at: received.count)
            }
            if let synchronized {
                state.withLock { $0.record = synchronized }
            }
        }
        report(received)
    }

    func finish() async throws {
        let received = state.withLock { state in
            if state.record?.length == nil {
                state.record?.length = state.position
            }
            state.isComplete = state.position == state.record?.length
            return BytesReceived(count: state.position, expected: state.record?.length)
        }
        report(received)
    }
}

// MARK: - The rules

extension DownloadSink {
    /// Takes a body from its first byte on.
    private func begin(with head: HTTPResponse) async throws {
        let (old, count, asked) = state.withLock { ($0.hasChanged ? nil : $0.record, $0.count, $0.asked) }
        guard asked == nil || head.hasBody(inAnswerTo: request.method) else {
            throw failure(
                .invalidResponse,
                "The server was asked for the rest of a file, and answered \(head.status.text). \(Self.wayOut)",
                head
            )
        }
        var record = DownloadRecord(
            resource: resource,
            validator: mayResume ? DownloadRecord.Validator(head) : nil,
            length: head.bodyLength
        )
        // A server that cannot send parts sends the same bytes again, and those that are there stay until they are
        // written over.
        let isSame = old?.validator != nil && old?.validator == record.validator && old?.length == record.length
        if isSame, let old {
            record = old
        } else if count > 0, old?.validator != nil {
            try checkChange(head)
        }
        // What was kept makes room.
        try checkSpace(for: (record.length ?? 0) - count)
        let begun = record
        if isSame {
            record = try await storing { () throws(FileFault) in try await part.goOn(with: begun, after: count) }
        } else {
            try await storing { () throws(FileFault) in try await part.begin(begun) }
        }
        state.withLock { [record] state in
            state.record = record
            state.hasBegun = true
            state.hasChanged = false
            state.resumedCount = 0
            state.count = isSame ? count : 0
            (state.start, state.position, state.end) = (0, 0, record.length)
        }
        report(BytesReceived(count: 0, expected: record.length))
    }

    /// Takes the rest of what is there, and answers whether it is that.
    private func goOn(with head: HTTPResponse) async throws -> Bool {
        let (known, count, asked) = state.withLock { ($0.record, $0.count, $0.asked) }
        guard let content = head.contentRange, asked != nil, let record = known, let length = record.length else {
            throw failure(
                .invalidResponse,
                asked == nil
                    ? "The server sent a part (206) of what was asked for as a whole."
                    : "The server sent a part (206) and does not say which, or several. \(Self.wayOut)"
            )
        }
        if record.validator?.matches(head) == false || content.length.map({ $0 != length }) ?? false {
            try giveUpWhatIsKept(after: head)
            return false
        }
        guard content.range.lowerBound <= count, content.range.upperBound <= length,
            head.bodyLength.map({ $0 == content.range.upperBound - content.range.lowerBound }) ?? true
        else {
            throw failure(
                .invalidResponse,
                "The server was asked for what follows byte \(count) of \(length), and sent "
                    + "\(PrintableText.singleLine(head.headerFields[.contentRange] ?? "")) in a body of "
                    + "\(head.bodyLength.map { "\($0)" } ?? "unknown") bytes. \(Self.wayOut)"
            )
        }
        try checkSpace(for: length - count)
        // What is behind was not received, or is not known to be what was.
        let resumed = try await storing { () throws(FileFault) in try await part.goOn(with: record, after: count) }
        state.withLock { state in
            state.record = resumed
            state.resumedCount = min(state.resumedCount, content.range.lowerBound)
            (state.start, state.end) = (content.range.lowerBound, content.range.upperBound)
            state.position = state.start
        }
        return true
    }

    private static let wayOut = "What was kept is still there. Download with keptPart .discard to start anew."

    /// Notes that what is kept is of another file, or fails where that is what was wished.
    private func giveUpWhatIsKept(after head: HTTPResponse) throws {
        try checkChange(head)
        state.withLock { $0.hasChanged = true }
    }

    /// Fails where a file that has changed is not to be downloaded anew.
    private func checkChange(_ head: HTTPResponse) throws {
        guard changedFile == .fail else { return }
        throw failure(
            .representationChanged,
            "The server has another file now than the one of which \(received.count) bytes are kept. They are still there; "
                + "download with changedFile .startAnew, or discard them.",
            head
        )
    }

    /// Fails before anything is written where the rest would not fit.
    private func checkSpace(for missing: Int64) throws {
        guard missing > 0, let free = part.freeBytes, free < missing else { return }
        throw failure(
            .storage,
            "\(missing) bytes are to come, and there is space left for \(free) where \(PrintableText.singleLine(part.path)) is. Free some, or "
                + "use another volume. What was kept is still there."
        )
    }

    private func storing<Value>(_ work: () async throws(FileFault) -> Value) async throws -> Value {
        do {
            return try await work()
        } catch {
            throw failure(.storage, error.reason)
        }
    }

    private func failure(_ kind: NetworkingError.Kind, _ reason: String, _ head: HTTPResponse? = nil) -> NetworkingError
    {
        NetworkingError(kind, request: request, response: head.map { request.response(with: $0) }, reason: reason)
    }
}

extension HTTPResponse {
    /// How many bytes its body has, if it says so and they are sent as they are.
    fileprivate var bodyLength: Int64? {
        guard hasBody(inAnswerTo: .get) else { return 0 }
        guard !headerFields.contains(.contentEncoding),
            let length = headerFields[.contentLength].flatMap({ Int64($0) }),
            length >= 0
        else { return nil }
        return length
    }
}
