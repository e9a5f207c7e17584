import FoundationForNetworking
import HTTPTypes
import NetworkingCore
import Synchronization

/// A sink that writes the body to the partial file, after the kept bytes if they belong to the same file.
final class DownloadSink: ResponseSink {
    private let request: HTTPRequestData
    private let part: PartialFile
    private let resource: String
    private let changedFile: DownloadOptions.ChangedFile
    /// Whether a response with only the rest of the file is acceptable.
    private let mayResume: Bool
    private let report: @Sendable (BytesReceived) -> Void
    private let state: Mutex<State>

    private struct State {
        /// The metadata of the bytes in the file; `nil` if nothing has arrived and nothing was kept.
        var record: DownloadRecord?
        /// The number of valid bytes, counted from the start of the file.
        var count: Int64
        /// The first byte that the current exchange requested; `nil` if it requested the whole file.
        var asked: Int64?
        /// The position of the next bytes of the body.
        var position: Int64 = 0
        /// The position where the body starts, and where it ends if that is known.
        var start: Int64 = 0
        var end: Int64?
        var isComplete = false
        /// Whether a body was received from its first byte, so that the file holds only bytes received since then.
        var hasBegun = false
        /// Whether the server has shown that the kept bytes belong to a different file.
        var hasChanged = false
        var isRequestedAgain = false
        var isClosed = false
        /// The number of bytes that were kept before this download and have been used.
        var resumedCount: Int64 = 0

        var isResumable: Bool {
            count > 0 && record?.validator != nil && record?.length != nil
        }
    }

