import FoundationForNetworking
import HTTPTypes
import NetworkingCore
import Synchronization

/// A resumable upload in progress: sends the requests that an ``UploadMachine`` decides on.
struct ResumingUpload<Network: NetworkingComponent>: Sendable {
    /// The response of a complete upload.
    struct Result: Sendable {
        let response: HTTPResponseData
        /// Whether the response belongs to a request that only asked for the state, because the actual one was lost.
        var isLost = false
    }

    /// The outcome of one exchange.
    private enum Exchange {
        /// A response, and the error that the stack has made of it.
        case response(HTTPResponseData, NetworkingError?)
        case lost(NetworkingError)
    }

    /// The longest wait that a server can request.
    private static var maximumRetryAfter: Duration { .seconds(120) }
    private static var backoff: Backoff { .exponential(base: .milliseconds(500), cap: .seconds(30), jitter: .equal) }

    private let network: Network
    private let body: RequestBody
    /// The request as the caller created it, with the body.
    private let original: HTTPRequestData
    /// The request from which all requests are derived, for the users who are signed in at the start.
    private let base: HTTPRequestData
    private let resumable: ResumableUpload
    private let options: UploadOptions
    private let store: UploadStore
    private let meter: UploadMeter
    private let environment = NetworkEnvironment.current

    /// Creates an upload.
    ///
    /// - Parameters:
    ///   - body: The body.
    ///   - request: The request, with a method that allows a body, and with the progress handlers.
    ///   - resumable: The protocol.
    ///   - options: The options.
    ///   - network: The stack.
    init(
        _ body: RequestBody,
        to request: HTTPRequestData,
        _ resumable: ResumableUpload,
        _ options: UploadOptions,
        over network: Network
    ) {
        self.network = network
        self.body = body
        self.resumable = resumable
        self.options = options
        var base = network.notingUsers(of: request)
        original = request.uploading(body).keepingUsers(of: base)
        base.body = nil
        base.sink = nil
        base.progressHandler = nil
        self.base = base
        let file = body.data == nil ? body.fileURL : nil
        store = UploadStore(path: options.stateFile?.path ?? file.map { UploadStore.path(of: $0.path) })
        meter = UploadMeter(length: body.data.map { Int64($0.count) }, request.progressHandler)
    }

    // MARK: Uploading

    /// Performs the upload off the caller's actor, because it reads and writes files throughout.
    @concurrent
    func run() async throws -> Result {
        try Task.checkCancellation()
        let source = try await opened()
        guard let source, resumable != .never else { return try await sendPlainly(source?.length) }
        do {
            let record = try await storing { try await store.open() }
            let result = try await run(source, resuming: record)
            await store.close()
            return result
        } catch {
            await store.close()
            throw error
        }
    }

    private func opened() async throws -> UploadSource? {
        do {
            if let source = try await UploadSource.open(body, isIdentified: store.path != nil) { return source }
        } catch let failure as RequestBody.Failure {
            throw NetworkingError(failure.kind, request: original, reason: failure.reason)
        }
        guard resumable == .automatic || resumable == .never else {
            throw NetworkingError(
                .invalidRequest,
                request: original,
                reason: "A resumable upload needs a body that can be read from any offset: a file or bytes in memory. "
                    + "Upload with resumable: .automatic or .never to send this body in one request."
            )
        }
        return nil
    }

    /// Sends the body in one ordinary request.
    private func sendPlainly(_ length: Int64?) async throws -> Result {
        var routed = network.routed(original)
        if let length {
            routed.progressHandler = meter.handler(from: 0, of: length)
        }
        let response = try await network.begin(routed: routed, for: original)
        guard routed.acceptedStatuses.contains(response.status) else {
            throw NetworkingError.refusedStatus(of: response)
        }
        return Result(response: response)
    }

