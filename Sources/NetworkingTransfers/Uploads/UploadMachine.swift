import FoundationForNetworking
import HTTPTypes
import NetworkingCore

/// The decisions of a resumable upload: which request follows a response or a lost connection.
///
/// It performs no I/O. Sources: draft-ietf-httpbis-resumable-upload, the editors' text after draft 11 (interop version
/// 8), and tus resumable upload protocol 1.0.0.
struct UploadMachine {
    /// A protocol for resumable uploads.
    enum Dialect: String, Codable {
        case ietf
        case tus
    }

    /// A request of an upload.
    enum Step: Hashable {
        /// Asks the target of the upload which protocol it supports.
        case discover
        /// Creates the upload, with its first bytes.
        case create(count: Int64)
        /// Sends all bytes to the target of the upload in one request, which the server may make resumable.
        case whole
        /// Asks for the offset.
        case locate
        /// Sends bytes.
        case append(offset: Int64, count: Int64, completes: Bool)
    }

    /// The consequence of a response or of a lost connection.
    enum Next: Equatable {
        /// The next request is sent at once.
        case send(Step)
        /// The exchange failed. The next request is sent if the upload has made progress, or after a wait.
        case retry(Step)
        /// The upload is complete, and this is its response.
        case finish
        /// The upload is complete, and the response to the request that completed it was received before.
        case finishWithEarlierResponse
        /// The upload is complete, and the response to the request that completed it was lost.
        case finishWithoutResponse
        /// The upload failed with the status of this response, or with the error of the lost connection.
        case refuse
        /// The upload failed.
        case fail(Fault)
    }

    /// The reason why an upload cannot continue.
    struct Fault: Equatable {
        let kind: NetworkingError.Kind
        let reason: String
        /// Whether the body is too large for the server.
        var isTooLarge = false
        /// Whether the server should remove the bytes that it has.
        var cancels = false
    }

    /// The maximum number of requests that the limits of a server may lead to.
    private static let maximumAppends: Int64 = 1_000_000
    /// The size below which an append is not divided further after a 413, in bytes.
    private static let minimumDividedSize: Int64 = 64 << 10
    /// The maximum size of a body that is sent with the request that creates the upload, in bytes.
    private static let maximumCreationBody: Int64 = 256 << 10

    /// The number of bytes of the whole body.
    let length: Int64
    private let requested: ResumableUpload
    private let mayRepeat: Bool
    private let digest: UploadDigest?

    /// The protocol; `nil` if it is not known yet.
    private(set) var dialect: Dialect?
    /// The number of bytes that the server has confirmed in its last response.
    private(set) var offset: Int64 = 0
    /// The highest offset so far.
    ///
    /// If it does not increase, the upload makes no progress.
    private(set) var highest: Int64 = 0
    /// The moment after which the server no longer has the upload; `nil` if it did not say.
    private(set) var expires: Date?
    /// Whether a request was sent that completes the upload.
    private(set) var hasSentAll = false
    /// Whether the server has named the URL of the upload.
    private(set) var hasPlace = false
    /// The checksum function that a tus server supports; `nil` if none is used.
    private(set) var checksum: String?
    /// Whether the first bytes are sent with the request that creates an upload by tus.
    private var createsWithBody = false
    private var limits = UploadLimits()
    private let appendSize: Int64
    /// The maximum number of bytes in one request after a 413.
    ///
    /// It only decreases, whatever limits the server names, so that the number of such responses is limited.
    private var acceptedSize = Int64.max
    private var hasRestarted = false
    private var hasAskedAfterRefusal = false
    private var hasCompletingResponse = false

