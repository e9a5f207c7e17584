#if URLSession
import Foundation
import HTTPTypes

/// The body of one exchange, where URLSession can send it from: memory or a file.
///
/// URLSession on Linux takes a stream's pause for its end, and blocks all sessions while it waits for one; so a body that
/// comes from elsewhere is spooled: brought here in full, in memory as long as it is short and else in a private file, which
/// goes with this value. On Apple's platforms the same is done, since the way that is tested is the better one.
struct URLSessionUpload: Sendable {
    /// The longest body that is spooled in memory.
    private static let longestInMemory = 512 << 10

    /// The bytes, when they are in memory.
    private(set) var data: Data?
    /// The file that has them, otherwise.
    private(set) var fileURL: URL?
    let length: Int64
    private var spool: TemporaryFile?
    private var snapshot: FileSnapshot?

    init(data: Data) {
        self.data = data
        length = Int64(data.count)
    }

    /// Sends a file that somebody else may write to meanwhile.
    init(file: URL) throws {
        do {
            // What cannot be opened is known before a connection is made.
            let snapshot = try OpenFile(reading: file.path).snapshot()
            fileURL = file
            length = snapshot.size
            self.snapshot = snapshot
        } catch {
            throw RequestBody.Failure(error)
        }
    }

    /// Sends what a body brings, once all of it is here.
    init(spooling body: RequestBody) async throws {
        var head = Data()
        var count: Int64 = 0
        var spool: TemporaryFile?
        do {
            for try await chunk in body.chunks {
                count += Int64(chunk.count)
                if spool == nil, head.count + chunk.count > Self.longestInMemory {
                    let file = try TemporaryFile()
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
        data = spool == nil ? head : nil
        fileURL = spool?.url
        length = count
        self.spool = spool
    }

    /// Removes the file of a spooled body: the exchange is over, however it ended.
    ///
    /// URLSession may hold on to it longer.
    func discard() {
        spool?.remove()
    }

    /// Whether somebody else can change what is sent.
    var canChange: Bool {
        snapshot != nil
    }

    var hasChanged: Bool {
        guard let snapshot, let fileURL else { return false }
        return (try? FileSnapshot(of: fileURL.path)) != snapshot
    }

    /// The error for a file that is no longer what it was, with the head of an answer if one has come.
    func changed(of request: HTTPRequestData, response head: HTTPResponse?) -> NetworkingError {
        NetworkingError(
            .storage,
            request: request,
            response: head.map { HTTPResponseData(request: request, http: $0, body: .collected(Data())) },
            reason: RequestBody.Failure.changed(fileURL?.path ?? "").reason
        )
    }
}

extension RequestBody {
    /// The body as URLSession can send it.
    func upload() async throws -> URLSessionUpload {
        if let data { return URLSessionUpload(data: data) }
        if let fileURL { return try URLSessionUpload(file: fileURL) }
        return try await spooled()
    }

    /// Reading files is not for the executor of a caller.
    @concurrent
    private func spooled() async throws -> URLSessionUpload {
        try await URLSessionUpload(spooling: self)
    }
}
#endif
