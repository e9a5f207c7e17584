import FoundationForNetworking
import HTTPTypes
import NetworkingCore

/// The rules for storing and showing the messages of a call.
struct CaptureRules: Sendable {
    /// The redaction, including the secrets that the request itself knows.
    let redaction: Redaction
    /// The maximum size of a stored body, in bytes.
    let bodyLimit: Int

    static let reasonToDrop = "no longer kept: later bodies needed the space"

    func reasonToLeave(_ count: Int64) -> String {
        "not kept: \(count) bytes, more than the limit of \(bodyLimit)"
    }
}

/// The approximate number of bytes of memory that a call takes.
struct CaptureSize: Sendable, Equatable {
    /// The bytes of the bodies.
    var bodies = 0
    /// The bytes of everything else: URLs, header fields, errors, times.
    var rest = 0

    /// The overhead of a call and of an exchange in addition to their texts, rounded up.
    static let call = 2_048
    static let exchange = 1_024
    /// The overhead of a header field or a part of a form in addition to its texts.
    fileprivate static let field = 96
}

/// A request without its options.
struct CapturedRequest: Sendable {
    private(set) var request: HTTPRequestData
    /// The approximate number of bytes of memory that the request takes without its body.
    private(set) var headBytes = 0
    /// The number of bytes of memory that its body takes.
    private(set) var bodyBytes = 0
    /// The reason why the body is not stored, and the length of the body.
    private(set) var left: (reason: String, length: Int64?)?
    /// The parts of a multipart body: their names, and the contents that are text.
    private(set) var parts: [HAR.Part]?

    init(_ request: HTTPRequestData, _ rules: CaptureRules) {
        var kept = request.compact
        kept.headerFields = request.headerFields
        parts = request.body?.parts?
            .map { part in
                // Neither the bytes of a file or a stream nor their source is stored.
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
                let text = rules.redaction.redactingValues(in: body.description)
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

/// A response without its request.
struct CapturedResponse: Sendable {
    let head: HTTPResponse
    /// The approximate number of bytes of memory that the response takes without its body.
    let headBytes: Int
    private(set) var body: Body

    enum Body: Sendable, Equatable {
        case kept(Data)
        /// The reason why the body is not stored, and its length.
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

/// The reason for a failure, redacted.
struct CapturedFailure: Error {
    let kind: String
    let reason: String
    /// The response that arrived despite the failure.
    var response: CapturedResponse?

    /// The approximate number of bytes of memory that the failure takes without a body.
    var headBytes: Int {
        reason.utf8.count + (response?.headBytes ?? 0)
    }

    static let cancelled = "cancelled"

    init(kind: String, reason: String) {
        (self.kind, self.reason, response) = (kind, reason, nil)
    }

    init(_ error: any Error, about failedResponse: HTTPResponseData?, _ rules: CaptureRules) {
        guard !(error is CancellationError) else {
            (kind, reason, response) = (Self.cancelled, "It was cancelled.", nil)
            return
        }
        kind = (error as? NetworkingError).map { "\($0.kind)" } ?? "failed"
        reason = rules.redaction.reason(of: error)
        response = failedResponse.map { CapturedResponse($0, rules) }
    }
}

extension HTTPRequestData {
    /// The approximate number of bytes of memory that its request line and header fields take.
    fileprivate var headByteCount: Int {
        let texts = [authority, closedTarget, route]
        return texts.reduce(headerFields.httpFields.byteCount) { $0 + ($1?.utf8.count ?? 0) }
    }
}

extension HTTPResponse {
    /// The approximate number of bytes of memory that the head takes.
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
