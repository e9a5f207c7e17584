#if TestServer
import FoundationForNetworking
import HTTPTypes
import NetworkingCore

/// One request for an upload.
struct UploadExchange {
    let request: RecordedRequest
    let uploads: TestUploads
    let clock: any Clock<Duration>
    /// The upload of the path; `nil` for the path that creates uploads, or if there is none.
    let upload: StoredUpload?
    let fault: TestUploads.Fault

    init(_ request: RecordedRequest, _ uploads: TestUploads, _ clock: any Clock<Duration>) {
        self.request = request
        self.uploads = uploads
        self.clock = clock
        upload = request.parameters["upload"].flatMap { uploads.upload($0) }
        fault = uploads.takeFault(at: Self.steps(of: request, upload)) ?? .none
    }

    var options: TestUploads.Options {
        uploads.options
    }

    /// Whether the request is for tus.
    private var isTus: Bool {
        options.protocols.contains(.tus)
            && (request.headerFields[UploadField.tusResumable] != nil || options.protocols == [.tus])
    }

    /// Returns the response of the protocol, changed by the fault.
    ///
    /// - Throws: `CancellationError` if the client disconnects within the body.
    func response(receiving body: inout IncomingBody) async throws -> TestResponse {
        if let response = fault.response(at: .head) { return response }
        if case .forget(let status) = fault.kind { upload?.end(status) }
        if case .slow(_, let period) = fault.kind, request.announcedLength == 0 { try await clock.sleep(for: period) }
        var response: TestResponse
        do throws(UploadRefusal) {
            response = try await processed(&body)
        } catch {
            switch error {
            case .response(let refusal), .otherDigest(let refusal): response = refusal
            case .disconnected: throw CancellationError()
            case .malformed(let error): throw error
            // A fault, which changes no field.
            case .fault(let response): return response
            }
        }
        if isTus { response.headerFields[UploadField.tusResumable] = "1.0.0" }
        if let lost = fault.response(at: .processing) { return lost }
        fault.apply(to: &response.headerFields)
        return response
    }

    private func processed(_ body: inout IncomingBody) async throws(UploadRefusal) -> TestResponse {
        if request.method == .options { return discovery }
        if isTus { try checkTusVersion() }
        guard request.parameters["upload"] != nil else {
            return isTus ? try await createTus(&body) : try await create(&body)
        }
        guard let upload else { throw .status(.notFound) }
        if let end = upload.end { throw .status(end) }
        guard upload.uploadProtocol == (isTus ? .tus : .ietf) else {
            throw .text("The upload belongs to the other protocol.", .badRequest)
        }
        switch request.method {
        case .head:
            return isTus ? tusState(of: upload) : state(of: upload)
        case .patch:
            return isTus ? try await appendTus(to: upload, &body) : try await append(to: upload, &body)
        case .delete:
            upload.end(.gone)
            return .status(.noContent)
        default:
            let allowed: HTTPFields = [UploadField.allow: "DELETE, HEAD, OPTIONS, PATCH"]
            throw .response(TestResponse(status: .methodNotAllowed, headerFields: allowed))
        }
    }
}

extension UploadExchange {
    /// The steps whose faults apply to a request, in their order.
    private static func steps(of request: RecordedRequest, _ upload: StoredUpload?) -> [TestUploads.Step] {
        switch request.method {
        case .options: [.discovery]
        case .head: [.offset]
        case .delete: [.cancellation]
        default:
            (completes(request, upload) ? [.completion] : [])
                + [request.parameters["upload"] == nil ? .creation : .append]
        }
    }

    private static func completes(_ request: RecordedRequest, _ upload: StoredUpload?) -> Bool {
        if request.headerFields[UploadField.tusResumable] == nil {
            return request.boolean(UploadField.complete) ?? (upload == nil)
        }
        guard let count = request.announcedLength else { return false }
        guard let record = upload?.record else { return request.digits(UploadField.length) == count }
        // A subtraction, because the client may announce any length.
        return record.length.map { $0 - record.offset } == count
    }

    /// The response to `OPTIONS`.
    private var discovery: TestResponse {
        var fields: HTTPFields = [UploadField.allow: "DELETE, HEAD, OPTIONS, PATCH, POST, PUT"]
        if options.protocols.contains(.ietf) {
            fields[UploadField.acceptPatch] = "application/partial-upload"
            fields[UploadField.limit] = options.limits.field(remaining: options.limits.maximumAge)
        }
        if options.protocols.contains(.tus) {
            fields[UploadField.tusResumable] = "1.0.0"
            fields[UploadField.tusVersion] = "1.0.0"
            let checksum = UploadHashes.tusNames.isEmpty ? "" : ",checksum"
            fields[UploadField.tusExtension] = "creation,creation-with-upload,expiration,termination\(checksum)"
            fields[UploadField.tusMaximumSize] = options.limits.maximumSize.map { String($0) }
            if !checksum.isEmpty {
                fields[UploadField.tusChecksumAlgorithm] = UploadHashes.tusNames.joined(separator: ",")
            }
        }
        return TestResponse(status: .noContent, headerFields: fields)
    }

    /// The value of `Location` for an upload.
    func location(of upload: StoredUpload) -> String {
        options.usesRelativeLocations ? upload.path : uploads.origin.appending(path: upload.path).absoluteString
    }
}