    private func run(_ source: UploadSource, resuming kept: UploadRecord?) async throws -> Result {
        let routed = network.routed(original)
        let resource = self.resource(of: routed)
        // The state of an upload to another request is not used, and is replaced. The same holds for a URL that this
        // request may not use.
        let place = kept.flatMap { $0.resource == resource ? self.place(in: $0, of: routed) : nil }
        let record = place == nil ? nil : kept
        if let record, record.file != source.identity { throw changed }
        var machine = UploadMachine(
            resumable,
            length: source.length,
            mayRepeat: original.mayBeSentTwice,
            options: options,
            resuming: record
        )
        var call = Call(source: source, resource: resource, place: place, record: record)
        meter.update(sent: machine.offset, of: source.length)
        var step = machine.start(at: environment.clock.date)
        try await keepState(of: machine, &call)
        var isInterrupted = record != nil
        var failures = 0
        var earlier: HTTPResponseData?
        while true {
            if isInterrupted, case .append(let offset, _, _) = step {
                original.emit(UploadEvent.resumed(offset: offset, length: source.length))
                isInterrupted = false
            }
            let highest = machine.highest
            let interim = step == .whole ? InterimPlace(after: routed) : nil
            let exchange: Exchange
            do {
                exchange = try await send(step, interim, machine, call)
            } catch {
                // A cancelled upload resumes at the URL that it has received.
                adopt(interim, &machine, &call)
                try? await keepState(of: machine, &call)
                throw error
            }
            adopt(interim, &machine, &call)
            let next: UploadMachine.Next
            switch exchange {
            case .lost: next = machine.lose(step)
            case .response(let response, _):
                let hasLocation = try adoptLocation(of: response, to: step, &call)
                let hadPlace = machine.hasPlace
                next = machine.receive(
                    UploadReply(response),
                    to: step,
                    hasLocation: hasLocation,
                    at: environment.clock.date
                )
                if hadPlace, !machine.hasPlace {
                    original.emit(UploadEvent.restarted)
                    isInterrupted = false
                }
            }
            if machine.highest > highest {
                failures = 0
            }
            switch next {
            case .finish, .finishWithEarlierResponse, .finishWithoutResponse: break
            default:
                try await keepState(of: machine, &call)
                meter.update(sent: machine.offset, of: source.length)
            }
            switch next {
            case .send(let following):
                step = following
            case .retry(let following):
                if case .append(_, _, true) = step, case .response(let response, _) = exchange,
                    response.status.isSuccess
                {
                    earlier = response
                }
                failures += 1
                isInterrupted = true
                guard failures <= options.maximumRetries else { throw error(of: exchange) }
                try await wait(after: failures, exchange, call)
                step = following
            case .finish:
                guard case .response(let response, let error) = exchange else { throw self.error(of: exchange) }
                return try await finish(Result(response: response), error, step, machine, call)
            case .finishWithEarlierResponse:
                guard case .response(let response, _) = exchange else { throw error(of: exchange) }
                return try await finish(Result(response: earlier ?? response), nil, step, machine, call)
            case .finishWithoutResponse:
                guard case .response(let response, _) = exchange else { throw error(of: exchange) }
                return try await finish(Result(response: response, isLost: true), nil, step, machine, call)
            case .refuse:
                throw error(of: exchange)
            case .fail(let fault):
                throw await failed(fault, exchange, machine, call)
            }
        }
    }

    /// The parts of a call that change, and the bytes that it sends.
    private struct Call {
        let source: UploadSource
        let resource: String
        var place: UploadPlace?
        var record: UploadRecord?
        let deadline = SpanningDeadline()
    }

    /// Stores the state if it has changed.
    private func keepState(of machine: UploadMachine, _ call: inout Call) async throws {
        if !machine.hasPlace {
            call.place = nil
        }
        var record: UploadRecord?
        if let place = call.place, let dialect = machine.dialect {
            record = UploadRecord(
                resource: call.resource,
                file: call.source.identity,
                dialect: dialect,
                place: place,
                of: machine
            )
        }
        guard record != call.record else { return }
        // Only the URL must survive a crash of the machine. The server knows the offset.
        let isDurable = record?.url != call.record?.url
        call.record = record
        try await storing { [record] in try await store.keep(record, isDurable: isDurable) }
    }

    /// Ends a complete upload: removes its state, and checks the status of its response.
    private func finish(
        _ result: Result,
        _ error: NetworkingError?,
        _ step: UploadMachine.Step,
        _ machine: UploadMachine,
        _ call: Call
    ) async throws -> Result {
        if call.record != nil {
            do {
                try await storing { try await store.keep(nil, isDurable: true) }
            } catch is CancellationError {
                // The state is removed nevertheless. Without the response, a paused upload would be sent again.
            }
        }
        meter.update(
            sent: call.source.length,
            of: call.source.length,
            received: BytesReceived(count: result.response.body.count, expected: result.response.body.count)
        )
        // The responses of tus and the state of an upload have statuses that the caller does not know.
        guard !result.isLost, machine.dialect != .tus || step == .whole else { return result }
        if let error { throw error }
        guard network.routed(original).acceptedStatuses.contains(result.response.status) else {
            throw NetworkingError.refusedStatus(of: result.response)
        }
        return result
    }

    // MARK: Exchanges