    init(
        _ requested: ResumableUpload,
        length: Int64,
        mayRepeat: Bool,
        options: UploadOptions,
        resuming record: UploadRecord? = nil
    ) {
        self.requested = requested
        self.length = length
        self.mayRepeat = mayRepeat
        digest = options.digest
        appendSize = max(1, options.maximumAppendSize)
        switch requested {
        case .ietf: dialect = .ietf
        case .tus: dialect = .tus
        default: break
        }
        guard let record else { return }
        dialect = record.dialect
        (offset, highest) = (record.offset, record.offset)
        expires = record.expires.map { Date(timeIntervalSince1970: Double($0)) }
        hasSentAll = record.hasSentAll
        checksum = record.checksum
        hasPlace = true
    }

    /// Returns the first request of a call.
    mutating func start(at now: Date) -> Step {
        guard hasPlace else { return firstRequest }
        // An upload whose last bytes were sent may be complete, so the server is asked in any case.
        if let expires, expires <= now, !hasSentAll {
            forget()
            return firstRequest
        }
        return .locate
    }

    private var firstRequest: Step {
        switch dialect {
        case nil: requested == .never ? .whole : .discover
        // Only `OPTIONS` names the checksums of a tus server.
        case .tus where digest != nil && checksum == nil && requested == .tus: .discover
        case .tus, .ietf: creation
        }
    }

    private var creation: Step {
        let hasBody = dialect == .tus && createsWithBody && length <= min(Self.maximumCreationBody, allowedSize)
        return .create(count: hasBody ? length : 0)
    }

    private var allowedSize: Int64 {
        var size = max(appendSize, limits.minimumAppendSize ?? 0)
        if let maximum = limits.maximumAppendSize, maximum > 0 {
            size = min(size, maximum)
        }
        return min(size, acceptedSize)
    }

    /// Forgets the URL of the upload, so that another one is created.
    private mutating func forget() {
        hasPlace = false
        (offset, highest, expires, hasSentAll) = (0, 0, nil, false)
    }

    // MARK: Responses

    /// Records that an interim response (104) has named the URL of the upload.
    mutating func place(under limits: UploadLimits?, at now: Date) {
        dialect = .ietf
        hasPlace = true
        hasSentAll = true
        adopt(limits, at: now)
    }

    /// Returns what follows a response.
    ///
    /// - Parameters:
    ///   - reply: The response.
    ///   - step: The request that it responds to.
    ///   - hasLocation: Whether the response names the URL of the upload.
    ///   - now: The current date.
    /// - Returns: The next request, or the end of the upload.
    mutating func receive(_ reply: UploadReply, to step: Step, hasLocation: Bool, at now: Date) -> Next {
        switch step {
        case .discover: discovered(reply, at: now)
        case .create(let count): created(reply, count, hasLocation, at: now)
        case .whole:
            // The server stored the bytes, and could not process them now.
            hasPlace && reply.isTransient && reply.isComplete != true ? .retry(.locate) : .finish
        case .locate: located(reply, at: now)
        case .append(let offset, let count, let completes):
            dialect == .tus
                ? appendedByTus(reply, offset + count, at: now)
                : appended(reply, offset, count, completes, at: now)
        }
    }

    /// Returns what follows a lost connection.
    mutating func lose(_ step: Step) -> Next {
        switch step {
        case .discover, .locate: .retry(step)
        case .append: .retry(.locate)
        // An upload without a byte of the body is not processed, so the same request may be sent again.
        case .create(let count): count == 0 || count < length || mayRepeat ? .retry(step) : .refuse
        case .whole: hasPlace ? .retry(.locate) : .refuse
        }
    }

    private mutating func discovered(_ reply: UploadReply, at now: Date) -> Next {
        if reply.supportsDraft, requested != .tus {
            dialect = .ietf
            adopt(reply.limits, at: now)
        } else if reply.supportsTus {
            dialect = .tus
            limits.maximumSize = reply.integer(.tusMaxSize)
            createsWithBody = reply.list(.tusExtension).contains("creation-with-upload")
            let functions = reply.list(.tusChecksumAlgorithm)
            checksum = digest?.namesInTus.first { functions.contains($0) }
        } else if [408, 429, 502, 503, 504].contains(reply.status) {
            return .retry(.discover)
        }
        guard dialect != nil else { return .send(.whole) }
        if let fault = sizeFault { return .fail(fault) }
        return .send(creation)
    }