    /// Creates a sink.
    ///
    /// - Parameters:
    ///   - part: The partial file that the body is written to.
    ///   - request: The request as it is sent, for errors and for its range fields.
    ///   - resource: A digest that identifies the downloaded resource.
    ///   - changedFile: What happens if the kept bytes belong to a different file than the server has.
    ///   - report: Called with the number of bytes in the file.
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
        // A caller that requests a range itself wants that range and nothing else.
        mayResume =
            request.method == .get && request.body == nil && !request.headerFields.contains(.range)
            && !request.headerFields.contains(.ifRange)
        state = Mutex(State(record: part.record, count: part.count, resumedCount: part.count))
    }

    /// The number of bytes received, and the expected total.
    var received: BytesReceived {
        state.withLock { BytesReceived(count: $0.count, expected: $0.record?.length) }
    }

    /// The number of bytes that were kept from an earlier download.
    var resumedCount: Int64 {
        state.withLock { $0.resumedCount }
    }

    /// Whether the partial file is kept if the download ends early.
    ///
    /// It is kept if it can be resumed, or if this download has not changed it.
    var isKept: Bool {
        state.withLock { $0.hasBegun ? mayResume && $0.isResumable : part.wasThere }
    }

    /// Returns whether the server refuses the requested range, in which case the kept bytes are no longer used.
    func refusesRest(_ response: HTTPResponseData) throws -> Bool {
        // Only once: a request for the whole file that breaks off could be refused again.
        let isRefused = state.withLock { state in
            guard response.status == .rangeNotSatisfiable, state.asked != nil, !state.isRequestedAgain else {
                return false
            }
            state.isRequestedAgain = true
            return true
        }
        guard isRefused else { return false }
        try recordChange(after: response.http)
        return true
    }

    /// Returns whether another exchange is useful; `nil` if the download is complete.
    func progressed(from count: Int64) -> Bool? {
        state.withLock { state in
            if state.isComplete { return nil }
            // The whole file is requested only once. If that response starts no body, another request would not help.
            guard state.hasChanged else { return state.count > count }
            defer { state.isRequestedAgain = true }
            return !state.isRequestedAgain
        }
    }

    /// Stops accepting chunks.
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
                // Requests at least one byte, so that an ordinary response also confirms a file that is already
                // complete.
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

    func offer(_ head: HTTPResponse) async throws -> SinkDecision {
        guard request.acceptedStatuses.contains(head.status) else { return .collect(upTo: 1 << 20) }
        guard head.status == .partialContent, mayResume else {
            try await begin(with: head)
            return .take
        }
        return try await resume(with: head) ? .take : .refuse
    }

    func receive(_ chunk: Data) async throws {
        try Task.checkCancellation()
        let (position, start, end, isClosed) = state.withLock { ($0.position, $0.start, $0.end, $0.isClosed) }
        guard !isClosed else { throw CancellationError() }
        if let end, Int64(chunk.count) > end - position {
            // A server that miscounts may have sent anything, so only the bytes from before this body are trusted.
            let known = state.withLock { $0.record }
            let record = try await storing { try await part.truncate(to: start, known) }
            state.withLock { state in
                state.record = record
                state.count = min(state.count, start)
            }
            let rest = start > 0 ? " The first \(start) bytes are kept." : ""
            throw failure(.invalidResponse, "The server sent more bytes than it announced.\(rest)")
        }
        try await storing { try await part.write(chunk, at: position) }
        let (received, record) = state.withLock { state in
            state.position += Int64(chunk.count)
            state.count = max(state.count, state.position)
            return (BytesReceived(count: state.position, expected: state.record?.length), state.record)
        }
        if let record {
            let synchronized = try await storing {
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
    /// Starts to receive a body from its first byte.
    private func begin(with head: HTTPResponse) async throws {
        let (old, count, asked) = state.withLock { ($0.hasChanged ? nil : $0.record, $0.count, $0.asked) }
        guard asked == nil || head.hasBody(inResponseTo: request.method) else {
            throw failure(
                .invalidResponse,
                "The server responded to the request for the rest of the file with \(head.status.text). \(Self.wayOut)",
                head
            )
        }
        // HTTP gives the field no meaning here. Saving the body would make a part pass for the whole file.
        guard !mayResume || !head.isUnannouncedPart else {
            let range = PrintableText.singleLine(head.headerFields[.contentRange] ?? "")
            throw failure(
                .invalidResponse,
                "The server responded with \(head.status.text), but only with the part \(range) of the file."
                    + (count > 0 ? " \(Self.wayOut)" : ""),
                head
            )
        }
        var record = DownloadRecord(
            resource: resource,
            validator: mayResume ? DownloadRecord.Validator(head) : nil,
            length: head.bodyLength
        )
        // A server that cannot send parts sends the same bytes again. The kept bytes stay until they are overwritten.
        let isSame = old?.validator != nil && old?.validator == record.validator && old?.length == record.length
        if isSame, let old {
            record = old
        } else if count > 0, old?.validator != nil {
            try checkChange(head)
        }
        // The space of the kept bytes is reused.
        try await checkSpace(for: (record.length ?? 0) - count)
        let begun = record
        if isSame {
            record = try await storing { try await part.resume(with: begun, after: count) }
        } else {
            try await storing { try await part.begin(begun) }
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

    /// Starts to receive the rest of the file, and returns whether the response belongs to the kept bytes.
    private func resume(with head: HTTPResponse) async throws -> Bool {
        let (known, count, asked) = state.withLock { ($0.record, $0.count, $0.asked) }
        guard let content = head.contentRange, asked != nil, let record = known, let length = record.length else {
            throw failure(
                .invalidResponse,
                asked == nil
                    ? "The server sent a part of the file (206), although the whole file was requested."
                    : "The server sent several parts of the file (206), or did not state correctly which part it sent. "
                        + "\(Self.wayOut)"
            )
        }
        if record.validator?.matches(head) == false || content.length.map({ $0 != length }) ?? false {
            try recordChange(after: head)
            return false
        }
        guard content.range.lowerBound <= count, content.range.upperBound <= length,
            head.bodyLength.map({ $0 == content.range.upperBound - content.range.lowerBound }) ?? true
        else {
            throw failure(
                .invalidResponse,
                "The rest of the file after byte \(count) of \(length) was requested, but the server sent "
                    + "\(PrintableText.singleLine(head.headerFields[.contentRange] ?? "")) in a body of "
                    + "\(head.bodyLength.map { "\($0)" } ?? "unknown") bytes. \(Self.wayOut)"
            )
        }
        try await checkSpace(for: length - count)
        // Bytes after the count were not received, or are not known to be valid.
        let resumed = try await storing { try await part.resume(with: record, after: count) }
        state.withLock { state in
            state.record = resumed
            state.resumedCount = min(state.resumedCount, content.range.lowerBound)
            (state.start, state.end) = (content.range.lowerBound, content.range.upperBound)
            state.position = state.start
        }
        return true
    }

    private static let wayOut = "The partial file is kept. Download with partialFile .discard to start over."

    /// Records that the kept bytes belong to a different file, or throws if the options say to fail.
    private func recordChange(after head: HTTPResponse) throws {
        try checkChange(head)
        state.withLock { $0.hasChanged = true }
    }

    /// Throws if the file has changed and the options say to fail.
    private func checkChange(_ head: HTTPResponse) throws {
        guard changedFile == .fail else { return }
        throw failure(
            .representationChanged,
            "The file has changed on the server since its first \(received.count) bytes were downloaded. They are "
                + "kept; download with changedFile .restart, or discard them.",
            head
        )
    }

    /// Throws before anything is written if there is not enough space for the rest.
    private func checkSpace(for missing: Int64) async throws {
        guard missing > 0, let free = await part.freeBytes(), free < missing else { return }
        throw failure(
            .storage,
            "The download needs \(missing) more bytes, but only \(free) are free on the volume of "
                + "\(PrintableText.singleLine(part.path)). Free some space, or use another volume. The partial file is "
                + "kept."
        )
    }

    private func storing<Value>(_ work: () async throws -> Value) async throws -> Value {
        do {
            return try await work()
        } catch let fault as FileFault {
            throw failure(.storage, fault.reason)
        }
    }

    private func failure(_ kind: NetworkingError.Kind, _ reason: String, _ head: HTTPResponse? = nil) -> NetworkingError
    {
        NetworkingError(kind, request: request, response: head.map { request.response(with: $0) }, reason: reason)
    }
}

extension HTTPResponse {
    /// The length of the body, in bytes, if the response states it and the body is not encoded.
    fileprivate var bodyLength: Int64? {
        guard hasBody(inResponseTo: .get) else { return 0 }
        guard !headerFields.contains(.contentEncoding),
            let length = headerFields[singleton: .contentLength].flatMap({ Int64($0) }),
            length >= 0
        else { return nil }
        return length
    }
}