    private func send(
        _ step: UploadMachine.Step,
        _ interim: InterimPlace?,
        _ machine: UploadMachine,
        _ call: Call
    ) async throws -> Exchange {
        var request = try await request(for: step, machine, call)
        if let interim {
            request.addObserver(interim)
        }
        var routed = network.routed(request)
        // A deadline covers all requests together.
        routed.spanningDeadline = call.deadline
        do {
            return .response(try await network.begin(routed: routed, for: original), nil)
        } catch let error as NetworkingError {
            switch error.kind.meaning {
            case .answered:
                guard let response = error.response else { throw error }
                return .response(response, error)
            case .unreachable, .interrupted:
                return .lost(error)
            default:
                throw error
            }
        }
    }

    private func request(
        for step: UploadMachine.Step,
        _ machine: UploadMachine,
        _ call: Call
    ) async throws -> HTTPRequestData {
        switch step {
        case .discover:
            var request = base.withNewID
            request.method = .options
            request.removeFieldsOfBody()
            request.isIdempotent = nil
            request.headerFields[.uploadDraftInteropVersion] = Self.interopVersion
            return request
        case .create(let count):
            return try await creation(count, machine, call)
        case .whole:
            var request = base.withNewID
            request.body = body
            request.sink = original.sink
            request.progressHandler = meter.handler(from: 0, of: call.source.length)
            setFieldsOfCreation(of: &request, isComplete: true, call)
            return request
        case .locate:
            return try atPlace(call, .head, machine)
        case .append(let offset, let count, let completes):
            return try await append(offset..<offset + count, completes, machine, call)
        }
    }

    private func creation(
        _ count: Int64,
        _ machine: UploadMachine,
        _ call: Call
    ) async throws -> HTTPRequestData {
        var request = base.withNewID
        guard machine.dialect == .tus else {
            if !request.headerFields.contains(.contentType) {
                request.headerFields[.contentType] = body.contentType
            }
            request.body = .data(Data())
            setFieldsOfCreation(of: &request, isComplete: false, call)
            if let digest = options.digest {
                request.headerFields[.reprDigest] = try await field(digest, 0..<call.source.length, call)
            }
            return request
        }
        let contentType = request.headerFields[.contentType] ?? body.contentType
        let metadata = request.headerFields[.uploadMetadata] ?? self.metadata(contentType: contentType)
        request.removeFieldsOfBody()
        request.method = .post
        request.headerFields[.tusResumable] = "1.0.0"
        request.headerFields[.uploadLength] = "\(call.source.length)"
        request.headerFields[.uploadMetadata] = metadata.isEmpty ? nil : metadata
        request.body = .data(Data())
        if count > 0 {
            request.body = call.source.slice(0..<count, contentType: Self.tusType)
            request.progressHandler = meter.handler(from: 0, of: call.source.length)
        }
        return request
    }

    private func setFieldsOfCreation(of request: inout HTTPRequestData, isComplete: Bool, _ call: Call) {
        request.headerFields[.uploadDraftInteropVersion] = Self.interopVersion
        request.headerFields[.uploadComplete] = isComplete ? "?1" : "?0"
        request.headerFields[.uploadLength] = "\(call.source.length)"
        if let name = options.fileName, !request.headerFields.contains(.contentDisposition) {
            request.headerFields[.contentDisposition] = Self.disposition(name)
        }
    }

    private func append(
        _ range: Range<Int64>,
        _ completes: Bool,
        _ machine: UploadMachine,
        _ call: Call
    ) async throws -> HTTPRequestData {
        var request = try atPlace(call, .patch, machine)
        let isTus = machine.dialect == .tus
        request.body = call.source.slice(range, contentType: isTus ? Self.tusType : "application/partial-upload")
        request.headerFields[.uploadOffset] = "\(range.lowerBound)"
        request.progressHandler = meter.handler(from: range.lowerBound, of: call.source.length)
        if completes {
            request.sink = original.sink
        }
        if isTus {
            if let digest = options.digest, let name = machine.checksum, let function = digest.makeFunction(name) {
                let bytes = try await self.digest(range, function, call)
                request.headerFields[.uploadChecksum] = "\(name) \(bytes.base64EncodedString())"
            }
        } else {
            request.headerFields[.uploadComplete] = completes ? "?1" : "?0"
            if let digest = options.digest {
                request.headerFields[.contentDigest] = try await field(digest, range, call)
            }
        }
        return request
    }

    private func atPlace(
        _ call: Call,
        _ method: HTTPRequest.Method,
        _ machine: UploadMachine
    ) throws -> HTTPRequestData {
        guard let place = call.place else {
            throw NetworkingError(.invalidResponse, request: original, reason: "The upload has no URL.")
        }
        return atPlace(place, method, machine.dialect)
    }