    private mutating func created(_ reply: UploadReply, _ count: Int64, _ hasLocation: Bool, at now: Date) -> Next {
        adopt(reply.limits, at: now)
        guard reply.isSuccess else {
            if let fault = sizeFault { return .fail(fault) }
            return reply.isTransient ? .retry(.create(count: count)) : .refuse
        }
        guard hasLocation else {
            return .fail(
                Fault(
                    kind: .invalidResponse,
                    reason: "The server did not name the URL of the upload (Location). It may not support resumable "
                        + "uploads. Upload with resumable: .automatic or .never."
                )
            )
        }
        hasPlace = true
        adoptExpiry(reply, at: now)
        if let fault = sizeFault { return .fail(fault) }
        guard dialect == .tus else {
            offset = 0
            return append()
        }
        guard count > 0 else { return length == 0 ? .finish : append() }
        guard let offset = reply.offset, offset <= length else { return .send(.locate) }
        reach(offset)
        hasSentAll = hasSentAll || offset == length
        return offset == length ? .finish : append()
    }

    private mutating func located(_ reply: UploadReply, at now: Date) -> Next {
        if reply.isGone { return restart() }
        guard reply.isSuccess else { return reply.isTransient ? .retry(.locate) : .refuse }
        adopt(reply.limits, at: now)
        adoptExpiry(reply, at: now)
        let isComplete = dialect == .ietf && reply.isComplete == true
        guard let offset = reply.offset ?? (isComplete ? length : nil) else {
            return .fail(
                Fault(kind: .invalidResponse, reason: "The server did not state the offset of the upload.")
            )
        }
        if let fault = lengthFault(reply, offset, isComplete: isComplete) { return .fail(fault) }
        reach(offset)
        if isComplete || dialect == .tus && offset == length {
            return hasCompletingResponse ? .finishWithEarlierResponse : .finishWithoutResponse
        }
        if let fault = sizeFault { return .fail(fault) }
        hasCompletingResponse = false
        return append()
    }

    private mutating func appended(
        _ reply: UploadReply,
        _ start: Int64,
        _ count: Int64,
        _ completes: Bool,
        at now: Date
    ) -> Next {
        adopt(reply.limits, at: now)
        if reply.isComplete == true {
            // Also a failure of the processing, which no further request would change.
            let offset = reply.offset ?? (completes ? length : start + count)
            if reply.isSuccess, let fault = lengthFault(reply, offset, isComplete: true) { return .fail(fault) }
            reach(length)
            return .finish
        }
        if reply.isSuccess {
            guard completes else {
                if let offset = reply.offset, !(start...start + count).contains(offset) {
                    return .retry(.locate)
                }
                let end = reply.offset ?? start + count
                reach(end)
                return end > start ? append() : .retry(.locate)
            }
            // The server may have lost the field, or still process the bytes.
            hasCompletingResponse = reply.isComplete == nil
            return .retry(.locate)
        }
        return afterFailure(reply, count)
    }

    private mutating func appendedByTus(_ reply: UploadReply, _ end: Int64, at now: Date) -> Next {
        guard reply.isSuccess else { return afterFailure(reply, end - offset) }
        adoptExpiry(reply, at: now)
        guard let offset = reply.offset, offset > self.offset, offset <= end else { return .retry(.locate) }
        reach(offset)
        return offset == length ? .finish : append()
    }

