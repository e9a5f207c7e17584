#if TestServer
import FoundationForNetworking
import HTTPTypes
import NetworkingCore
import Synchronization

/// The state of one upload: its offset, its running digests and its file.
///
/// One request at a time may append. A newer request takes the upload over, and the older one cannot store any more
/// bytes, as both protocols recommend for a client that has lost its connection before the server notices.
final class StoredUpload: Sendable {
    let number: Int
    let path: String
    let uploadProtocol: TestUploads.UploadProtocol?
    let metadata: [String: Data]
    /// The algorithm of the digest in responses, if the client wants one.
    let wantedDigest: String?
    /// The moment at which the upload expires, on the scale of the server's clock.
    let deadline: Duration?
    private let url: URL?
    private let blockSize: Int
    private let content: Mutex<Content>

    fileprivate struct Content {
        var offset: Int64 = 0
        var length: Int64?
        var isComplete = false
        /// The status of every request for an upload that has ended.
        var end: HTTPResponse.Status?
        var receivedByteCount: Int64 = 0
        var rejectedRequestCount = 0
        /// The number of the request that may append.
        var appender = 0
        /// The bytes of the last incomplete block.
        var block = Data()
        var hashes: UploadHashes
        var expectedDigests: [String: Data]
        /// The state at the start of the current request.
        var start: (offset: Int64, hashes: UploadHashes)?
        var file: OpenFile?
    }

    /// Creates an upload without bytes.
    ///
    /// - Throws: A `FileFault` if its file cannot be created.
    init(
        number: Int,
        path: String,
        uploadProtocol: TestUploads.UploadProtocol?,
        request: RecordedRequest,
        length: Int64?,
        metadata: [String: Data] = [:],
        deadline: Duration?,
        options: TestUploads.Options
    ) throws(FileFault) {
        self.number = number
        self.path = path
        self.uploadProtocol = uploadProtocol
        self.metadata = metadata
        self.deadline = deadline
        wantedDigest = request.wantedDigest
        blockSize = options.blockSize
        url = options.directory?.appending(path: "\(number).upload")
        let expected = request.digests(UploadField.reprDigest)
        let names = ["sha-256"] + expected.keys + (wantedDigest.map { [$0] } ?? [])
        let file = if let url { try OpenFile(continuing: url.path) } else { OpenFile?.none }
        try file?.truncate(to: 0)
        content = Mutex(
            Content(length: length, hashes: UploadHashes(names), expectedDigests: expected, file: file)
        )
    }

    /// The state for the test.
    var record: RecordedUpload {
        content.withLock { content in
            RecordedUpload(
                number: number,
                uploadProtocol: uploadProtocol,
                offset: content.offset,
                length: content.length,
                isComplete: content.isComplete,
                isAvailable: content.end == nil,
                receivedByteCount: content.receivedByteCount,
                rejectedRequestCount: content.rejectedRequestCount,
                sha256: content.hashes.digest("sha-256")
                    .map { digest in
                        digest.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
                    },
                metadata: metadata,
                file: url
            )
        }
    }

    /// The status of every request for the upload, if it has ended.
    var end: HTTPResponse.Status? {
        content.withLock { $0.end }
    }

    /// The value of `Repr-Digest` for the bytes so far, if the client wants one.
    var digestField: String? {
        guard let wantedDigest, let digest = content.withLock({ $0.hashes.digest(wantedDigest) }) else { return nil }
        return "\(wantedDigest)=:\(digest.base64EncodedString()):"
    }
}

extension StoredUpload {
    /// Ends the upload: later requests get a status.
    func end(_ status: HTTPResponse.Status) {
        content.withLock { content in
            content.end = content.end ?? status
            content.stopAppending()
            content.file = nil
        }
    }

    /// Ends an older request of the upload, and returns the offset.
    ///
    /// The offset that a response reports is then accepted in the next request.
    func settledOffset() -> Int64 {
        content.withLock { content in
            content.stopAppending()
            return content.offset
        }
    }