    private func atPlace(
        _ place: UploadPlace,
        _ method: HTTPRequest.Method,
        _ dialect: UploadMachine.Dialect?
    ) -> HTTPRequestData {
        var request = base.atUpload(place, method: method)
        if dialect == .tus {
            request.headerFields[.tusResumable] = "1.0.0"
        } else {
            request.headerFields[.uploadDraftInteropVersion] = Self.interopVersion
        }
        return request
    }

    /// Takes the URL of the upload from interim responses.
    private func adopt(_ interim: InterimPlace?, _ machine: inout UploadMachine, _ call: inout Call) {
        guard let found = interim?.found else { return }
        call.place = found.place
        machine.place(under: found.limits, at: environment.clock.date)
    }

    /// Returns the URL of the upload in a state; `nil` if a request must not use it.
    private func place(in record: UploadRecord, of routed: HTTPRequestData) -> UploadPlace? {
        try? UploadPlace(record.url, from: routed, after: routed)
    }

    /// Takes the URL of the upload from a response, and returns whether there is one.
    private func adoptLocation(
        of response: HTTPResponseData,
        to step: UploadMachine.Step,
        _ call: inout Call
    ) throws -> Bool {
        guard case .create = step, 200...299 ~= response.status.code,
            let location = response.headerFields[singleton: .location]
        else { return false }
        do {
            call.place = try UploadPlace(
                location,
                from: response.sentRequest,
                after: response.redirects.first?.request ?? response.sentRequest
            )
            return true
        } catch {
            throw NetworkingError(
                .invalidResponse,
                request: response.sentRequest,
                response: response,
                reason: error.reason
            )
        }
    }

    // MARK: Fields

    private static var interopVersion: String { "8" }
    private static var tusType: String { "application/offset+octet-stream" }

