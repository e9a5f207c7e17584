#if TestServer
import FoundationForNetworking
import HTTPTypes
import NetworkingCore

/// Resumable Uploads for HTTP: draft-ietf-httpbis-resumable-upload, interop version 8.
extension UploadExchange {
    /// Creates an upload, or receives an ordinary request (section 4.2).
    func create(_ body: inout IncomingBody) async throws(UploadRefusal) -> TestResponse {
        guard options.protocols.contains(.ietf), let completes = request.boolean(UploadField.complete) else {
            return try await receiveOrdinaryRequest(&body)
        }
        let length = try announcedUploadLength(at: 0, completes)
        try checkSize(length, completes)
        try checkAppendSize(completes, isCreation: true)
        if let length, request.announcedLength ?? 0 > length { throw .response(inconsistentLength) }

        let upload = try makeUpload(.ietf, length: length)
        var fields: HTTPFields = [.location: location(of: upload)]
        fields[UploadField.limit] = limits(of: upload)
        var interim = fields
        if case .field = fault.kind { fault.apply(to: &interim) }
        try await sendInterim(interim, for: upload, body)
        try await receiveContent(&body, of: upload)
        if completes { return try complete(upload) }
        fields[UploadField.complete] = "?0"
        fields[UploadField.offset] = String(upload.record.offset)
        fields[UploadField.reprDigest] = upload.digestField
        return TestResponse(status: .created, headerFields: fields)
    }

    /// Returns the state of an upload (section 4.3).
    func state(of upload: StoredUpload) -> TestResponse {
        var fields: HTTPFields = [
            UploadField.offset: String(upload.settledOffset()),
            .cacheControl: "no-store",
        ]
        let record = upload.record
        fields[UploadField.complete] = record.isComplete ? "?1" : "?0"
        fields[UploadField.length] = record.length.map { String($0) }
        fields[UploadField.limit] = limits(of: upload)
        fields[UploadField.reprDigest] = upload.digestField
        return TestResponse(status: .noContent, headerFields: fields)
    }

    /// Appends the body to an upload (section 4.4).
    func append(to upload: StoredUpload, _ body: inout IncomingBody) async throws(UploadRefusal) -> TestResponse {
        guard request.mediaType == "application/partial-upload" else {
            throw .response(
                TestResponse(
                    status: .unsupportedMediaType,
                    headerFields: [UploadField.acceptPatch: "application/partial-upload"]
                )
            )
        }
        guard let offset = request.integer(UploadField.offset) else {
            throw .text("Upload-Offset is missing or no number.", .badRequest)
        }
        guard let completes = request.boolean(UploadField.complete) else {
            throw .text("Upload-Complete is missing or no Boolean.", .badRequest)
        }
        let expected = upload.settledOffset()
        if upload.record.isComplete {
            upload.countRejection()
            throw .response(request.announcedLength == 0 ? completedUpload : inconsistentLength)
        }
        guard offset == expected else {
            upload.countRejection()
            throw .response(mismatchingOffset(expected: expected, provided: offset))
        }
        if let length = try announcedUploadLength(at: offset, completes) {
            guard upload.announce(length) else {
                upload.countRejection()
                throw .response(inconsistentLength)
            }
            try checkSize(length, true)
        }
        try checkAppendSize(completes, isCreation: false)
        upload.expect(request.digests(UploadField.reprDigest))
        try await receiveContent(&body, of: upload)
        if completes { return try complete(upload) }
        var fields: HTTPFields = [
            UploadField.complete: "?0",
            UploadField.offset: String(upload.record.offset),
        ]
        fields[UploadField.limit] = limits(of: upload)
        fields[UploadField.reprDigest] = upload.digestField
        return TestResponse(status: .noContent, headerFields: fields)
    }

    private func receiveOrdinaryRequest(_ body: inout IncomingBody) async throws(UploadRefusal) -> TestResponse {
        let upload = try makeUpload(nil, length: request.announcedLength)
        do {
            try await receiveContent(&body, of: upload)
        } catch {
            upload.end(.notFound)
            throw error
        }
        guard case .complete = upload.complete() else { throw .response(digestProblem) }
        return uploads.completion(upload.record)
    }

    private func receiveContent(_ body: inout IncomingBody, of upload: StoredUpload) async throws(UploadRefusal) {
        try await receive(
            &body,
            into: upload,
            digests: request.digests(UploadField.contentDigest),
            maximumCount: upload.uploadProtocol == nil ? nil : options.limits.maximumAppendSize,
            mismatch: digestProblem
        )
    }

