import FoundationForNetworking
import HTTPTypes
import Logging
import NetworkingCore
import Synchronization

/// Writes the lines of `logged` for one passage of a request.
struct LogLines: Sendable {
    private let output: LogOutput
    private let level: Logger.Level
    private let detail: LogDetail
    private let privacy: LogPrivacy
    private let redaction: Redaction
    private let passage: UInt64

    // The counter is global so that the numbers are unique in the process; it carries no other state.
    private static let lastPassage = Atomic<UInt64>(0)

    init(output: LogOutput, level: Logger.Level, detail: LogDetail, privacy: LogPrivacy, redaction: Redaction) {
        self.output = output
        self.level = level
        self.detail = detail
        self.privacy = privacy
        switch output {
        case .logger:
            self.redaction = redaction.masking(privacy.mask)
            passage = 0
        case .destination:
            self.redaction = redaction
            passage = Self.lastPassage.add(1, ordering: .relaxed).newValue
        }
    }

    /// The redaction for text that a destination treats as public.
    var publicRedaction: Redaction {
        switch output {
        case .logger: redaction
        case .destination: redaction.masking(privacy.publicMask)
        }
    }

    func shows(_ level: Logger.Level) -> Bool {
        output.level <= level
    }

    func start(_ request: HTTPRequestData) {
        guard shows(level) else { return }
        let redaction = redaction.redactingSecrets(of: request)
        let target = target(of: request, redaction)
        write(
            .start,
            level,
            [LogRecord.Segment("→ ")] + target,
            of: request,
            headers: headers(request.headerFields.httpFields, redaction),
            body: request.body.flatMap { body in
                guard body.length != 0 else { return nil }
                let type = request.headerFields[.contentType] ?? body.contentType
                return detail.bodyStyle.map { redaction.text(for: body, contentType: type, style: $0) }
            }
        )
    }

    func success(_ request: HTTPRequestData, _ response: HTTPResponseData, elapsed: Duration) {
        guard shows(level) else { return }
        let redaction = redaction.redactingSecrets(of: request)
        let status = status(of: response, redaction)
        let target = target(of: request, redaction)
        let outcome = LogRecord.Segment(", \(response.body.count) bytes in \(elapsed.milliseconds)")
        write(
            .success,
            level,
            [LogRecord.Segment("← \(status) ")] + target + [outcome],
            of: request,
            headers: headers(response.headerFields, redaction),
            body: body(of: response, redaction)
        )
    }

    func failure(_ request: HTTPRequestData, _ error: any Error, elapsed: @autoclosure () -> Duration) {
        let isCancelled = error is CancellationError
        let level = isCancelled ? self.level : .warning
        guard shows(level) else { return }
        let redaction = redaction.redactingSecrets(of: request)
        let target = target(of: request, redaction)
        // An error of the app says nothing about the response that it is about.
        let response = isCancelled ? nil : request.response(of: error)
        let status = error is NetworkingError ? nil : response.map { "\(self.status(of: $0, redaction)), " }
        let kind = (error as? NetworkingError).map { " (\($0.kind.rawValue))" } ?? ""
        let outcome =
            isCancelled
            ? " was cancelled after \(elapsed().milliseconds)"
            : " failed after \(elapsed().milliseconds)\(kind): \(status ?? "")\(redaction.reason(of: error))"
        write(
            .failure,
            level,
            [LogRecord.Segment("✗ ")] + target + [LogRecord.Segment(outcome)],
            of: request,
            headers: response.flatMap { headers($0.headerFields, redaction) },
            body: response.flatMap { body(of: $0, redaction) }
        )
    }

    /// Writes a line about an event, without private values.
    func event(_ text: String, of request: HTTPRequestData) {
        let text = "\(text): \(publicRedaction.line(for: request))"
        write(.event, .debug, [LogRecord.Segment(text)], of: request)
    }

    // MARK: Content

    private func target(of request: HTTPRequestData, _ redaction: Redaction) -> [LogRecord.Segment] {
        let (open, query) = redaction.target(of: request)
        let segment = LogRecord.Segment(open)
        return query.isEmpty ? [segment] : [segment, LogRecord.Segment(query, privacy: privacy.segmentPrivacy)]
    }

    private func status(of response: HTTPResponseData, _ redaction: Redaction) -> String {
        PrintableText.cut(PrintableText.singleLine(redaction.redactingValues(in: response.status.text)), to: 256)
    }

    private func body(of response: HTTPResponseData, _ redaction: Redaction) -> String? {
        guard let style = detail.bodyStyle, let data = response.body.data, !data.isEmpty else { return nil }
        let type = response.headerFields[.contentType]
        return redaction.forBody(ofStatus: response.status.code).text(for: data, contentType: type, style: style)
    }

    private func headers(_ fields: HTTPFields, _ redaction: Redaction) -> [String]? {
        detail.showsHeaders ? redaction.boundedLines(for: fields) : nil
    }

    // MARK: Output

    private func write(
        _ phase: LogRecord.Phase,
        _ level: Logger.Level,
        _ segments: [LogRecord.Segment],
        of request: HTTPRequestData,
        headers: [String]? = nil,
        body: String? = nil
    ) {
        switch output {
        case .logger(let logger):
            var metadata = request.logMetadata
            if let headers { metadata["headers"] = .array(headers.map { .string($0) }) }
            if let body { metadata["body"] = .string(body) }
            logger.log(level: level, "\(segments.map(\.text).joined())", metadata: metadata)
        case .destination(let destination):
            let number = request.number.map { " #\($0)" } ?? ""
            var segments = segments + [LogRecord.Segment(" [\(request.id)\(number)]")]
            let values = (headers ?? []) + (body.map { [$0] } ?? [])
            if !values.isEmpty {
                segments.append(LogRecord.Segment(values.map { "\n\($0)" }.joined(), privacy: privacy.segmentPrivacy))
            }
            destination.write(
                LogRecord(
                    level: level,
                    phase: phase,
                    requestID: request.id,
                    requestNumber: request.number,
                    passage: passage,
                    segments: segments
                )
            )
        }
    }
}

extension HTTPRequestData {
    /// The metadata that distinguishes the request's lines from those of other requests.
    var logMetadata: Logger.Metadata {
        var metadata: Logger.Metadata = ["request-id": .stringConvertible(id)]
        if let number {
            metadata["request-number"] = .stringConvertible(number)
        }
        if let route {
            metadata["route"] = .string(PrintableText.cut(PrintableText.singleLine(route), to: 256))
        }
        if let traceID = trace?.id {
            metadata["trace-id"] = .stringConvertible(traceID)
        }
        return metadata
    }
}
