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
        case (.delivered, .whole(let data)):
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
    /// Ends a recording with what is to be kept of it.
    func keep(
        _ interaction: Interaction,
        _ facts: CassetteFacts,
        _ ticket: Int,
        replacing index: Int?,
        _ redaction: Redaction,
        _ problem: String?
    ) {
        var interaction = interaction
        var problem = problem
        if problem == nil { options.afterCapture?(&interaction) }
        var entry: HAR.Entry?
        if problem == nil, !interaction.isDiscarded {
            let hidden = interaction.entry(hiding: redaction)
            if interaction.response.missingBody == nil, !interaction.response.body.isEmpty,
                hidden.response.content.text == nil
            {
                problem =
                    "its body may have what is hidden, and cannot be shown without that: say what may be shown with the option "
                    + "redaction, or change the body in afterCapture"
            } else {
                entry = hidden
            }
        }
        let shown = interaction.request.hidden(by: redaction)
        state.withLock { state in
            state.underway[ticket] = nil
            guard !state.isFinished else { return }
            if let problem { state.problems.append("\(shown) was not recorded: \(problem).") }
            guard let entry else { return }
            let recording = Recording(entry: entry, facts: facts)
            if let index {
                state.replacements[index] = recording
            } else {
                state.recordings[ticket] = recording
            }
        }
    }

    /// Ends a recording that came to nothing.
    func abandon(_ ticket: Int, _ request: HTTPRequestData, replacing index: Int?) {
        state.withLock { $0.underway[ticket] = nil }
        if let index { giveBack(index, of: request) }
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
