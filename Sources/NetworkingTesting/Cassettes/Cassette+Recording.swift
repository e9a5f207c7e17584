import FoundationForNetworking
import HTTPTypes
import NetworkingCore
import NetworkingInspector
import Synchronization

extension Cassette.Options {
    /// Captures a request, with its body if it is needed and available.
    func captured(_ request: HTTPRequestData, records: Bool) async throws -> Cassette.Interaction.Request {
        var captured = Cassette.Interaction.Request(
            method: request.method,
            // A URL without a server is an error that the transport reports.
            url: request.absoluteString ?? "https:\(request.closedTarget)",
            headerFields: request.headerFields.httpFields
        )
        guard let body = request.body, records || normalize != nil || matching.contains(where: \.readsBody) else {
            return captured
        }
        do {
            (captured.body, captured.missingBody) = try await bytes(of: body)
        } catch let failure as RequestBody.Failure {
            throw failure.error(of: request)
        }
        captured.settleBoundary()
        return captured
    }

    private func bytes(of body: RequestBody) async throws -> (Data, String?) {
        // The reason for a missing body is compared, too, so it does not contain the limit, which may change.
        if let length = body.length, length > maximumBodyBytes {
            return (Data(), "not kept: \(length) bytes, more than maximumBodyBytes")
        }
        if let data = body.data { return (data, nil) }
        guard body.isReplayable else { return (Data(), "not kept: it can be read only once") }
        do {
            return (try await body.collect(upTo: maximumBodyBytes), nil)
        } catch let failure as RequestBody.Failure where failure.kind == .tooLarge {
            return (Data(), "not kept: more bytes than maximumBodyBytes")
        }
    }

    /// Stores the body of a response in the recording.
    ///
    /// - Returns: The reason why the body cannot be stored; nil if it can.
    func keep(
        _ body: ResponseBody,
        _ copy: CassetteTee.Copy?,
        in response: inout Cassette.Interaction.Response
    ) -> String? {
        switch (body, copy) {
        case (.delivered, .whole(_, let data)):
            response.body = data
        case (.delivered, .refused):
            response.missingBody = "not kept: the request's sink refused it"
        case (.delivered, .tooLong(let count)):
            return reasonForLength(count)
        case (.delivered, _):
            return "its body was delivered elsewhere"
        case (.collected(let data), _):
            guard data.count <= maximumBodyBytes else { return reasonForLength(data.count) }
            response.body = data
        }
        return nil
    }

    private func reasonForLength(_ count: Int) -> String {
        "its body of \(count) bytes is longer than maximumBodyBytes, \(maximumBodyBytes), allows"
    }
}

extension Cassette {
    /// Registers a recording with a body that a reader consumes as it arrives.
    func watch(_ pending: PendingRecording) {
        guard pending.tee?.isReaderPaced == true else { return }
        state.withLock { $0.streams[pending.ticket] = pending }
    }

    /// Ends a recording with a response.
    func keep(_ response: HTTPResponseData, of pending: PendingRecording) {
        var interaction = pending.interaction(with: response.http)
        let problem = options.keep(response.body, pending.tee?.copy, in: &interaction.response)
        keep(interaction, of: pending, pending.redaction.redactingSecrets(of: response.sentRequest), problem)
    }

    /// Ends the recording of a stream with the part of the body that has arrived, or that arrived before its reader
    /// stopped.
    ///
    /// - Returns: `false` if nothing has arrived, so that there is nothing to record.
    func keepPart(of pending: PendingRecording) -> Bool {
        let (head, data, isPartial): (HTTPResponse, Data, Bool)
        switch pending.tee?.copy {
        case .partial(let offered, let received): (head, data, isPartial) = (offered, received, true)
        // The body had arrived when the reader stopped, or the sender has not returned yet.
        case .whole(let offered, let received): (head, data, isPartial) = (offered, received, false)
        default: return false
        }
        var interaction = pending.interaction(with: head)
        interaction.response.body = data
        interaction.response.isPartial = isPartial
        var problem: String?
        if isPartial {
            if let whole = Redaction.completePart(of: data, contentType: head.headerFields[.contentType]) {
                interaction.response.body = whole
            } else {
                problem = "its reader stopped in the middle of a JSON document, in which secrets cannot be found"
            }
        }
        guard !interaction.response.body.isEmpty else { return false }
        keep(interaction, of: pending, pending.redaction, problem)
        return true
    }

