#if TestServer
import FoundationForNetworking
import HTTPTypes
import NetworkingCore

/// tus 1.0.0.
extension UploadExchange {
    private static let mediaType = "application/offset+octet-stream"
    private static let checksumMismatch = HTTPResponse.Status(code: 460, reasonPhrase: "Checksum Mismatch")

    func checkTusVersion() throws(UploadRefusal) {
        guard request.headerFields[UploadField.tusResumable] == "1.0.0" else {
            throw .response(TestResponse(status: .preconditionFailed, headerFields: [UploadField.tusVersion: "1.0.0"]))
        }
    }

    /// Creates an upload, with its first bytes if the request has a body.
    func createTus(_ body: inout IncomingBody) async throws(UploadRefusal) -> TestResponse {
        guard request.method == .post else {
            throw .response(TestResponse(status: .methodNotAllowed, headerFields: [UploadField.allow: "OPTIONS, POST"]))
        }
        guard let length = request.digits(UploadField.length) else {
            throw .text("Upload-Length is missing or no number.", .badRequest)
        }
        guard let metadata = request.tusMetadata else { throw .text("Upload-Metadata is malformed.", .badRequest) }
        guard length <= options.limits.maximumSize ?? .max else { throw .status(.contentTooLarge) }
        let hasBody = request.announcedLength != 0
        if hasBody { try checkMediaType() }
        let checksum = hasBody ? try checksum : [:]

        let upload = try makeUpload(.tus, length: length, metadata: metadata)
        if hasBody { try await receive(&body, into: upload, checksum) }
        completeIfWhole(upload)
        var fields: HTTPFields = [.location: location(of: upload)]
        if hasBody { fields[UploadField.offset] = String(upload.record.offset) }
        fields[UploadField.expires] = expires(upload)
        return TestResponse(status: .created, headerFields: fields)
    }

    /// Returns the state of an upload.
    func tusState(of upload: StoredUpload) -> TestResponse {
        var fields: HTTPFields = [
            UploadField.offset: String(upload.settledOffset()),
            .cacheControl: "no-store",
        ]
        fields[UploadField.length] = upload.record.length.map { String($0) }
        fields[UploadField.expires] = expires(upload)
        if !upload.metadata.isEmpty {
            fields[UploadField.metadata] = upload.metadata
                .map { "\($0.key) \($0.value.base64EncodedString())" }
                .sorted()
                .joined(separator: ",")
        }
        return TestResponse(status: .ok, headerFields: fields)
    }

    /// Appends the body to an upload.
    func appendTus(to upload: StoredUpload, _ body: inout IncomingBody) async throws(UploadRefusal) -> TestResponse {
        try checkMediaType()
        guard let offset = request.digits(UploadField.offset) else {
            throw .text("Upload-Offset is missing or no number.", .badRequest)
        }
        let checksum = try checksum
        let expected = upload.settledOffset()
        guard offset == expected else {
            upload.countRejection()
            throw .response(TestResponse(status: .conflict, headerFields: [UploadField.offset: String(expected)]))
        }
        if let count = request.announcedLength, let length = upload.record.length, count > length - offset {
            upload.countRejection()
            throw .status(.contentTooLarge)
        }
        try await receive(&body, into: upload, checksum)
        completeIfWhole(upload)
        var fields: HTTPFields = [UploadField.offset: String(upload.record.offset)]
        fields[UploadField.expires] = expires(upload)
        return TestResponse(status: .noContent, headerFields: fields)
    }

    /// Receives a body.
    ///
    /// If it has a checksum, it is stored as a whole or not at all.
    private func receive(
        _ body: inout IncomingBody,
        into upload: StoredUpload,
        _ checksum: [String: Data]
    ) async throws(UploadRefusal) {
        try await receive(
            &body,
            into: upload,
            digests: checksum,
            keepsIncompleteBody: checksum.isEmpty,
            mismatch: .status(Self.checksumMismatch)
        )
    }

    private func completeIfWhole(_ upload: StoredUpload) {
        let record = upload.record
        if record.offset == record.length { _ = upload.complete() }
    }

    private func checkMediaType() throws(UploadRefusal) {
        guard request.mediaType == Self.mediaType else { throw .status(.unsupportedMediaType) }
    }

    /// The checksum of the body by algorithm; empty without the field.
    private var checksum: [String: Data] {
        get throws(UploadRefusal) {
            guard let field = request.headerFields[UploadField.checksum] else { return [:] }
            let parts = field.split(separator: " ")
            guard parts.count == 2, UploadHashes.tusNames.contains(String(parts[0])),
                let digest = Data(base64Encoded: String(parts[1]))
            else { throw .text("Upload-Checksum is malformed, or its algorithm is not supported.", .badRequest) }
            return [String(parts[0]): digest]
        }
    }

    private func expires(_ upload: StoredUpload) -> String? {
        upload.deadline.map { uploads.date(of: $0).httpDate }
    }
}
#endif