extension UploadExchange {
    /// Receives the body of the request into an upload.
    ///
    /// - Parameters:
    ///   - body: The body.
    ///   - upload: The upload.
    ///   - digests: The digests that the body must have.
    ///   - maximumCount: The maximum number of bytes of the body.
    ///   - keepsIncompleteBody: Whether the bytes stay if the body breaks off.
    ///   - mismatch: The response to a body with another digest.
    /// - Throws: The end of the request, if the body was not received as a whole.
    func receive(
        _ body: inout IncomingBody,
        into upload: StoredUpload,
        digests: [String: Data] = [:],
        maximumCount: Int64? = nil,
        keepsIncompleteBody: Bool = true,
        mismatch: TestResponse
    ) async throws(UploadRefusal) {
        let appender = upload.startAppending()
        do {
            try await receive(&body, into: upload, appender, digests, maximumCount, mismatch)
        } catch {
            if !keepsIncompleteBody || error.discardsBody { upload.rollBack(appender) }
            upload.breakOff(appender)
            throw error
        }
        guard upload.finishAppending(appender) else { throw .superseded }
    }

    private func receive(
        _ body: inout IncomingBody,
        into upload: StoredUpload,
        _ appender: Int,
        _ digests: [String: Data],
        _ maximumCount: Int64?,
        _ mismatch: TestResponse
    ) async throws(UploadRefusal) {
        var hashes = UploadHashes(digests.keys)
        var count = 0
        var pause = Int.max
        if case .slow(let byteCount, _) = fault.kind { pause = byteCount }
        var nextPause = pause
        var nextReport = options.progressInterval
        while true {
            if let stop = fault.byteCount, count >= stop { break }
            let limit = min(fault.byteCount ?? .max, nextPause) - count
            guard let chunk = try await next(&body, upTo: limit) else { break }
            count += chunk.count
            if Int64(count) > maximumCount ?? .max { throw .response(contentTooLarge(for: upload)) }
            hashes.update(chunk)
            switch upload.append(chunk, by: appender, maximumSize: options.limits.maximumSize) {
            case .stored(let offset):
                if let due = nextReport, let interval = options.progressInterval, offset >= due {
                    nextReport = offset + interval
                    try await report(offset, of: upload, body)
                }
            case .tooLong:
                upload.countRejection()
                // The draft requires that the upload becomes invalid.
                if upload.uploadProtocol != .tus { upload.end(.gone) }
                throw .response(tooLong(for: upload))
            case .superseded: throw .superseded
            case .failed: throw .text("The bytes could not be stored.", .internalServerError)
            }
            if count >= nextPause, case .slow(_, let period) = fault.kind {
                nextPause = count + pause
                try await sleep(for: period)
            }
        }
        if let count = fault.byteCount, let response = fault.response(at: .bytes(count)) { throw .fault(response) }
        guard hashes.match(digests) else { throw .otherDigest(mismatch) }
    }

    private func next(_ body: inout IncomingBody, upTo limit: Int) async throws(UploadRefusal) -> Data? {
        do {
            return try await body.next(upTo: limit)
        } catch let error as MalformedRequest {
            throw .malformed(error)
        } catch {
            throw .disconnected
        }
    }

    private func sleep(for period: Duration) async throws(UploadRefusal) {
        do {
            try await clock.sleep(for: period)
        } catch {
            throw .disconnected
        }
    }

    /// Sends an interim response with the offset.
    private func report(_ offset: Int64, of upload: StoredUpload, _ body: IncomingBody) async throws(UploadRefusal) {
        try await sendInterim([UploadField.offset: String(offset)], for: upload, body)
    }

    /// Sends `104 Upload Resumption Supported` to a client of the same interop version.
    func sendInterim(
        _ fields: HTTPFields,
        for upload: StoredUpload,
        _ body: IncomingBody
    ) async throws(UploadRefusal) {
        guard options.sendsInterimResponses, upload.uploadProtocol == .ietf,
            request.integer(UploadField.interopVersion) == 8
        else { return }
        let status = HTTPResponse.Status(code: 104, reasonPhrase: "Upload Resumption Supported")
        do {
            try await body.send(
                TestResponse.Informational(status, headerFields: fields + [UploadField.interopVersion: "8"])
            )
        } catch {
            throw .disconnected
        }
    }

    /// Creates an upload with the next number.
    func makeUpload(
        _ uploadProtocol: TestUploads.UploadProtocol?,
        length: Int64?,
        metadata: [String: Data] = [:]
    ) throws(UploadRefusal) -> StoredUpload {
        let upload: StoredUpload?
        do {
            upload = try uploads.create { number, path in
                try StoredUpload(
                    number: number,
                    path: path,
                    uploadProtocol: uploadProtocol,
                    request: request,
                    length: length,
                    metadata: metadata,
                    deadline: uploads.deadline,
                    options: options
                )
            }
        } catch {
            throw .text("The file of the upload could not be created.", .internalServerError)
        }
        guard let upload else { throw .status(.serviceUnavailable) }
        return upload
    }
}

/// The end of a request before it was processed.
enum UploadRefusal: Error {
    /// The request gets a response.
    case response(TestResponse)
    /// The body has another digest, so none of it is stored.
    case otherDigest(TestResponse)
    /// The fault of the test replaces the response.
    case fault(TestResponse)
    /// The client has disconnected within the body, or the server stops.
    case disconnected
    /// The bytes are no request.
    case malformed(MalformedRequest)

    static func status(_ status: HTTPResponse.Status) -> UploadRefusal {
        .response(.status(status))
    }

    static func text(_ text: String, _ status: HTTPResponse.Status) -> UploadRefusal {
        .response(.text(text, status: status))
    }

    /// A newer request has taken the upload over, so the connection of this one is reset.
    static var superseded: UploadRefusal {
        .fault(TestResponse.ok.disconnecting(.reset, at: .requestHead))
    }

    /// Whether none of the body is stored.
    var discardsBody: Bool {
        if case .otherDigest = self { true } else { false }
    }
}
#endif
