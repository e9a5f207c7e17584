import HTTPTypes
import Networking

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What is kept of a call's messages, and how they are shown.
struct CaptureRules: Sendable {
    /// With what the request itself knows to be secrets.
    let redaction: Redaction
    /// The longest body that is kept.
    let bodyLimit: Int

    /// The same with what a request knows to be secrets, which may have learnt of more on its way.
    func hidingSecrets(of request: HTTPRequestData) -> CaptureRules {
        CaptureRules(redaction: redaction.hidingSecrets(of: request), bodyLimit: bodyLimit)
    }

    func reasonToLeave(_ count: Int64) -> String {
        "not kept: \(count) bytes, more than the limit of \(bodyLimit)"
    }
}

/// A request without its options.
struct CapturedRequest: Sendable {
    let request: HTTPRequestData
    /// How much memory its body takes.
    let bodyBytes: Int
    /// Why its body is not in it, and how long that is.
    let left: (reason: String, length: Int64?)?

    init(_ request: HTTPRequestData, _ rules: CaptureRules) {
        var kept = request.named
        kept.headerFields = request.headerFields
        let count = request.body.flatMap(Self.memory)
        switch count {
        case let count? where count > rules.bodyLimit:
            left = (rules.reasonToLeave(Int64(count)), request.body?.length)
        case nil:
            // A file or a stream: what makes the bytes is not held on to, and neither are they.
            left = request.body.map { body in
                let text = rules.redaction.hidingValues(in: body.description)
                return ("not kept: \(Redaction.singleLine(text))", body.length)
            }
        default:
            kept.body = request.body
            left = nil
        }
        bodyBytes = left == nil ? count ?? 0 : 0
        self.request = kept
    }

    /// How many bytes of a body are in memory; nil for one that is elsewhere.
    private static func memory(_ body: RequestBody) -> Int? {
        if let data = body.data { return data.count }
        return body.parts.map { parts in
            parts.reduce(0) { $0 + 256 + ($1.body.data?.count ?? 0) }
        }
    }
}

/// A response without what its request was.
struct CapturedResponse: Sendable {
    let head: HTTPResponse
    let body: Body

    enum Body: Sendable, Equatable {
        case kept(Data)
        /// Why it is not, and how long it is.
        case left(reason: String, count: Int64)

        var keptBytes: Int {
            switch self {
            case .kept(let data): data.count
            case .left: 0
            }
        }
    }

    init(_ response: HTTPResponseData, _ rules: CaptureRules) {
        head = response.http
        switch response.body {
        case .collected(let data) where data.count <= rules.bodyLimit:
            body = .kept(data)
        case .collected(let data):
            body = .left(reason: rules.reasonToLeave(Int64(data.count)), count: Int64(data.count))
        case .delivered(let count):
            body = .left(reason: "not kept: \(count) bytes went to the request's sink", count: count)
        }
    }
}

/// What something failed of, as it may be read.
struct CapturedFailure: Error {
    let kind: String
    let reason: String
    /// What arrived all the same.
    let response: CapturedResponse?

    init(_ error: any Error, _ rules: CaptureRules) {
        guard !(error is CancellationError) else {
            (kind, reason, response) = ("cancelled", "The caller was cancelled.", nil)
            return
        }
        let failure = error as? NetworkingError
        kind = failure.map { "\($0.kind)" } ?? "failed"
        reason = rules.redaction.reason(of: error)
        response = failure?.response.map { CapturedResponse($0, rules) }
    }
}