    /// Records the length that a request announces.
    ///
    /// - Returns: Whether it agrees with earlier requests and with the stored bytes.
    func announce(_ length: Int64) -> Bool {
        content.withLock { content in
            guard content.length ?? length == length, content.offset <= length else { return false }
            content.length = length
            return true
        }
    }

    /// Adds digests that the whole representation must have.
    func expect(_ digests: [String: Data]) {
        content.withLock { $0.expectedDigests.merge(digests) { _, new in new } }
    }

    func countRejection() {
        content.withLock { $0.rejectedRequestCount += 1 }
    }

    /// Lets a request append bytes in place of an older one, and returns its number.
    func startAppending() -> Int {
        content.withLock { content in
            content.stopAppending()
            content.start = (content.offset, content.hashes)
            return content.appender
        }
    }

    /// The result of appending a chunk.
    enum Appended: Sendable {
        /// The chunk was taken, and bytes up to the offset are stored.
        case stored(offset: Int64)
        /// The chunk exceeds the length or the maximum size, and nothing of it was taken.
        case tooLong
        /// A newer request has taken the upload over.
        case superseded
        /// The file could not be written.
        case failed
    }

    /// Appends a chunk, of which complete blocks are stored.
    func append(_ chunk: Data, by appender: Int, maximumSize: Int64?) -> Appended {
        content.withLock { content in
            content.receivedByteCount += Int64(chunk.count)
            guard content.appender == appender, content.end == nil else { return .superseded }
            let end = content.offset + Int64(content.block.count) + Int64(chunk.count)
            guard end <= content.length ?? .max, end <= maximumSize ?? .max else { return .tooLong }
            var bytes = chunk
            if !content.block.isEmpty { bytes = content.block + chunk }
            let rest = bytes.count % blockSize
            content.block = Data(bytes.suffix(rest))
            return content.store(bytes.dropLast(rest)) ? .stored(offset: content.offset) : .failed
        }
    }

    /// Drops the bytes of an incomplete block after a request has broken off.
    func breakOff(_ appender: Int) {
        content.withLock { content in
            if content.appender == appender { content.stopAppending() }
        }
    }

    /// Removes the bytes of the current request again.
    func rollBack(_ appender: Int) {
        content.withLock { content in
            guard content.appender == appender, let start = content.start else { return }
            (content.offset, content.hashes) = start
            try? content.file?.truncate(to: start.offset)
            content.stopAppending()
        }
    }

    /// Stores the rest of a request whose body has arrived.
    ///
    /// - Returns: Whether the bytes are stored; `false` if a newer request has taken the upload over.
    func finishAppending(_ appender: Int) -> Bool {
        content.withLock { content in
            guard content.appender == appender, content.end == nil, content.store(content.block) else { return false }
            content.stopAppending()
            return true
        }
    }

    /// The result of completing an upload.
    enum Completion: Sendable {
        case complete
        /// The client has announced another length. The upload stays incomplete.
        case otherLength
        /// The representation does not have an expected digest. The upload has failed.
        case otherDigest
    }

    /// Completes the upload.
    func complete() -> Completion {
        content.withLock { content in
            guard content.length ?? content.offset == content.offset else { return .otherLength }
            content.length = content.offset
            guard content.hashes.match(content.expectedDigests) else {
                content.end = .gone
                return .otherDigest
            }
            content.isComplete = true
            content.file = nil
            return .complete
        }
    }
}

extension StoredUpload.Content {
    /// Ends the current request, without the bytes of its incomplete block.
    fileprivate mutating func stopAppending() {
        appender += 1
        block = Data()
        start = nil
    }

    /// Returns whether the bytes could be written.
    fileprivate mutating func store(_ bytes: Data) -> Bool {
        do {
            try file?.write(bytes, at: offset)
        } catch {
            return false
        }
        hashes.update(bytes)
        offset += Int64(bytes.count)
        return true
    }
}
#endif