    /// Returns `Content-Disposition` with the name of the file (RFC 6266), which the server receives also if it is not
    /// ASCII.
    private static func disposition(_ name: String) -> String {
        let plain = String(
            String.UnicodeScalarView(name.unicodeScalars.map { isPlain($0) ? $0 : "_" })
        )
        return "inline; filename=\"\(plain)\"" + (plain == name ? "" : "; filename*=UTF-8''\(escaped(name))")
    }

    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        32..<127 ~= scalar.value && scalar != "\"" && scalar != "\\"
    }

    /// Returns the text with all bytes escaped that are not letters, digits, hyphens, dots or underscores.
    private static func escaped(_ text: String) -> String {
        text.utf8
            .map { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                    String(UnicodeScalar(byte))
                default:
                    "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
                }
            }
            .joined()
    }

    private func metadata(contentType: String?) -> String {
        [("filename", options.fileName), ("filetype", contentType)]
            .compactMap { name, value in value.map { "\(name) \(Data($0.utf8).base64EncodedString())" } }
            .joined(separator: ",")
    }

    private func field(_ digest: UploadDigest, _ range: Range<Int64>, _ call: Call) async throws -> String? {
        guard let function = digest.makeFunction(digest.name) else { return nil }
        return "\(digest.name)=:\(try await self.digest(range, function, call).base64EncodedString()):"
    }

    private func digest(
        _ range: Range<Int64>,
        _ function: any ChecksumFunction,
        _ call: Call
    ) async throws -> Data {
        do {
            return try await call.source.digest(of: range, function)
        } catch let failure as RequestBody.Failure {
            throw NetworkingError(failure.kind, request: original, reason: failure.reason)
        }
    }

    /// A digest that identifies the request.
    private func resource(of routed: HTTPRequestData) -> String {
        if let key = options.resumptionKey { return StableDigest.hex(of: ["key", key]) }
        return StableDigest.hex(
            of: [routed.method.rawValue, routed.absoluteString ?? "", network.principal(for: routed)?.id ?? ""]
        )
    }

    // MARK: Waiting

    /// Waits before the next request.
    ///
    /// After the first failure it is sent at once, unless the server asks to wait.
    private func wait(after failures: Int, _ exchange: Exchange, _ call: Call) async throws {
        var time = Duration.zero
        if failures > 1 {
            var random = environment.random
            time = Self.backoff.delay(beforeRetry: failures - 1, using: &random)
        }
        if case .response(let response, _) = exchange,
            let requested = response.http.retryAfter(now: environment.clock.date)
        {
            guard requested <= Self.maximumRetryAfter else { throw error(of: exchange) }
            time = max(time, requested)
        }
        guard time > .zero else { return try Task.checkCancellation() }
        guard let next = call.deadline.next, next.timeLeft <= time else {
            return try await original.wait(.uploadRetry, for: time, on: environment.clock)
        }
        if next.timeLeft > .zero {
            try await original.wait(.uploadRetry, for: next.timeLeft, on: environment.clock)
        }
        throw NetworkingError.deadlineExceeded(next.limit, by: original)
    }

    // MARK: Errors

    private func error(of exchange: Exchange) -> NetworkingError {
        switch exchange {
        case .lost(let error): error
        case .response(let response, let error):
            if let error {
                error
            } else if response.status.isSuccess {
                NetworkingError(
                    .invalidResponse,
                    request: response.sentRequest,
                    response: response,
                    reason: "The server's responses do not advance the upload. Its state is kept."
                )
            } else {
                NetworkingError.refusedStatus(of: response)
            }
        }
    }

    private func failed(
        _ fault: UploadMachine.Fault,
        _ exchange: Exchange,
        _ machine: UploadMachine,
        _ call: Call
    ) async -> NetworkingError {
        if fault.cancels, let place = call.place {
            let routed = network.routed(atPlace(place, .delete, machine.dialect))
            _ = try? await network.begin(routed: routed, for: original)
            try? await store.keep(nil, isDurable: true)
        }
        var response: HTTPResponseData?
        if case .response(let last, _) = exchange {
            response = last
        }
        return NetworkingError(
            fault.kind,
            request: response?.sentRequest ?? original,
            response: response,
            underlying: fault.isTooLarge ? RefusedUse(textOfStatus: 413) : nil,
            reason: fault.reason
        )
    }

    private var changed: NetworkingError {
        NetworkingError(
            .representationChanged,
            request: original,
            underlying: RefusedUse(.changedUpload),
            reason: "The file has changed since its upload began, so the server would receive a mix of both versions. "
                + "Cancel the upload with cancelUpload, or discard its state, to start over."
        )
    }

    private func storing<Value>(_ work: () async throws -> Value) async throws -> Value {
        do {
            return try await work()
        } catch let fault as FileFault {
            throw NetworkingError(.storage, request: original, reason: fault.reason)
        } catch let error as UploadStateError {
            throw NetworkingError(.storage, request: original, reason: error.reason)
        }
    }

    // MARK: Cancelling

    /// Removes the upload from the server and its state from the disk; returns whether there was one.
    @concurrent
    func cancel() async throws -> Bool {
        try Task.checkCancellation()
        do {
            let record = try await storing { try await store.open() }
            let target = network.routed(original)
            guard let record, record.resource == resource(of: target), let place = self.place(in: record, of: target)
            else {
                await store.close()
                return false
            }
            let routed = network.routed(atPlace(place, .delete, record.dialect))
            do {
                let response = try await network.begin(routed: routed, for: original)
                // A server that does not know the upload, or cannot remove it, lets it expire.
                guard ![401, 403].contains(response.status.code), !UploadReply(response).isTransient else {
                    throw NetworkingError.refusedStatus(of: response)
                }
            } catch let error as NetworkingError
                where error.kind == .status && !error.isForbidden && !error.isTransient
            {}
            try await storing { try await store.keep(nil, isDurable: true) }
            await store.close()
            return true
        } catch {
            await store.close()
            throw error
        }
    }
}

/// Receives the URL of an upload from interim responses (104).
private final class InterimPlace: NetworkEventObserver {
    struct Found {
        let place: UploadPlace
        let limits: UploadLimits?
    }

    private let first: HTTPRequestData
    private let state = Mutex<Found?>(nil)

    /// Creates an observer.
    ///
    /// - Parameter first: The request before any redirect. The server that it is redirected to may send interim
    ///   responses too, and must receive no credentials with the requests that follow.
    init(after first: HTTPRequestData) {
        self.first = first
    }

    var found: Found? {
        state.withLock { $0 }
    }

    func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {
        guard case ExchangeEvent.headReceived(let head) = event, head.status.code == 104,
            head.headerFields[singleton: .uploadDraftInteropVersion]?.trimmed == "8",
            let location = head.headerFields[singleton: .location],
            let place = try? UploadPlace(location, from: request, after: first)
        else { return }
        let limits = head.headerFields[.uploadLimit].flatMap { UploadLimits($0) }
        state.withLock { found in
            // All interim responses name the same URL.
            if found == nil { found = Found(place: place, limits: limits) }
        }
    }
}

extension UserText {
    /// The texts for a file that has changed during its upload.
    static let changedUpload = UserText(
        key: "upload.changed",
        description: "The file was changed during its upload.",
        reason: "Part of an earlier version of the file was uploaded already.",
        suggestion: "Start the upload again."
    )
}