    /// Completes an upload and returns the response of the resource.
    private func complete(_ upload: StoredUpload) throws(UploadRefusal) -> TestResponse {
        switch upload.complete() {
        case .otherLength:
            upload.countRejection()
            throw .response(inconsistentLength)
        case .otherDigest:
            var response = digestProblem
            response.headerFields[UploadField.complete] = "?1"
            throw .response(response)
        case .complete:
            var response = uploads.completion(upload.record)
            response.headerFields[UploadField.complete] = "?1"
            response.headerFields[UploadField.offset] = String(upload.record.offset)
            response.headerFields[UploadField.reprDigest] = upload.digestField
            return response
        }
    }
}

extension UploadExchange {
    /// Returns the length that the request announces (section 4.1.3).
    private func announcedUploadLength(at offset: Int64, _ completes: Bool) throws(UploadRefusal) -> Int64? {
        let stated = request.integer(UploadField.length)
        guard completes, let count = request.announcedLength else { return stated }
        let (sum, overflows) = offset.addingReportingOverflow(count)
        guard !overflows, stated ?? sum == sum else {
            upload?.countRejection()
            throw .response(inconsistentLength)
        }
        return sum
    }

    /// Checks the length of a representation against the limits.
    private func checkSize(_ length: Int64?, _ completes: Bool) throws(UploadRefusal) {
        let limits = options.limits
        if let length, length > limits.maximumSize ?? .max { throw .response(contentTooLarge(for: upload)) }
        if let minimum = limits.minimumSize, length ?? -1 < minimum {
            throw .response(limited(.text("The minimum size is \(minimum) bytes.", status: .badRequest), upload))
        }
    }

    /// Checks the length of the body against the limits, as far as it is known at the head.
    private func checkAppendSize(_ completes: Bool, isCreation: Bool) throws(UploadRefusal) {
        guard let count = request.announcedLength else { return }
        if count > options.limits.maximumAppendSize ?? .max { throw .response(contentTooLarge(for: upload)) }
        if let minimum = options.limits.minimumAppendSize, count < minimum, !completes, !(isCreation && count == 0) {
            let text = "The minimum size of a request is \(minimum) bytes."
            throw .response(limited(.text(text, status: .badRequest), upload))
        }
    }

    private func limits(of upload: StoredUpload?) -> String? {
        let deadline = upload?.deadline ?? uploads.deadline
        return options.limits.field(remaining: deadline.map { $0 - uploads.clock.now })
    }

    private func limited(_ response: TestResponse, _ upload: StoredUpload?) -> TestResponse {
        var response = response
        response.headerFields[UploadField.limit] = limits(of: upload)
        return response
    }

    /// The response to too many bytes: `413` with the limits (section 4.1.4).
    func contentTooLarge(for upload: StoredUpload?) -> TestResponse {
        let response = TestResponse.status(.contentTooLarge)
        return upload?.uploadProtocol == .tus ? response : limited(response, upload)
    }

    /// The response to bytes beyond the length or the maximum size.
    func tooLong(for upload: StoredUpload) -> TestResponse {
        let exceedsLength = upload.record.length.map { $0 <= options.limits.maximumSize ?? .max } ?? false
        return upload.uploadProtocol == .ietf && exceedsLength ? inconsistentLength : contentTooLarge(for: upload)
    }
}

extension UploadExchange {
    private func mismatchingOffset(expected: Int64, provided: Int64) -> TestResponse {
        var response = problem(
            "mismatching-upload-offset",
            "The offset of the request is not that of the upload.",
            .conflict,
            #","expected-offset":\#(expected),"provided-offset":\#(provided)"#
        )
        response.headerFields[UploadField.offset] = String(expected)
        return response
    }

    private var completedUpload: TestResponse {
        problem("completed-upload", "The upload is complete.", .badRequest)
    }

    private var inconsistentLength: TestResponse {
        problem("inconsistent-upload-length", "The lengths of the upload are inconsistent.", .badRequest)
    }

    /// The response to bytes that do not have the digest of `Content-Digest` or `Repr-Digest` (RFC 9530).
    private var digestProblem: TestResponse {
        problem("digest-mismatching-values", "The bytes have another digest.", .badRequest)
    }

    /// A response with problem details (RFC 9457).
    private func problem(
        _ type: String,
        _ title: String,
        _ status: HTTPResponse.Status,
        _ members: String = ""
    ) -> TestResponse {
        let uri = "https://iana.org/assignments/http-problem-types#\(type)"
        return TestResponse(
            status: status,
            headerFields: [.contentType: "application/problem+json"],
            body: .data(Data(#"{"type":"\#(uri)","title":"\#(title)"\#(members)}"#.utf8))
        )
    }
}
#endif
