import HTTPTypes
import Logging

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The lines that `logged` writes.
struct LogLines {
    let logger: Logger
    let level: Logger.Level
    let detail: LogDetail
    let redaction: Redaction

    func start(_ request: HTTPRequestData) {
        logger.log(
            level: level,
            "→ \(redaction.line(for: request))",
            metadata: metadata(request, fields: request.headerFields.httpFields, body: request.body?.data)
        )
    }

    func success(_ request: HTTPRequestData, _ response: HTTPResponseData, elapsed: Duration) {
        logger.log(
            level: level,
            """
            ← \(Redaction.singleLine(response.status.text)) \(redaction.line(for: request)), \
            \(response.body.count) bytes in \(elapsed.milliseconds)
            """,
            metadata: metadata(request, fields: response.headerFields, body: response.body.data)
        )
    }

    func failure(_ request: HTTPRequestData, _ error: any Error, elapsed: Duration) {
        guard !(error is CancellationError) else {
            logger.log(
                level: level,
                "✗ \(redaction.line(for: request)) was cancelled after \(elapsed.milliseconds)",
                metadata: request.logMetadata
            )
            return
        }
        // Other people's errors may print anything, so only this library's speak for themselves.
        let reason = (error as? NetworkingError)?.reason ?? "\(type(of: error))"
        logger.warning(
            "✗ \(redaction.line(for: request)) failed after \(elapsed.milliseconds): \(Redaction.singleLine(reason))",
            metadata: request.logMetadata
        )
    }

    private func metadata(_ request: HTTPRequestData, fields: HTTPFields, body: Data?) -> Logger.Metadata {
        var metadata = request.logMetadata
        if detail.showsHeaders {
            metadata["headers"] = .array(redaction.hidingSecrets(of: request).lines(for: fields).map { .string($0) })
        }
        if let limit = detail.bodyLimit, let body {
            metadata["body"] = .string(redaction.text(for: body, contentType: fields[.contentType], limit: limit))
        }
        return metadata
    }
}

extension HTTPRequestData {
    /// What tells its lines from those of other requests.
    var logMetadata: Logger.Metadata {
        var metadata: Logger.Metadata = ["request-id": .stringConvertible(id)]
        if let number {
            metadata["request-number"] = .stringConvertible(number)
        }
        if let traceID = box?.value.traceID {
            metadata["trace-id"] = .stringConvertible(traceID)
        }
        return metadata
    }
}

extension Duration {
    /// In milliseconds, with one decimal.
    var milliseconds: String {
        let (seconds, attoseconds) = components
        // Beyond that, nobody reads milliseconds, and they may not fit.
        guard seconds.magnitude < 1_000_000_000 else { return "\(seconds) s" }
        let tenths = seconds * 10_000 + attoseconds / 100_000_000_000_000
        return "\(tenths / 10).\(tenths % 10) ms"
    }
}