    /// Ends a recording once.
    ///
    /// A concurrent second call waits, so that the hook runs only once and `finish()` includes the recording.
    private func keep(_ captured: Interaction, of pending: PendingRecording, _ redaction: Redaction, _ problem: String?)
    {
        pending.once.run {
            guard state.withLock({ $0.isUnderway(pending) }) else { return }
            let (recording, problem) = recording(of: captured, pending, redaction, problem)
            state.withLock { state in
                // The cassette has been finished and has reported the recording as missing.
                guard state.isUnderway(pending) else { return }
                state.end(pending)
                if let problem {
                    state.problems.append(
                        "\(captured.request.redacted(by: redaction)) was not recorded: \(problem)."
                    )
                }
                guard let recording else { return }
                if let index = pending.replaced {
                    state.replacements[index] = recording
                } else {
                    state.recordings[pending.ticket] = recording
                }
            }
        }
    }

    /// Returns the recording of an interaction, or the reason why it cannot be recorded; neither if a hook discards it.
    private func recording(
        of captured: Interaction,
        _ pending: PendingRecording,
        _ redaction: Redaction,
        _ problem: String?
    ) -> (Recording?, problem: String?) {
        if let problem { return (nil, problem) }
        var interaction = captured
        options.afterCapture?(&interaction)
        if interaction.isDiscarded { return (nil, nil) }
        let redacted = interaction.entry(redacting: redaction)
        if interaction.response.isUnshown(in: redacted) {
            return (
                nil,
                "its body may contain secrets that cannot be removed. Say what may be shown with the option redaction, "
                    + "or change the body or its Content-Type in afterCapture"
            )
        }
        if pending.facts.request.hasRedactedBody, let matcher = options.matching.first(where: \.needsBody) {
            return (
                nil,
                "the body of its request may contain secrets and is not kept, so the matcher \(matcher) could not "
                    + "distinguish it from others. Say what may be shown with the option redaction, or match without "
                    + "the body"
            )
        }
        return (Recording(entry: redacted, facts: pending.facts), nil)
    }

    /// Ends a recording without a result.
    func abandon(_ pending: PendingRecording, _ request: HTTPRequestData) {
        state.withLock { $0.end(pending) }
        if let index = pending.replaced { giveBack(index, of: request) }
    }
}

extension Cassette.Interaction.Response {
    /// Whether redaction has removed the complete body.
    fileprivate func isUnshown(in entry: HAR.Entry) -> Bool {
        missingBody == nil && !body.isEmpty && !entry.hasResponseBody
    }
}

extension Cassette.Interaction.Request {
    /// Replaces the random multipart boundary, which differs for each request, with a constant one.
    fileprivate mutating func settleBoundary() {
        guard var type = headerFields[.contentType], type.lowercased().hasPrefix("multipart/"),
            let place = type.rangeOfBoundary
        else { return }
        let boundary = type[place]
        body.replace(Data("--\(boundary)".utf8), with: Data("--\(Self.boundary)".utf8))
        type.replaceSubrange(place, with: Self.boundary)
        headerFields[.contentType] = type
    }

    private static let boundary = "cassette-boundary"
}

extension String {
    /// The range of the boundary in a media type, without quotes.
    fileprivate var rangeOfBoundary: Range<String.Index>? {
        for parameter in split(separator: ";").dropFirst() {
            let pair = parameter.split(separator: "=", maxSplits: 1)
            guard pair.count == 2, pair[0].filter({ $0 != " " }).lowercased() == "boundary" else { continue }
            let isAround = { (character: Character) in character == "\"" || character == " " }
            let value = pair[1].drop(while: isAround)
            guard let last = value.lastIndex(where: { !isAround($0) }) else { return nil }
            return value.startIndex..<value.index(after: last)
        }
        return nil
    }
}

extension Data {
    fileprivate mutating func replace(_ bytes: Data, with others: Data) {
        guard firstRange(of: bytes) != nil else { return }
        var result = Data()
        var rest = self[...]
        while let range = rest.firstRange(of: bytes) {
            result += rest[..<range.lowerBound]
            result += others
            rest = rest[range.upperBound...]
        }
        self = result + rest
    }
}
