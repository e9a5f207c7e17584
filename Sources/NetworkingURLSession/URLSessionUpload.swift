#if URLSession
import Foundation
import HTTPTypes
import NetworkingCore

/// The body of one exchange in a form that URLSession can send.
///
/// A body that cannot be read without waiting, such as a stream, is first read completely. A short one is kept in
/// memory, a longer one in a private file that is removed with this value. This is necessary because URLSession on
/// Linux treats a pause in a stream as its end, and blocks all sessions while it waits for the stream.
struct URLSessionUpload: Sendable {
    /// The maximum size of a body that is kept in memory, in bytes.
    private static let maximumInMemory = 512 << 10

    /// The bytes, if URLSession receives them all at once.
    let data: Data?
    /// The body, if URLSession reads it while it sends.
    let reading: UploadReading?
    let length: Int64
    private let spool: TemporaryFile?

    private init(data: Data?, reading: UploadReading?, length: Int64, spool: TemporaryFile? = nil) {
        self.data = data
        self.reading = reading
        self.length = length
        self.spool = spool
    }

    /// Creates an upload of a body; `nil` if the body cannot be read without waiting.
    init?(_ body: RequestBody) throws {
        if let data = body.data, data.isEmpty || !Self.canRead(body) {
            self.init(data: data, reading: nil, length: Int64(data.count))
            return
        }
        // Opens the file now, so that an error is found before a connection is made.
        guard Self.canRead(body), try body.openNow() != nil, let length = body.length else { return nil }
        self.init(data: nil, reading: UploadReading(body, length: length), length: length)
    }

    /// Creates an upload of a body after reading it completely.
    init(spooling body: RequestBody) async throws {
        var head = Data()
        var count: Int64 = 0
        var spool: TemporaryFile?
        let disk = DiskQueue()
        do {
            for try await chunk in body.chunks {
                count += Int64(chunk.count)
                guard spool != nil || head.count + chunk.count > Self.maximumInMemory else {
                    head.append(chunk)
                    continue
                }
                spool = try await disk.run(until: nil) { [spool, head] in
                    let file = try spool ?? TemporaryFile(keepsName: Self.opensFilesByName)
                    try file.write(head)
                    try file.write(chunk)
                    return file
                }
                head = Data()
            }
        } catch let fault as FileFault {
            throw RequestBody.Failure(fault)
        }
        let spooled: RequestBody
        if let spool {
            spooled =
                Self.opensFilesByName
                ? .file(URL(fileURLWithPath: spool.path))
                : RequestBody(SpooledBody(file: spool, length: count), contentType: "application/octet-stream")
        } else {
            spooled = .data(head)
        }
        let canRead = Self.canRead(spooled) && count > 0
        self.init(
            data: canRead ? nil : head,
            reading: canRead ? UploadReading(spooled, length: count) : nil,
            length: count,
            spool: spool
        )
    }

    /// Removes the file of the body, if it has a name, after the exchange has ended.
    ///
    /// URLSession may keep the file open for longer.
    func discard() async {
        guard Self.opensFilesByName, let spool else { return }
        try? await DiskQueue.run(until: nil) { spool.remove() }
    }

    /// Returns the reason why the body could not be read to its end; `nil` if there was no failure.
    ///
    /// It may read the state of the file from the disk, and throws `CancellationError` if the caller is cancelled
    /// meanwhile.
    func failure() async throws -> RequestBody.Failure? {
        guard let reading else { return nil }
        guard reading.body.isOnDisk, reading.checksDisk else { return reading.failure }
        return try await DiskQueue.run(until: nil) { reading.failure }
    }
}

extension RequestBody {
    /// Returns the body in a form that URLSession can send.
    func upload(for request: HTTPRequestData) async throws -> URLSessionUpload {
        if let upload = try await opened(within: request.exchangeLimit) { return upload }
        request.emit(ExchangeEvent.readingBody)
        let upload = try await spooled()
        request.emit(ExchangeEvent.bodyRead)
        return upload
    }

    /// Returns an upload that URLSession reads itself; `nil` if the body cannot be read without waiting.
    private func opened(within limit: ExchangeLimit?) async throws -> URLSessionUpload? {
        guard isOnDisk else { return try URLSessionUpload(self) }
        return try await DiskQueue.run(until: limit) { try URLSessionUpload(self) }
    }

    /// Reads the body off the caller's executor, because the code of a stream could block it.
    @concurrent
    private func spooled() async throws -> URLSessionUpload {
        try await URLSessionUpload(spooling: self)
    }
}
#endif
