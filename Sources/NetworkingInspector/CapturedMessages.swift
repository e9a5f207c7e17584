import HTTPTypes
import Networking
import NetworkingHAR

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

    static let reasonToDrop = "no longer kept: later bodies needed the room"

    func reasonToLeave(_ count: Int64) -> String {
        "not kept: \(count) bytes, more than the limit of \(bodyLimit)"
    }
}

/// About how many bytes of memory a call takes.
struct CaptureSize: Sendable, Equatable {
    /// The bytes of the bodies.
    var bodies = 0
    /// The bytes of all else: URLs, header fields, errors, moments.
    var rest = 0

    /// What a call and an exchange take besides their texts, rounded up.
    static let call = 2_048
    static let exchange = 1_024
    /// What a header field and a part of a form take besides their texts.
    fileprivate static let field = 96
}

/// A request without its options.
struct CapturedRequest: Sendable {
    private(set) var request: HTTPRequestData
    /// About how many bytes of memory it takes without its body.
    private(set) var headBytes = 0
    /// How much memory its body takes.
    private(set) var bodyBytes = 0
    /// Why its body is not in it, and how long that is.
    private(set) var left: (reason: String, length: Int64?)?
    /// The parts of a body that has some: names, and what is text.
    private(set) var parts: [HAR.Part]?

    init(_ request: HTTPRequestData, _ rules: CaptureRules) {
        var kept = request.compact
        kept.headerFields = request.headerFields
        parts = request.body?.parts?
            .map { part in
                // What makes the bytes of a file or a stream is not held on to, and neither are they.
                let data =
                    part.fileName == nil ? part.body.data.flatMap { $0.count <= rules.bodyLimit ? $0 : nil } : nil
                return HAR.Part(
                    name: part.name,
                    value: data.flatMap { String(validating: $0, as: UTF8.self) },
                    fileName: part.fileName,
                    contentType: part.contentType
                )
            }
        switch request.body?.data {
        case let data? where data.count <= rules.bodyLimit:
            kept.body = request.body
            bodyBytes = data.count
        case let data?:
            left = (rules.reasonToLeave(Int64(data.count)), Int64(data.count))
        case nil:
            left = request.body.map { body in
                let text = rules.redaction.hidingValues(in: body.description)
                return ("not kept: \(PrintableText.singleLine(text))", body.length)
            }
        }
        bodyBytes += parts?.reduce(0) { $0 + $1.byteCount } ?? 0
        headBytes = request.headByteCount + (left?.reason.utf8.count ?? 0)
        self.request = kept
    }

    mutating func dropBody() {
        if parts != nil {
            parts = nil
            left?.reason = CaptureRules.reasonToDrop
            bodyBytes = 0
        }
        guard let body = request.body else { return }
        left = (CaptureRules.reasonToDrop, body.length)
        request.body = nil
        bodyBytes = 0
    }
}

/// A response without what its request was.
struct CapturedResponse: Sendable {
    let head: HTTPResponse
    /// About how many bytes of memory it takes without its body.
    let headBytes: Int
    private(set) var body: Body

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

    mutating func dropBody() {
        guard case .kept(let data) = body, !data.isEmpty else { return }
        body = .left(reason: CaptureRules.reasonToDrop, count: Int64(data.count))
    }

    init(_ response: HTTPResponseData, _ rules: CaptureRules) {
        head = response.http
        headBytes = head.byteCount
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
    var response: CapturedResponse?

    /// About how many bytes of memory it takes without a body.
    var headBytes: Int {
        reason.utf8.count + (response?.headBytes ?? 0)
    }

    static let cancelled = "cancelled"

    init(kind: String, reason: String) {
        (self.kind, self.reason, response) = (kind, reason, nil)
    }

    init(_ error: any Error, _ rules: CaptureRules) {
        guard !(error is CancellationError) else {
            (kind, reason, response) = (Self.cancelled, "It was cancelled.", nil)
            return
        }
        let failure = error as? NetworkingError
        kind = failure.map { "\($0.kind)" } ?? "failed"
        reason = rules.redaction.reason(of: error)
        response = failure?.response.map { CapturedResponse($0, rules) }
    }
}

extension HTTPRequestData {
    /// About how many bytes of memory its line and header fields take.
    fileprivate var headByteCount: Int {
        let texts = [authority, closedTarget, route]
        return texts.reduce(headerFields.httpFields.byteCount) { $0 + ($1?.utf8.count ?? 0) }
    }
}

extension HTTPResponse {
    /// About how many bytes of memory it takes.
    var byteCount: Int {
        headerFields.byteCount + status.reasonPhrase.utf8.count
    }
}

extension HTTPFields {
    fileprivate var byteCount: Int {
        reduce(0) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count + CaptureSize.field }
    }
}

extension HAR.Part {
    fileprivate var byteCount: Int {
        [name, value, fileName, contentType].reduce(CaptureSize.field) { $0 + ($1?.utf8.count ?? 0) }
    }
}
