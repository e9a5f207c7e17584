import HTTPTypes
import Networking
import NetworkingHAR
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension Cassette.Options {
    /// A request as it is, with its body where that is needed and can be had.
    func captured(_ request: HTTPRequestData, records: Bool) async throws -> Cassette.Interaction.Request {
        var captured = Cassette.Interaction.Request(
            method: request.method,
            // One that names no server is an error of its transport's.
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
        if let length = body.length, length > maximumBodyBytes {
            return (Data(), "not kept: \(length) bytes, more than the limit of \(maximumBodyBytes)")
        }
        if let data = body.data { return (data, nil) }
        guard body.isReplayable else { return (Data(), "not kept: it can be read only once") }
        do {
            return (try await body.collect(upTo: maximumBodyBytes), nil)
        } catch let failure as RequestBody.Failure where failure.kind == .tooLarge {
            return (Data(), "not kept: more bytes than the limit of \(maximumBodyBytes)")
        }
    }

    /// Puts the body of a response where it is kept.
    ///
    /// - Returns: Why it cannot be kept; nil when it can.
    func keep(
        _ body: ResponseBody,
        _ copy: CassetteTee.Copy?,
        in response: inout Cassette.Interaction.Response
    ) -> String? {
        switch (body, copy) {
        case (.delivered, .whole(_, let data)):
            response.body = data
        case (.delivered, .refused):
            response.missingBody = "not kept: the request's sink did not want it"
        case (.delivered, .tooLong(let count)):
            return reasonForLength(count)
        case (.delivered, _):
            return "its body went to somewhere else"
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
    /// Knows of a recording whose body somebody reads as it comes.
    func watch(_ pending: PendingRecording) {
        guard pending.tee?.isReaderPaced == true else { return }
        state.withLock { $0.streams[pending.ticket] = pending }
    }

    /// Ends a recording with a response.
    func keep(_ response: HTTPResponseData, of pending: PendingRecording) {
        var interaction = pending.interaction(with: response.http)
        let problem = options.keep(response.body, pending.tee?.copy, in: &interaction.response)
        keep(interaction, of: pending, pending.redaction.hidingSecrets(of: response.sentRequest), problem)
    }

    /// Ends the recording of a stream with what came until its reader left, or has come so far.
    ///
    /// - Returns: Whether there is anything.
    func keepPart(of pending: PendingRecording) -> Bool {
        let (head, data, isPartial): (HTTPResponse, Data, Bool)
        switch pending.tee?.copy {
        case .partial(let offered, let received): (head, data, isPartial) = (offered, received, true)
        // It had come when the reader left, or its sender has not returned yet.
        case .whole(let offered, let received): (head, data, isPartial) = (offered, received, false)
        default: return false
        }
        var interaction = pending.interaction(with: head)
        interaction.response.body = data
        interaction.response.isPartial = isPartial
        keep(interaction, of: pending, pending.redaction, nil)
        return true
    }

    private func keep(_ captured: Interaction, of pending: PendingRecording, _ redaction: Redaction, _ problem: String?)
    {
        var (interaction, problem) = (captured, problem)
        if problem == nil { options.afterCapture?(&interaction) }
        let hidden = interaction.entry(hiding: redaction)
        if problem == nil, !interaction.isDiscarded, interaction.response.isUnshown(in: hidden) {
            problem =
                "its body may have what is hidden, and cannot be shown without that. Say what may be shown with the option "
                + "redaction, or change the body or its Content-Type in afterCapture"
        }
        let shown = interaction.request.hidden(by: redaction)
        state.withLock { state in
            state.streams[pending.ticket] = nil
            // A stream may end while it is kept as far as it has come.
            guard state.underway.removeValue(forKey: pending.ticket) != nil, !state.isFinished else { return }
            guard problem == nil, !interaction.isDiscarded else {
                if let problem { state.problems.append("\(shown) was not recorded: \(problem).") }
                return
            }
            let recording = Recording(entry: hidden, facts: pending.facts)
            if let index = pending.replaced {
                state.replacements[index] = recording
            } else {
                state.recordings[pending.ticket] = recording
            }
        }
    }

    /// Ends a recording that came to nothing.
    func abandon(_ pending: PendingRecording, _ request: HTTPRequestData) {
        state.withLock { state in
            state.underway[pending.ticket] = nil
            state.streams[pending.ticket] = nil
        }
        if let index = pending.replaced { giveBack(index, of: request) }
    }
}

extension Cassette.Interaction.Response {
    /// Whether redaction has left nothing of a body.
    fileprivate func isUnshown(in entry: HAR.Entry) -> Bool {
        missingBody == nil && !body.isEmpty && entry.response.content.text == nil
    }
}

extension Cassette.Interaction.Request {
    /// The boundary of parts is drawn anew each time: in a recording it is always the same.
    fileprivate mutating func settleBoundary() {
        guard let type = headerFields[.contentType], type.lowercased().hasPrefix("multipart/"),
            let boundary = type.boundary, !boundary.isEmpty
        else { return }
        headerFields[.contentType] = type.replacing(boundary, with: Self.boundary)
        body.replace(Data("--\(boundary)".utf8), with: Data("--\(Self.boundary)".utf8))
    }

    private static let boundary = "cassette-boundary"
}

extension String {
    /// The boundary that a media type names.
    fileprivate var boundary: String? {
        split(separator: ";").dropFirst()
            .compactMap { parameter -> String? in
                let pair = parameter.split(separator: "=", maxSplits: 1)
                guard pair.count == 2, pair[0].filter({ $0 != " " }).lowercased() == "boundary" else { return nil }
                return pair[1].filter { $0 != "\"" && $0 != " " }
            }
            .first
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
