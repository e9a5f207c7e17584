#if URLSession
import Foundation
import HTTPTypes
import NetworkingCore

/// The body of one exchange, where URLSession can send it from.
///
/// What cannot be read without waiting, such as a stream, is spooled: brought here in full, in memory as long as it is
/// short and else in a private file, which goes with this value. URLSession on Linux takes a stream's pause for its
/// end, and blocks all sessions while it waits for one.
struct URLSessionUpload: Sendable {
    /// The longest body that is spooled in memory.
    private static let maximumInMemory = 512 << 10

    /// The bytes, when URLSession gets them all at once.
    let data: Data?
    /// What it reads while it sends, otherwise.
    let reading: UploadReading?
    let length: Int64
    private let spool: TemporaryFile?

    private init(data: Data?, reading: UploadReading?, length: Int64, spool: TemporaryFile? = nil) {
        self.data = data
        self.reading = reading
        self.length = length
        self.spool = spool
    }

    /// Sends what a body brings; nil when that cannot be read without waiting.
    init?(_ body: RequestBody) throws {
        if let data = body.data, data.isEmpty || !Self.canRead(body) {
            self.init(data: data, reading: nil, length: Int64(data.count))
            return
        }
        // What cannot be opened is known before a connection is made.
        guard Self.canRead(body), try body.openNow() != nil, let length = body.length else { return nil }
        self.init(data: nil, reading: UploadReading(body, length: length), length: length)
    }

    /// Sends what a body brings, once all of it is here.
    init(spooling body: RequestBody) async throws {
        var head = Data()
        var count: Int64 = 0
        var spool: TemporaryFile?
        do {
            for try await chunk in body.chunks {
                count += Int64(chunk.count)
                if spool == nil, head.count + chunk.count > Self.maximumInMemory {
                    let file = try TemporaryFile(keepsName: Self.opensFilesByName)
                    try file.write(head)
                    head = Data()
                    spool = file
                }
                if let spool {
                    try spool.write(chunk)
                } else {
                    head.append(chunk)
                }
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

    /// Removes the file of a spooled body if it has a name: the exchange is over, however it ended.
    ///
    /// URLSession may hold on to it longer.
    func discard() {
        spool?.remove()
    }

    /// Why the body could not be read to its end, if so.
    var failure: RequestBody.Failure? {
        reading?.failure
    }
}

extension RequestBody {
    /// The body as URLSession can send it.
    func upload(for request: HTTPRequestData) async throws -> URLSessionUpload {
        if let upload = try URLSessionUpload(self) { return upload }
        request.emit(ExchangeEvent.readingBody)
        let upload = try await spooled()
        request.emit(ExchangeEvent.bodyRead)
        return upload
    }

    /// Waiting for a stream and writing a file is not for the executor of a caller.
    @concurrent
    private func spooled() async throws -> URLSessionUpload {
        try await URLSessionUpload(spooling: self)
    }
}
#endif