    private mutating func afterFailure(_ reply: UploadReply, _ count: Int64) -> Next {
        if reply.isGone, reply.problem != "completed-upload" { return restart() }
        switch (reply.status, reply.problem) {
        case (409, _), (_, "completed-upload"?), (_, "mismatching-upload-offset"?):
            return .retry(.locate)
        // Some transports repeat a request whose connection was lost. The server then has its bytes already, and only
        // the response to the repetition arrives, which needs no problem type.
        case (400, _) where !hasAskedAfterRefusal:
            hasAskedAfterRefusal = true
            return .retry(.locate)
        // A tus server discards the bytes of a request whose checksum is wrong.
        case (460, _) where dialect == .tus:
            return .retry(.locate)
        case (413, _):
            let smaller = max(count / 2, limits.minimumAppendSize ?? 0, Self.minimumDividedSize)
            guard smaller < count else { return .refuse }
            acceptedSize = smaller
            return .send(.locate)
        default:
            return reply.isTransient ? .retry(.locate) : .refuse
        }
    }

    // MARK: Progress

    private mutating func reach(_ offset: Int64) {
        self.offset = offset
        guard offset > highest else { return }
        highest = offset
        hasAskedAfterRefusal = false
    }

    /// Returns the request with the next bytes.
    private mutating func append() -> Next {
        let rest = length - offset
        let count = min(rest, allowedSize)
        guard rest / max(1, count) <= Self.maximumAppends else {
            return .fail(
                Fault(
                    kind: .invalidResponse,
                    reason: "The server accepts only \(count) bytes in one request, which are too few for the "
                        + "\(length) bytes of the upload.",
                    cancels: true
                )
            )
        }
        // Before it, the server has stated that the upload is not complete.
        hasSentAll = count == rest
        return .send(.append(offset: offset, count: count, completes: count == rest))
    }

    /// Returns what follows if the server no longer has the upload.
    private mutating func restart() -> Next {
        if hasCompletingResponse { return .finishWithEarlierResponse }
        guard !hasSentAll || mayRepeat else {
            return .fail(
                Fault(
                    kind: .status,
                    reason: "All bytes of the upload were sent, the response was lost, and the server no longer has "
                        + "the upload. It may be complete. Ask the server. To upload the body again, remove the state "
                        + "with cancelUpload first."
                )
            )
        }
        guard !hasRestarted else { return .refuse }
        hasRestarted = true
        forget()
        return .send(firstRequest)
    }

    // MARK: Limits

    private mutating func adopt(_ limits: UploadLimits?, at now: Date) {
        guard dialect == .ietf, let limits else { return }
        self.limits.update(with: limits)
        if let age = limits.maximumAge, hasPlace {
            // The limit is a century, for which a date is exact.
            expires = now.addingTimeInterval(Double(min(age, 3_155_760_000)))
        }
    }

    /// Adopts the moment that the server names for the end of the upload.
    private mutating func adoptExpiry(_ reply: UploadReply, at now: Date) {
        switch dialect {
        case .tus:
            if let text = reply.fields[singleton: .uploadExpires], let date = Date(httpDate: text.trimmed, now: now) {
                expires = date
            }
        case .ietf: adopt(reply.limits, at: now)
        case nil: break
        }
    }

    /// The reason why the server's offset cannot be that of this body; `nil` if it can.
    private func lengthFault(_ reply: UploadReply, _ offset: Int64, isComplete: Bool) -> Fault? {
        let stated = reply.length ?? length
        guard offset > length || stated != length || isComplete && offset < length else { return nil }
        let state = isComplete ? " and completes it" : ""
        return Fault(
            kind: .invalidResponse,
            reason: "The server has \(offset) of \(stated) bytes of the upload\(state), but the body has \(length). "
                + "The upload was cancelled.",
            cancels: true
        )
    }

    /// The reason why the server does not accept a body of this length; `nil` if it does.
    private var sizeFault: Fault? {
        if let maximum = limits.maximumSize, length > maximum {
            return Fault(
                kind: .tooLarge,
                reason: "The body has \(length) bytes, and the server accepts at most \(maximum).",
                isTooLarge: true,
                cancels: hasPlace
            )
        }
        if let minimum = limits.minimumSize, length < minimum {
            return Fault(
                kind: .invalidRequest,
                reason: "The body has \(length) bytes, and the server requires at least \(minimum).",
                cancels: hasPlace
            )
        }
        return nil
    }
}
